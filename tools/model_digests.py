"""Digests of small models of every kind: a change of form must leave them as they are, to the bit.

    python tools/model_digests.py                      # print the digests of this code, by kind of fit
    python tools/model_digests.py --level baseline     # the same at another SIMD level, which must not change them
    python tools/model_digests.py --write              # replace the committed ones, after a change that changes models

A digest covers the model file (without its seconds), the table of cells, and predictions, probabilities and gradients
of the model as loaded from that file. The core computes the same at every SIMD level. NumPy and BLAS do not, so that
fits run in processes where both are pinned to what every x86-64 processor with AVX2 has; the digests may depend on the
version of NumPy.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
COMMITTED = ROOT / "tests" / "model" / "digests.json"
PINNED = {
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    "OPENBLAS_CORETYPE": "Haswell",
    "OPENBLAS_NUM_THREADS": "1",
}


def digests_at(level: str | None) -> dict[str, str]:
    """Fit every kind of model in a process of its own at this SIMD level (None: the best), and return their digests."""
    command = [sys.executable, "-W", "ignore", __file__, "--in-this-process"]
    forced = {"LOCALSVM_SIMD": level} if level else {}
    done = subprocess.run(command, env={**os.environ, **PINNED, **forced}, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def _kinds():
    """Return the kinds of fits by name: those of tests/support/fitted.py, and default settings on more rows."""
    sys.path.insert(0, str(ROOT / "tests" / "support"))
    from fitted import UNFITTED, frame
    from single import svc

    from localsvm import Grid, LocalQuantileRegressor, LocalSVC, LocalSVR
    from localsvm.data import load_covtype_sample, toy_mixture

    X, y = load_covtype_sample()
    rows, target = frame(500)
    toy, side = toy_mixture(1500, 4, random_state=3)
    numbers = toy[:, 0] * toy[:, 1] + 0.1 * side
    small = {"grid": 4, "cell_size": 300}
    more = {
        "defaults": lambda: (LocalSVC(**small), X[:900], y[:900]),
        "defaults, classes": lambda: (LocalSVC(**small), X[:600], X[:600, 0] // 300),
        "defaults, numbers": lambda: (LocalSVR(**small), toy, numbers),
        "defaults, quantiles": lambda: (LocalQuantileRegressor(quantile=[0.1, 0.5], **small), toy[:800], numbers[:800]),
        "defaults, frame": lambda: (LocalSVC(missing="impute", **small), rows, target),
        "paper": lambda: (svc(kernel="gauss", relevance=None, grid=Grid.paper(), cell_size=400), toy, side),
        "little memory": lambda: (svc(max_memory="6MB", n_jobs=1, grid=3, cell_size=700), toy, side),
    }
    return {**UNFITTED, **more}


def _digest(estimator, X) -> str:
    from fitted import predictions

    import localsvm
    from localsvm.storage.model_file import model_bytes

    found = hashlib.sha256()
    for cell in estimator.model_.cells:
        cell.seconds.update(dict.fromkeys(cell.seconds, 0.0))
    found.update(model_bytes(estimator.model_))
    found.update(repr([{**cell, "seconds": 0} for cell in estimator.cells_]).encode())
    with tempfile.TemporaryDirectory() as folder:
        estimator.save(Path(folder) / "model.lsvm")
        loaded = localsvm.load(Path(folder) / "model.lsvm")
    for name, values in predictions(loaded, X[:100]).items():
        found.update(f"{name} {values.dtype} {values.shape} {values.tolist()}".encode())
    return found.hexdigest()


def _print_digests() -> None:
    made = {}
    for name, kind in _kinds().items():
        estimator, X, y = kind()
        made[name] = _digest(estimator.fit(X, y), X)
    print(json.dumps(made))


def main() -> None:
    """Print or write digests."""
    parser = argparse.ArgumentParser(description="Digests of small models of every kind.")
    parser.add_argument("--write", action="store_true", help="replace the committed digests")
    parser.add_argument("--level", help="of vector instructions (the best that the processor has)")
    parser.add_argument("--in-this-process", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.in_this_process:
        _print_digests()
        return
    made = digests_at(arguments.level)
    if arguments.write:
        COMMITTED.write_text(json.dumps(made, indent=1) + "\n")
    else:
        print(json.dumps(made, indent=1))


if __name__ == "__main__":
    main()
