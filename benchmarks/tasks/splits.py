"""Several splits of a problem: their figures, means of them, and paired differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.csv_store import Figures, training
from benchmarks.tables import number
from benchmarks.tasks.problems import Problem

# One for every split, None where nothing has been measured.
Series = list[Figures | None]


def splits_of(problem: Problem, n_splits: int) -> list[Problem]:
    return [replace(problem, split=split) for split in range(n_splits)]


def mean(series: Series, name: str) -> float | None:
    """Return the mean of a figure over the splits that have been measured."""
    values = [_value(figures, name) for figures in series if figures]
    return float(np.mean(values)) if values else None


def mean_text(series: Series, name: str, form: str) -> str:
    return number(mean(series, name), form)


def difference(ours: Series, theirs: Series, name: str) -> list[str]:
    """Return the mean of ours less theirs over the splits that have both, and its standard error."""
    pairs = zip(ours, theirs, strict=True)
    differences = [_value(our, name) - _value(their, name) for our, their in pairs if our and their]
    n = len(differences)
    return [
        number(float(np.mean(differences)) if n else None, "+.5f"),
        number(float(np.std(differences, ddof=1)) / n**0.5 if n > 1 else None, ".5f"),
    ]


def _value(figures: Figures, name: str) -> float:
    return training(figures) if name == "train" else figures[name]
