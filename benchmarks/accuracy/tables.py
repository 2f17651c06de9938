"""Tables of the runs, for the terminal and for the page of results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchmarks.accuracy.comparison import AHEAD, BEHIND, WITHIN, compared, last_runs
from benchmarks.accuracy.measures import MEASURES
from benchmarks.accuracy.programs import BETTER_LIGHTGBM, OURS, PEERS, PREVIOUS, PROGRAMS
from benchmarks.accuracy.sets import SETS

_NAMES = {"auc": "ROC-AUC", "log_loss": "log-loss", "rmse": "RMSE"}
_KINDS = {
    "binary": "two classes",
    "multiclass": "several classes",
    "regression": "in standard deviations of the target",
}
_RIVALS = ("CatBoost", BETTER_LIGHTGBM, "XGBoost", "xRFM", *PREVIOUS)
_GROUPS: dict[str, Callable[[str], bool]] = {
    "development": lambda name: not SETS[name].reserve,
    "development, mixed": lambda name: SETS[name].mixed and not SETS[name].reserve,
    "development, numeric": lambda name: not SETS[name].mixed and not SETS[name].reserve,
    "reserve": lambda name: SETS[name].reserve,
}


@dataclass(frozen=True)
class Table:
    """A title, what it needs to be understood, and lines of cells, the header first."""

    title: str
    lines: list[list[str]]
    note: str = ""


def tables(runs: pd.DataFrame, *, reserve: bool) -> Iterator[Table]:
    """Yield all tables; runs of localsvm on reserve sets count only with `reserve`."""
    is_reserve = runs["set"].map(lambda name: SETS[name].reserve)
    is_ours = runs["program"].map(lambda name: PROGRAMS[name].is_ours)
    runs = last_runs(runs[~(is_reserve & is_ours) | reserve])
    for kind, measures in MEASURES.items():
        for measure in measures:
            title = f"{_NAMES[measure]}, {_KINDS[kind]}"
            yield _values(runs[runs["kind"] == kind], measure, title[0].upper() + title[1:], ".4f")
    classes = runs[runs["kind"] != "regression"]
    yield _values(classes, "error", "Classification error", ".4f")
    yield _values(classes, "calibration_error", "Calibration error, 15 bins of equally many rows", ".4f")
    yield _values(runs, "processor_seconds", "Processor seconds of a fit, two threads", ".1f")
    yield _values(runs, "predict_microseconds", "Prediction, microseconds per row in batches of 10 000", ".1f")
    yield _values(runs.assign(peak=runs["peak"] / 1e9), "peak", "Peak memory, GB", ".2f")
    for name in [*OURS, *PREVIOUS]:
        if name in set(runs["program"]):
            yield from _against(runs, name)


def _against(runs: pd.DataFrame, ours: str) -> Iterator[Table]:
    rivals = [name for name in _RIVALS if name != ours and name in set(runs["program"])]
    if not rivals:
        return
    yield _differences(runs, ours, rivals)
    yield _counts(runs, ours, rivals)
    yield _time_ratios(runs, ours, rivals)


def _values(runs: pd.DataFrame, column: str, title: str, form: str) -> Table:
    """Return the means over the splits that all programs have been run on, by set and program."""
    programs = [name for name in [*OURS, *PREVIOUS, *PEERS] if name in set(runs["program"])]
    lines = [["", "rows", "splits", *programs]]
    for name, n_train, every in _by_set(runs):
        n_programs = every.groupby("split")["program"].transform("nunique")
        of_set = every[n_programs == n_programs.max()]
        size = [_called(name), f"{n_train:,}", str(of_set["split"].nunique())]
        lines.append([*size, *(_mean(of_set[of_set["program"] == program], column, form) for program in programs)])
    return Table(title, lines)


def _mean(runs: pd.DataFrame, column: str, form: str) -> str:
    """Return a mean, or the limit of processor seconds at which the program was stopped."""
    if runs[column].notna().any():
        return format(runs[column].mean(), form)
    if runs["limit"].notna().any():
        return f"> {runs['limit'].max():.0f} s"
    return "failed" if len(runs) else "-"


def _differences(runs: pd.DataFrame, ours: str, rivals: list[str]) -> Table:
    lines = [["", "measure", *rivals]]
    for name, _, of_set in _by_set(runs):
        for measure in MEASURES[SETS[name].kind]:
            found = [compared(of_set, ours, rival, measure) for rival in rivals]
            if any(found):
                lines.append([_called(name), _NAMES[measure], *(str(each) if each else "-" for each in found)])
    note = "Difference of ROC-AUC, ratio of log-loss and RMSE; + ahead, = within two standard errors, - behind."
    return Table(f"{ours} against others", lines, note)


def _counts(runs: pd.DataFrame, ours: str, rivals: list[str]) -> Table:
    """Return on how many sets a program is ahead, within noise and behind, by rival, measure and group of sets."""
    lines = [["", "against", "sets", AHEAD, WITHIN, BEHIND, f"{AHEAD} or {WITHIN}"]]
    for title, measures in _COUNTED.items():
        for rival in rivals:
            for group, belongs in _GROUPS.items():
                found = [
                    compared(of_set, ours, rival, measures[SETS[name].kind])
                    for name, _, of_set in _by_set(runs)
                    if belongs(name) and SETS[name].kind in measures
                ]
                verdicts = [each.verdict for each in found if each]
                if verdicts:
                    each = [verdicts.count(verdict) for verdict in (AHEAD, WITHIN, BEHIND)]
                    lines.append([title, rival, group, *map(str, each), f"{each[0] + each[1]} of {len(verdicts)}"])
    return Table(f"{ours}: number of sets on which it is ahead, within noise, behind", lines)


_COUNTED: dict[str, dict[str, str]] = {
    "primary measure": {kind: measures[0] for kind, measures in MEASURES.items()},
    "log-loss": {"binary": "log_loss", "multiclass": "log_loss"},
    "calibration error": {"binary": "calibration_error", "multiclass": "calibration_error"},
}


def _time_ratios(runs: pd.DataFrame, ours: str, rivals: list[str]) -> Table:
    """Return the processor seconds of a program over those of others."""
    lines = [["", *rivals]]
    columns: dict[str, list[float]] = {rival: [] for rival in rivals}
    for name, _, of_set in _by_set(runs):
        found = {rival: compared(of_set, ours, rival, "processor_seconds") for rival in rivals}
        for rival, each in found.items():
            if each:
                columns[rival].append(each.ours / each.theirs)
        if any(found.values()):
            texts = [f"{each.ours / each.theirs:.2f}" if each else "-" for each in found.values()]
            lines.append([_called(name), *texts])
    means = [f"{np.exp(np.mean(np.log(ratios))):.2f}" if ratios else "-" for ratios in columns.values()]
    return Table(f"{ours}: its processor seconds over those of others", [*lines, ["geometric mean", *means]])


def _by_set(runs: pd.DataFrame) -> Iterator[tuple[str, int, pd.DataFrame]]:
    """Yield the runs of each set, in the order of `SETS`."""
    order = {name: place for place, name in enumerate(SETS)}
    by_place = runs.sort_values("set", key=lambda names: names.map(order), kind="stable")
    for (name, n_train), of_set in by_place.groupby(["set", "n_train"], sort=False):
        yield str(name), int(n_train), of_set


def _called(name: str) -> str:
    return f"{name} (reserve)" if SETS[name].reserve else name
