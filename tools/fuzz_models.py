"""Hand-made model files with right checksums: whatever their fields hold, loading works or raises `InvalidFile`.

    python tools/fuzz_models.py --mutants 1000000 --seed 0

Takes model files of every kind apart, also those of ensembles, changes random fields of a record, or its JSON, and
writes the parts with right checksums. A mutant that loads has to predict and save as well: that works, or raises
`InvalidFile` or `InvalidData`. Prints every other exception, and what takes more than 20 seconds.
"""

import argparse
import json
import random
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from files import ModelFile, data_of, header_of, record_of  # noqa: E402
from fitted import UNFITTED, predictions  # noqa: E402

import localsvm  # noqa: E402
from localsvm.storage.record import pack, unpack  # noqa: E402

MAX_SECONDS = 20
PROGRESS = 20_000  # mutants

ODD_VALUES = [
    None, True, False, 0, 1, -1, 2**31, 2**63, 2**64, -(2**70), 0.0, -0.0, 1e-320, -1.5, 1e308, float("inf"),
    float("nan"), "", "odd", "gauss", [], [1], ["a", None], {}, {"kind": "odd"}, (), (1, 2.0), ("a",), 3, 0.5, "a",
    b"", b"odd", 1e39, 1e-39, np.int64(1), np.float32(0.5), np.str_("a"), np.zeros(0), np.zeros((2, 0)), np.ones(3),
    np.array("odd"), np.array(["a", "b"]), np.array(["a", None], dtype=object), np.array([2**63 - 1]), np.eye(2, 3),
    np.array([True, False]), np.array(["NaT"], dtype="M8[s]"), {1: 2}, {(1, "a"): [None]},
]  # fmt: skip

ODD_JSON = [
    None, True, 0, 1, -1, 64, 2**62, 2**64, 0.5, 1e308, "", "odd", "<f8", "<f4", "|O", "|V8", "<U999999999", ">f8",
    [], [0], [2**62], [-1], [2**31, 2**31], ["<f8", [1], 0], {}, {"$array": ["<f8", [1], 0]}, {"$array": []},
    {"$scalar": ["<f8", [2], 0]}, {"$bytes": ["|u1", [8], 0]}, {"$objects": [[2], [1]]}, {"$objects": [[1], [None]]},
    {"$tuple": [1]}, {"$tuple": 3}, {"$dict": [[[], 1]]}, {"$dict": [["a", 1]]}, {"$float": "nan"}, {"$float": []},
    {"$odd": 1}, {"$array": 1, "b": 2},
]  # fmt: skip

Change = Callable[[bytes], bytes]


