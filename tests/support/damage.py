"""Files that are right, and what becomes of wrong ones: an error of a kind that may come out of a reader, or none."""

import functools
import tempfile
from pathlib import Path

import pyarrow as pa

from localsvm import InvalidData
from localsvm.data.files import CategoryCodes, convert_file, open_file, to_numbers

ENDINGS = ("csv", "csv.gz", "libsvm", "parquet", "arrow", "arrows", "npz", "npy")
MOST_ROWS = 100_000


@functools.cache
def right_file(ending: str) -> bytes:
    """Return the bytes of a small table with all that a format has room for."""
    columns = {
        "target": [1.0, -1.0, 0.5],
        "single": pa.array([0.25, -1.5, 3.0], pa.float32()),
        "count": pa.array([1, 0, 3], pa.int16()),
    }
    if ending not in ("libsvm", "npy"):
        columns |= {"truth": [True, False, True], "word": ["red", 'say "hi"\n', "größer"]}
    if ending in ("parquet", "arrow", "arrows"):
        columns |= {"gaps": [None, "a", None], "kind": pa.array(["a", "b", "a"]).dictionary_encode()}
        columns |= {"list": [[1], None, [2, 3]], "day": pa.array([0, None, 2], pa.date32())}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"table.{ending}")
        if ending == "npy":
            import numpy as np

            np.save(path, np.eye(3))
        else:
            convert_file(pa.table(columns), path)
        return path.read_bytes()


def read_bytes(data: bytes, ending: str, folder: str) -> str | None:
    """Read bytes as if they were a file of a format, all that is in it; return the error if there is one."""
    path = Path(folder, f"table.{ending}")
    path.write_bytes(data)
    try:
        file = open_file(path)
        codes = {column.name: CategoryCodes(column.name) for column in file.schema.columns if column.kind == "category"}
        usable = [column.name for column in file.schema.columns if column.kind in ("number", "category")]
        n_rows = 0
        for batch in file.batches(rows=512):
            to_numbers(batch, usable, codes=codes)
            n_rows += batch.num_rows
            if n_rows > MOST_ROWS:
                break
    except InvalidData as error:
        return str(error)
    return None
