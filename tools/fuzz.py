"""Fuzz the readers: for any bytes they must return a result or raise an error of this package.

    python tools/fuzz.py readers --seconds 300        # all data formats; or one of them: csv, parquet, ...
    python tools/fuzz.py model --seconds 300          # model files

Most mutations of a model file would only fail its checksum, so checksums are recomputed before the file is read. The
search is guided by the coverage of the package (atheris, libFuzzer). Its corpus is build/fuzz/TARGET: valid files are
added to it at the start, and inputs that reach new code are kept there. A crash, more than 20 seconds or more than 3 GB
stop the search, and the input is saved to a file; `--again FILE` runs it once more.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import struct
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from zlib import crc32

ROOT = Path(__file__).parents[1]
MAX_SECONDS = 20
MAX_MEGABYTES = 3000


@dataclass(frozen=True)
class Target:
    """A function of bytes to fuzz, and the initial corpus."""

    run: Callable[[bytes], object]
    seeds: Iterable[bytes]


def readers(endings: tuple[str, ...]) -> Target:
    """Return the target for some data formats; the first byte of an input selects the format of the rest."""
    damage = importlib.import_module("damage")
    folder = tempfile.mkdtemp(prefix="localsvm-fuzz-")

    def run(data: bytes) -> None:
        if data:
            damage.read_bytes(data[1:], endings[data[0] % len(endings)], folder)

    return Target(run, [bytes([number]) + damage.valid_file(ending) for number, ending in enumerate(endings)])


def model() -> Target:
    """Return the target for model files: loading and predicting works, or raises an error of this package."""
    np, localsvm = importlib.import_module("numpy"), importlib.import_module("localsvm")
    path = Path(tempfile.mkdtemp(prefix="localsvm-fuzz-"), "model.lsvm")

    def run(data: bytes) -> None:
        path.write_bytes(with_checksums(data))
        try:
            estimator = localsvm.load(path)
            if estimator.n_features_in_ <= 1000:
                estimator.predict(np.zeros((3, estimator.n_features_in_)))
        except localsvm.LocalSVMError:
            return

    golden = ROOT / "tests" / "storage" / "golden"
    return Target(run, [file.read_bytes() for file in sorted(golden.glob("*/*.lsvm"))])


def with_checksums(content: bytes) -> bytes:
    """Return a model file with correct checksums wherever there seems to be a record."""
    file = bytearray(content)
    for begin in range(0, len(file) - 24, 64):
        if file[begin : begin + 8] == b"\x93lsvmrec":
            (size,) = struct.unpack_from("<Q", file, begin + 16)
            end = begin + min(size, len(file) - begin)
            struct.pack_into("<I", file, begin + 8, crc32(file[begin + 12 : end]))
    if len(file) > 36:
        struct.pack_into("<I", file, len(file) - 12, crc32(file[-36:-12]))
    return bytes(file)


FORMATS = ("csv", "csv.gz", "libsvm", "parquet", "arrow", "arrows", "npz", "npy")
TARGETS: dict[str, Callable[[], Target]] = {
    "readers": lambda: readers(FORMATS),
    "model": model,
    **{ending: lambda ending=ending: readers((ending,)) for ending in FORMATS},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--again", type=Path, metavar="FILE", help="input to run once more")
    arguments = parser.parse_args()
    try:
        import atheris
    except ImportError:
        sys.exit(
            "fuzzing needs the package 'atheris', which has wheels for CPython on Linux only: "
            "pip install 'localsvm[fuzz]'. The property tests in tests/data/files do without it."
        )
    sys.path.insert(0, str(ROOT / "tests" / "support"))
    warnings.simplefilter("ignore")
    target = TARGETS[arguments.target]()
    if arguments.again:
        target.run(arguments.again.read_bytes())
        return
    corpus = ROOT / "build" / "fuzz" / arguments.target
    corpus.mkdir(parents=True, exist_ok=True)
    for item in gc.get_objects():  # modules of an editable install are not instrumented by the import hook
        if isinstance(item, FunctionType) and str(item.__module__).startswith("localsvm."):
            atheris.instrument_func(item)
    for number, seed in enumerate(target.seeds):
        (corpus / f"valid-{number}").write_bytes(seed)
    limits = (f"-max_total_time={arguments.seconds}", f"-timeout={MAX_SECONDS}", f"-rss_limit_mb={MAX_MEGABYTES}")
    atheris.Setup([sys.argv[0], *limits, f"-artifact_prefix={corpus.parent}/", str(corpus)], target.run)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
