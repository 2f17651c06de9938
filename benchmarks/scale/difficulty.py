"""Part `check-generators`: are generated rows as hard as the real ones they stand for?

One SVM on 2000 min-max scaled rows, its default grid: steps of the solver over all folds, widths and
lams, support vectors, and the error; on random samples, and on neighbourhoods, since those become cells.
Real and generated cells come from pools of the same size. Figures are means over some cells.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import numpy as np

from benchmarks.csv_store import Figures
from benchmarks.generated import FILLS, draw
from benchmarks.sets import Sample, cells_of, pool
from benchmarks.tables import print_table
from benchmarks.workers import PLAIN_SVC
from localsvm import LocalSVC

STANDS_FOR = {"higgslike": "higgs_26k", "covlike": "covtype"}
N_TEST = 10_000
TOLERANCE = 0.15
HEADER = ("", "cells", "steps", "ratio", "support vectors", "ratio", "error", "s.e.", "share of +1", "best error")


def compare(n_cells: int) -> None:
    """Print the figures of each generated set under those of the real one."""
    warnings.simplefilter("ignore")
    rows = []
    for generated, real in STANDS_FOR.items():
        X, y = pool(real)
        drawn, labels, best = draw(FILLS[generated], X.shape[1], len(X), 0)
        for neighbours, kind in ((False, "random"), (True, "neighbours")):
            theirs = _means(cells_of(X, y, range(n_cells), N_TEST, neighbours=neighbours))
            made = cells_of(drawn, labels.astype(np.float64), range(n_cells), N_TEST, neighbours=neighbours)
            rows.append([f"{real}", kind, *_texts(theirs, theirs), "-"])
            rows.append([f"  {generated}", kind, *_texts(_means(made), theirs), f"{best:.4f}"])
    title = f"Cells of 2000 rows, means of {n_cells}; * within {TOLERANCE:.0%} of the real set"
    print_table(title, HEADER, rows)


def _means(samples: Iterable[Sample]) -> Figures:
    runs = [_measure(sample) for sample in samples]
    means = {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}
    return means | {"spread": float(np.std([run["error"] for run in runs]) / np.sqrt(max(len(runs) - 1, 1)))}


def _measure(sample: Sample) -> Figures:
    clf = LocalSVC(partition="none", scaling=None, **PLAIN_SVC).fit(sample.X, sample.y)
    return {
        "steps": float(clf.model_.cells[0].certificates.steps.sum()),
        "support_vectors": clf.cells_[0]["support_vectors"],
        "error": float((clf.predict(sample.X_test) != sample.y_test).mean()),
        "positive": float((sample.y > 0).mean()),
    }


def _texts(figures: Figures, real: Figures) -> list[str]:
    texts = []
    for name in ("steps", "support_vectors"):
        ratio = figures[name] / real[name]
        star = "*" if figures is not real and abs(ratio - 1) <= TOLERANCE else ""
        texts += [f"{figures[name]:,.0f}", f"{ratio:.2f}{star}"]
    return [*texts, f"{figures['error']:.4f}", f"{figures['spread']:.4f}", f"{figures['positive']:.3f}"]
