"""Valid files of all formats, and reading of damaged ones: the only error a reader may raise is `InvalidData`."""

import functools
import tempfile
from pathlib import Path

import pyarrow as pa

from localsvm import InvalidData
from localsvm.data.files import CategoryCodes, convert_file, open_file, to_numbers

ENDINGS = ("csv", "csv.gz", "libsvm", "parquet", "arrow", "arrows", "npz", "npy")
MAX_ROWS = 100_000


@functools.cache
def valid_file(ending: str) -> bytes:
    """Return the bytes of a small table with columns of all types that a format stores."""
    columns = {
        "target": [1.0, -1.0, 0.5],
        "single": pa.array([0.25, -1.5, 3.0], pa.float32()),
        "count": pa.array([1, 0, 3], pa.int16()),
    }
    if ending not in ("libsvm", "npy"):
        columns |= {"flag": [True, False, True], "word": ["red", 'say "hi"\n', "größer"]}
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
    """Read all rows of a file of these bytes; return the message of `InvalidData` if it is raised."""
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
            if n_rows > MAX_ROWS:
                break
    except InvalidData as error:
        return str(error)
    return None
