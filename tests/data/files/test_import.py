"""Only files need pyarrow, and nothing needs pandas."""

import subprocess
import sys


def run(program):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


def test_without_pyarrow_only_files_are_missing_and_the_error_says_what_to_install():
    without = "import sys; sys.modules['pyarrow'] = None; import localsvm, localsvm.data"
    assert run(without).returncode == 0
    failed = run(f"{without}; import localsvm.data.files")
    assert failed.returncode == 1
    assert "pip install 'localsvm[files]'" in failed.stderr.splitlines()[-1]


def test_pandas_is_not_needed(tmp_path):
    (tmp_path / "table.csv").write_text("a,b\n1,x\n,\n")
    program = f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pandas", "polars"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
from localsvm.data.files import CategoryCodes, convert_file, open_file, to_numbers
source = {str(tmp_path / "table.csv")!r}
for ending in ("parquet", "arrow", "arrows", "csv.gz"):
    convert_file(source, {str(tmp_path)!r} + "/new." + ending)
    (batch,) = open_file({str(tmp_path)!r} + "/new." + ending).batches()
    assert to_numbers(batch, codes={{"b": CategoryCodes("b")}})[0].tolist() == [1.0, 0.0]
"""
    found = run(program)
    assert found.returncode == 0, found.stderr
