"""Model files that are not what they were: each is refused with `InvalidFile`, or predicts; nothing crashes or hangs.

    python -m fuzz.model_file [-max_total_time=600] [-rss_limit_mb=1024] [folder of a corpus]

The golden files are where it starts from. Most changes would end at a checksum, so checksums are made right before a
file is read: the changes reach what stands behind them.
"""

import gc
import struct
import sys
import tempfile
import warnings
from pathlib import Path
from types import FunctionType
from zlib import crc32

import atheris
import numpy as np

import localsvm
from localsvm import InvalidFile, LocalSVMError
from localsvm.model.predict import predict_scores

GOLDEN = Path(__file__).parents[1] / "tests" / "model" / "golden"
SCRATCH = Path(tempfile.mkdtemp()) / "model.lsvm"


def sealed(content: bytes) -> bytes:
    """Return a file whose checksums are right wherever a record seems to be."""
    file = bytearray(content)
    for begin in range(0, len(file) - 24, 64):
        if file[begin : begin + 8] == b"\x93lsvmrec":
            (size,) = struct.unpack_from("<Q", file, begin + 16)
            end = begin + min(size, len(file) - begin)
            struct.pack_into("<I", file, begin + 8, crc32(file[begin + 12 : end]))
    if len(file) > 36:
        struct.pack_into("<I", file, len(file) - 12, crc32(file[-36:-12]))
    return bytes(file)


def read_and_predict(content: bytes) -> None:
    """What users do with a file."""
    SCRATCH.write_bytes(sealed(content))
    try:
        model = localsvm.load(SCRATCH).model_
    except InvalidFile:
        return
    if model.n_features > 1000:
        return
    try:
        predict_scores(model, np.zeros((3, model.n_features)))
    except LocalSVMError:
        return


def instrument(*modules: str) -> None:
    """Make the functions of modules report what they do: an editable install escapes the hook of atheris."""
    for item in gc.get_objects():
        if isinstance(item, FunctionType) and str(item.__module__).startswith(modules):
            atheris.instrument_func(item)


def main() -> None:
    """Fuzz until told to stop."""
    warnings.simplefilter("ignore")
    instrument("localsvm.records", "localsvm.model", "localsvm.estimators", "localsvm.partition")
    with tempfile.TemporaryDirectory() as corpus:
        for number, path in enumerate(GOLDEN.glob("*/*.lsvm")):
            (Path(corpus) / str(number)).write_bytes(path.read_bytes())
        atheris.Setup([*sys.argv, corpus, "-max_len=30000", "-timeout=20"], read_and_predict)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