def odd_array(value: np.ndarray, random_state: random.Random) -> np.ndarray:
    """Return an array like `value` with another shape, type or entry."""
    way = random_state.randrange(6)
    if way == 0:
        return value[: len(value) // 2] if value.ndim else value.reshape(1)
    if way == 1:
        return np.concatenate([value, value]) if value.ndim else np.stack([value, value])
    if way == 2:
        kind = random_state.choice(["f2", "f4", "f8", "i1", "i8", "u8"])
        return value.astype(kind) if value.dtype.kind in "iuf" else value
    changed = value.copy()
    if way == 3:
        return np.ascontiguousarray(changed.T if random_state.random() < 0.5 else changed[::-1] if changed.ndim else 1)
    if changed.size and changed.dtype.kind == "f":
        changed.flat[random_state.randrange(changed.size)] = random_state.choice(
            [np.nan, np.inf, -np.inf, -1.0, 0.0, 1.0, 1e-320, 1e30, -1e30]
        )
    elif changed.size and changed.dtype.kind in "iu":
        info = np.iinfo(changed.dtype)
        changed.flat[random_state.randrange(changed.size)] = random_state.choice([info.min, info.max, 0, 1, 2, 3])
    return changed


def places(value: object, path: tuple = ()) -> list[tuple]:
    """Return the paths of all fields of a record."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [path] if path else []
    for name, item in items:
        found += places(item, (*path, name))
    return found


def mutate(values: object, odd: list, random_state: random.Random) -> None:
    """Change one to three fields in place: replace, remove or add them, or take them from elsewhere."""
    for _ in range(random_state.choice([1, 1, 1, 2, 3])):
        paths = places(values)
        if not paths:
            return
        *folders, name = random_state.choice(paths)
        parent = values
        for folder in folders:
            parent = parent[folder]
        value, way = parent[name], random_state.random()
        if way < 0.1:
            del parent[name]
        elif way < 0.15 and isinstance(parent, dict):
            parent[random_state.choice(["odd", "kind", "", "$array"])] = value
        elif way < 0.25:
            other = values
            for folder in random_state.choice(paths):
                other = other[folder]
            parent[name] = deepcopy(other)
        elif isinstance(value, np.ndarray) and way < 0.8:
            parent[name] = odd_array(value, random_state)
        else:
            parent[name] = deepcopy(random_state.choice(odd))


def changed_record(record: bytes, random_state: random.Random) -> bytes:
    """Return a record with other values, or with another JSON around the same arrays."""
    if random_state.random() < 0.25:
        header = header_of(record)
        mutate(header, ODD_JSON, random_state)
        text = json.dumps(header).encode()
        if random_state.random() < 0.02:
            text = random_state.choice([b"", b"[]", b"3", b"{", text[:-1], b"\xff", b'{"a":' * 9000, b"[" * 10**5])
        return record_of(text, data_of(record))
    values = unpack(record, "a record")
    mutate(values, ODD_VALUES, random_state)
    return b"".join(pack(values))


def mutant(file: ModelFile, random_state: random.Random) -> bytes:
    """Return the bytes of a model file of which one record was changed."""
    if file.others and random_state.random() < 0.5:
        number = random_state.randrange(len(file.others))
        return file.with_other(number, mutant(ModelFile(file.others[number]), random_state))
    where = random_state.random()
    if where < 0.5:
        return file.with_records(whole=changed_record(file.whole, random_state))
    if where < 0.55:
        return file.with_records(seconds=changed_record(file.seconds, random_state))
    cells, number = list(file.cells), random_state.randrange(len(file.cells))
    cells[number] = changed_record(cells[number], random_state)
    return file.with_records(cells=cells)


def try_mutant(content: bytes, X: object, path: Path) -> str:
    """Load a mutant, predict with it and save it; return how that ended."""
    path.write_bytes(content)
    signal.alarm(MAX_SECONDS)
    try:
        model = localsvm.load(path)
        for member in model.members_:
            list(member.model.cells)
        predictions(model, X[:3])
        model.save(path.with_suffix(".again"))
    except localsvm.InvalidFile:
        return "refused"
    except localsvm.InvalidData:
        return "refused rows"
    except Exception:
        return "FAILED " + traceback.format_exc(limit=-4)
    finally:
        signal.alarm(0)
    return "loaded"


def fitted_files(folder: Path) -> list[tuple[ModelFile, object]]:
    """Return a model file of every kind, with the rows that its model was fitted to."""
    files, path = [], folder / "model.lsvm"
    for kind in UNFITTED.values():
        estimator, X, y = kind()
        few = len(X) if not isinstance(estimator.partition, str) else 2 * estimator.cell_size  # small files are fast
        estimator.set_params(n_jobs=1).fit(X[:few], y[:few]).save(path)
        files.append((ModelFile.read(path), X))
    return files


def too_long(*_: object) -> None:
    """Raise for a mutant that takes too long."""
    raise TimeoutError(f"more than {MAX_SECONDS} seconds")


def main() -> None:
    """Try mutants, and exit with 1 if one of them failed."""
    parser = argparse.ArgumentParser(description="Hand-made model files with right checksums.")
    parser.add_argument("--mutants", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, too_long)
    random_state, ends, failures = random.Random(arguments.seed), Counter(), Counter()
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        files = fitted_files(Path(folder))
        while sum(ends.values()) < arguments.mutants:
            file, X = random_state.choice(files)
            try:
                content = mutant(file, random_state)
            except (TypeError, ValueError, OverflowError):  # a value that no record can hold
                continue
            end = try_mutant(content, X, Path(folder) / "model.lsvm")
            ends[end.split(" ")[0] if end.startswith("FAILED") else end] += 1
            if end.startswith("FAILED"):
                failures[end] += 1
                if failures[end] == 1:
                    print(end, flush=True)
            if sum(ends.values()) % PROGRESS == 0:
                print(dict(ends), f"{time.perf_counter() - begin:.0f} s", flush=True)
    for text, count in failures.most_common(10):
        print(f"{count} times: {text}")
    print(dict(ends), f"{time.perf_counter() - begin:.0f} s")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
