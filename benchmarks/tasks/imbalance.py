"""Part `imbalance`: a rare class, TPR x TNR with and without `objective="tpr_tnr"`.

The best of some weights of the rare class is chosen on the test rows of each split: it is not a method
but an upper bound on what weights by hand could reach.
"""

from __future__ import annotations

from typing import Any

from benchmarks.tables import print_table
from benchmarks.tasks.problems import Problem
from benchmarks.tasks.splits import Series, difference, mean_text, splits_of
from benchmarks.tasks.store import Run, Store

N_SPLITS = 5
WEIGHTS = (1, 2, 4, 8, 16, 32)
HEADER = ("", "train, s", "predict, s", "TPR", "TNR", "TPR x TNR", "difference to LocalSVC()", "s.e.")


def compare(store: Store, problem: Problem, n_splits: int) -> None:
    """Measure on so many splits, and print the three ways beside each other."""
    plain: Series = []
    chosen: Series = []
    bound: Series = []
    for split in splits_of(problem, n_splits):
        plain.append(store.get(_run(split)))
        chosen.append(store.get(_run(split, objective="tpr_tnr")))
        weighted = [store.get(_run(split, class_weight={1: weight})) for weight in WEIGHTS]
        bound.append(max((run for run in weighted if run), key=lambda run: run["tpr_tnr"], default=None))
    rows = [
        _row("LocalSVC()", plain, plain),
        _row('LocalSVC(objective="tpr_tnr")', chosen, plain),
        _row("best class_weight, by the test rows", bound, plain),
    ]
    title = f"{problem.name}, {problem.n_train:,} rows, {n_splits} splits; the best of the class weights "
    title += ", ".join(map(str, WEIGHTS)) + "\nis chosen on the test rows: an upper bound, not a method"
    print_table(title, HEADER, rows)


def _run(split: Problem, **settings: Any) -> Run:
    return Run(split, "localsvm", settings)


def _row(label: str, series: Series, plain: Series) -> list[str]:
    figures = (("train", ".2f"), ("predict", ".3f"), ("tpr", ".4f"), ("tnr", ".4f"), ("tpr_tnr", ".5f"))
    apart = ["-", "-"] if series is plain else difference(series, plain, "tpr_tnr")
    return [label, *(mean_text(series, name, form) for name, form in figures), *apart]
