"""Runs inside liquidSVM's environment: trains, selects and tests on arrays from a file.

Reads one path of an .npz (X, y, X_test, y_test) per line of the standard input, and answers each
with a line of JSON.
"""

from __future__ import annotations

import json
import os
import sys
import sysconfig
import time
import warnings

import numpy as np

# Columns of the table that its train() returns.
_WIDTH, _LAM, _STEPS = 3, 5, 9


def _import_liquidsvm():
    # liquidSVM looks for its library under a name that Python 3.11 no longer has.
    original = sysconfig.get_config_var
    sysconfig.get_config_var = lambda name: original("EXT_SUFFIX" if name == "SO" else name)
    warnings.simplefilter("ignore")
    import liquidSVM

    return liquidSVM


def _run(liquidsvm, arrays):
    model = liquidsvm.SVM(arrays["X"], arrays["y"], scenario="MC", threads=1, random_seed=1)
    begin = time.perf_counter()
    table = model.train()
    trained = time.perf_counter()
    model.select()
    selected = time.perf_counter()
    _, errors = model.test(arrays["X_test"], arrays["y_test"])
    tested = time.perf_counter()
    return {
        "train": trained - begin,
        "select": selected - trained,
        "test": tested - selected,
        "steps": float(table[:, _STEPS].sum()),
        "error": float(errors[0, 0]),
        "widths": np.unique(table[:, _WIDTH]).tolist(),
        "lams": np.unique(table[:, _LAM]).tolist(),
    }


def main():
    # liquidSVM writes to the standard output as it likes: answers go to a copy of it.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    liquidsvm = _import_liquidsvm()
    for line in sys.stdin:
        with np.load(line.strip()) as arrays:
            data = {name: arrays[name].astype(np.float64) for name in arrays}
        print(json.dumps(_run(liquidsvm, data)), file=answers, flush=True)


if __name__ == "__main__":
    main()
