"""Hand-made model files with right checksums: whatever their fields hold, loading works or raises `InvalidFile`.

    python tools/fuzz_models.py --mutants 1000000 --seed 0

Takes model files of every kind apart, replaces, removes or adds random fields, and writes them with right checksums.
A mutant that loads has to predict and save as well, with nothing but errors of localsvm. Prints every other exception.
"""

import argparse
import io
import random
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from copy import deepcopy
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from files import ModelFile  # noqa: E402
from fitted import UNFITTED  # noqa: E402

import localsvm  # noqa: E402

ODD_VALUES = [
    None, True, False, 0, 1, -1, 2**31, 2**63, 2**64, -(2**70), 0.0, -0.0, 1e-320, -1.5, 1e308, float("inf"),
    float("nan"), "", "odd", "gauss", [], [1], ["a", None], {}, {"kind": "odd"}, (), (1, 2.0), ("a",),
]  # fmt: skip


def odd_array(value: np.ndarray, random_state: random.Random) -> np.ndarray:
    """Return an array like `value` with another shape, type or entry."""
    way = random_state.randrange(5)
    if way == 0:
        return value[: len(value) // 2] if value.ndim else value.reshape(1)
    if way == 1:
        return np.concatenate([value, value]) if value.ndim else np.stack([value, value])
    if way == 2:
        return (
            value.astype(random_state.choice(["f2", "f4", "f8", "i1", "i8", "u8"]))
            if value.dtype.kind in "iuf"
            else value
        )
    changed = value.copy()
    if changed.size and changed.dtype.kind == "f":
        changed.flat[random_state.randrange(changed.size)] = random_state.choice(
            [np.nan, np.inf, -1.0, 0.0, 1e-320, 1e30]
        )
    elif changed.size and changed.dtype.kind in "iu":
        info = np.iinfo(changed.dtype)
        changed.flat[random_state.randrange(changed.size)] = random_state.choice([info.min, info.max, 0, 1])
    return changed


def places(value: object, path: tuple = ()) -> list[tuple]:
    """Return the paths of all fields of a record."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [path] if path else []
    for name, item in items:
        found += places(item, (*path, name))
    return found


def mutate(values: dict, random_state: random.Random) -> None:
    """Change one to three fields of a record in place."""
    for _ in range(random_state.choice([1, 1, 1, 2, 3])):
        *folders, name = random_state.choice(places(values))
        parent = values
        for folder in folders:
            parent = parent[folder]
        value = parent[name]
        if isinstance(parent, dict) and random_state.random() < 0.1:
            del parent[name]
        elif isinstance(value, np.ndarray) and random_state.random() < 0.7:
            parent[name] = odd_array(value, random_state)
        else:
            parent[name] = deepcopy(random_state.choice(ODD_VALUES))


def try_mutant(content: bytes, X: object, path: Path) -> str:
    """Load a mutant, predict with it and save it; return how that ended."""
    path.write_bytes(content)
    try:
        model = localsvm.load(path)
        list(model.model_.cells)
        model.predict(X[:3])
        model.save(path.with_suffix(".again"))
    except localsvm.InvalidFile:
        return "refused"
    except localsvm.LocalSVMError as error:
        return f"later: {type(error).__name__}"
    except Exception:
        return "FAILED " + traceback.format_exc(limit=-3)
    return "loaded"


def main() -> None:
    """Try mutants, and exit with 1 if one of them failed."""
    parser = argparse.ArgumentParser(description="Hand-made model files with right checksums.")
    parser.add_argument("--mutants", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    random_state, ends, failures = random.Random(arguments.seed), Counter(), Counter()
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path, files = Path(folder) / "model.lsvm", []
        for kind in UNFITTED.values():
            estimator, X, y = kind()
            estimator.set_params(n_jobs=1).fit(X, y).save(path)
            files.append((ModelFile(path.read_bytes()), X))
        for _ in range(arguments.mutants):
            file, X = random_state.choice(files)
            of_cell = random_state.random() < 0.4
            change = lambda values: mutate(values, random_state)  # noqa: E731
            try:
                content = file.with_cell(0, change) if of_cell else file.with_whole(change)
            except (TypeError, ValueError, OverflowError):  # a value that no record can hold
                ends["not written"] += 1
                continue
            end = try_mutant(content, X, path)
            ends[end.split(" ")[0] if end.startswith("FAILED") else end] += 1
            if end.startswith("FAILED"):
                failures[end] += 1
    out = io.StringIO()
    for text, count in failures.most_common(10):
        out.write(f"{count} times: {text}\n")
    print(out.getvalue(), dict(ends), f"{time.perf_counter() - begin:.0f} s")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
