"""Paired comparisons of programs, from the runs of the CSV.

Two programs are compared on the splits that both have. The standard error of a mean difference is the larger of two
estimates: over splits, if there are several, and over ten parts of the test rows of each split. A difference of at most
two standard errors is noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchmarks.accuracy.measures import HIGHER_IS_BETTER, MEASURES, PARTS
from benchmarks.accuracy.programs import BETTER_LIGHTGBM, LAYOUT

AHEAD, WITHIN, BEHIND = "ahead", "within noise", "behind"
_LIGHTGBM = ("LightGBM", "LightGBM 500 x 255")
_MARKS = {AHEAD: "+", WITHIN: "=", BEHIND: "-"}


@dataclass(frozen=True)
class Comparison:
    """Means of a measure for two programs, and the standard error of their difference."""

    measure: str
    ours: float
    theirs: float
    error: float

    @property
    def verdict(self) -> str:
        difference = self.ours - self.theirs
        if abs(difference) <= 2 * self.error:
            return WITHIN
        return AHEAD if (difference > 0) == (self.measure in HIGHER_IS_BETTER) else BEHIND

    def __str__(self) -> str:
        """Return the difference of an AUC, the ratio of a loss: with + ahead, = within noise, - behind."""
        mark = _MARKS[self.verdict]
        if self.measure in HIGHER_IS_BETTER:
            return f"{self.ours - self.theirs:+.4f} ± {self.error:.4f} {mark}"
        return f"{self.ours / self.theirs:.3f} ± {self.error / self.theirs:.3f} {mark}"


def last_runs(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the last run of every key, and LightGBM's better setting on each split as a further program."""
    runs = runs.groupby(list(LAYOUT.keys), sort=False).tail(1)
    splits = runs[runs["program"].isin(_LIGHTGBM)].groupby(["set", "n_train", "split"])
    better = [_better(of_split) for _, of_split in splits]
    return pd.concat([runs, *better], ignore_index=True)


def _better(runs: pd.DataFrame) -> pd.DataFrame:
    """Return each measure of the setting that is better by this measure, times of the one with the better primary."""
    primary, *others = (*MEASURES[runs["kind"].iloc[0]], "error", "calibration_error")
    better = _best(runs, primary).assign(program=BETTER_LIGHTGBM)
    for measure in others:
        columns = [measure, *(name for name in _parts(measure) if name in runs)]
        better[columns] = _best(runs, measure)[columns].to_numpy()
    return better


def _best(runs: pd.DataFrame, measure: str) -> pd.DataFrame:
    return runs.sort_values(measure, ascending=measure not in HIGHER_IS_BETTER).head(1)  # failed runs come last


def _parts(measure: str) -> list[str]:
    return [f"{measure}_{part}" for part in range(PARTS)]


def compared(of_set: pd.DataFrame, ours: str, theirs: str, measure: str) -> Comparison | None:
    """Return the comparison of two programs on a set; None if there is no split that both have."""
    splits = [of_set[of_set["program"] == name].set_index("split") for name in (ours, theirs)]
    usable = [runs[runs[measure].notna()] for runs in splits]
    both = usable[0].index.intersection(usable[1].index)
    if both.empty:
        return None
    means = [float(runs.loc[both, measure].mean()) for runs in usable]
    errors = [_error_of_splits(*(runs.loc[both, measure] for runs in usable))]
    if _parts(measure)[0] in of_set:
        errors.append(_error_of_parts(*(runs.loc[both, _parts(measure)] for runs in usable)))
    return Comparison(measure, *means, error=max(errors))


def _error_of_splits(ours: pd.Series, theirs: pd.Series) -> float:
    return float((ours - theirs).sem()) if len(ours) > 1 else 0.0


def _error_of_parts(ours: pd.DataFrame, theirs: pd.DataFrame) -> float:
    """Return the standard error of the mean over splits, from the variance between the parts of each."""
    of_each = (ours - theirs).sem(axis=1).fillna(0.0)
    return float(np.sqrt(np.square(of_each).sum()) / len(of_each))
