"""Fig. 2: excess risk of the toy problem against n, with radius, lambda and width as Theorem 3.2 has them.

With q = 1 and beta = 2 these are r_n = c1 n^(-1/(3+d)), lambda_n = c2 n^(-(2+d)/(3+d)) and gamma_n = c3 n^(-1/(3+d)),
as in Sec. 4, and the excess risk falls at least as fast as n^(-2/(3+d)). Nothing is tuned: a cell has one width and
one lambda. The theorem bounds the hinge risk of the clipped function, and so the error; the paper's figure does not
say which it shows, so both are drawn.

The posterior of the toy is known, and with it the excess risk at a point: |2 eta - 1| |f - sign(2 eta - 1)| for the
hinge loss, |2 eta - 1| where the sign is wrong for the error. Means of these over test points have no noise of
labels.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from benchmarks.csv_store import CsvStore, Figures, Key, Layout
from benchmarks.paper.drawing import LINE_COLOURS, label, legend, logarithmic, new_figure, save, title
from benchmarks.paper.scales import Rates, Scale
from benchmarks.paper.written import write_lines
from benchmarks.tables import print_table
from benchmarks.workers import PLAIN_SVC
from localsvm import Grid, LocalSVC
from localsvm.data import toy_mixture, toy_posterior

# c1, c2 and c3 by dimension: r_n starts at about the radius of the data, gamma_n at half to two thirds of that.
CONSTANTS = {4: (6.0, 1.0, 4.0), 8: (7.5, 1.0, 4.25), 16: (8.5, 1.0, 6.0)}
RISKS = {"hinge": "hinge risk", "error": "classification error"}
LAYOUT = Layout(
    keys=("n_features", "n_train", "run", "n_test"),
    figures=("radius", "lam", "width", "hinge", "error", "cells", "largest_cell"),
)
_TEST_SEED = 1_000_000
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Run:
    """One draw of n rows in d dimensions."""

    n_features: int
    n_train: int
    run: int
    n_test: int

    @property
    def key(self) -> Key:
        return tuple(str(value) for value in vars(self).values())


@dataclass(frozen=True)
class Slope:
    """How the mean of some runs falls with n, on logarithmic axes, and its standard error."""

    value: float
    error: float
    theory: float

    @property
    def as_steep(self) -> bool:
        """Whether it is at least as steep as the theorem says, within two standard errors."""
        return self.value - 2 * self.error <= self.theory


def make(scale: Scale, *, again: bool = False) -> None:
    """Run what has not been run, print and write the slopes, and draw."""
    store: CsvStore[Run] = CsvStore(LAYOUT, scale.folder / "fig2-runs.csv", measure, again=again)
    rates = scale.rates
    risks = {d: _risks(store, rates, d) for d in rates.sizes}
    slopes = {(d, name): slope(rates.sizes[d], risks[d][name], d) for d in rates.sizes for name in RISKS}
    columns = ("n_features", "risk", "slope", "standard_error", "theorem", "as_steep", "n_runs", "largest_n")
    lines = [
        (d, name, found.value, found.error, found.theory, found.as_steep, rates.n_runs, rates.sizes[d][-1])
        for (d, name), found in slopes.items()
    ]
    write_lines(scale.folder / "fig2.csv", columns, lines)
    rows = [
        [f"d = {d}", name, f"{s.value:.3f}", f"{s.error:.3f}", f"{s.theory:.3f}"] for (d, name), s in slopes.items()
    ]
    print_table(f"Fig. 2: slopes, means of {rates.n_runs} runs", ("", "risk", "slope", "s.e.", "theorem"), rows)
    _draw(scale, risks, slopes)


def measure(run: Run) -> Figures:
    """Fit with the theorem's choices, and return the excess risks."""
    d, n = run.n_features, run.n_train
    c1, c2, c3 = CONSTANTS[d]
    radius, lam, width = c1 * n ** (-1 / (3 + d)), c2 * n ** (-(2 + d) / (3 + d)), c3 * n ** (-1 / (3 + d))
    X, y = toy_mixture(n, d, random_state=run.run)
    clf = LocalSVC(
        partition="radius",
        cell_radius=radius,
        grid=Grid(widths=(width,), lams=(lam,)),
        n_folds=1,
        refit="retrain",  # on all rows of the cell
        scaling=None,
        **PLAIN_SVC,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf.fit(X, y)
    points, eta = _test_points(run.n_test, d)
    f = np.clip(clf.decision_function(points), -1, 1)
    best, weight = np.where(eta > 0.5, 1.0, -1.0), np.abs(2 * eta - 1)
    return {
        **{"radius": radius, "lam": lam, "width": width},
        "hinge": float((weight * np.abs(f - best)).mean()),
        "error": float((weight * (np.where(f >= 0, 1.0, -1.0) != best)).mean()),
        "cells": clf.n_cells_,
        "largest_cell": max(cell["size"] for cell in clf.cells_),
    }


@cache
def _test_points(n_test: int, n_features: int) -> tuple[NDArray[np.float32], Floats]:
    points, _ = toy_mixture(n_test, n_features, random_state=_TEST_SEED)
    return points, toy_posterior(points)


def _risks(store: CsvStore[Run], rates: Rates, d: int) -> dict[str, Floats]:
    """Return each risk as an array, runs by sizes."""
    found = [
        [store.get(Run(d, n, number, rates.n_test)) or {} for n in rates.sizes[d]] for number in range(rates.n_runs)
    ]
    return {name: np.array([[figures[name] for figures in row] for row in found]) for name in RISKS}


def slope(sizes: tuple[int, ...], risks: Floats, n_features: int) -> Slope:
    """Return the slope of the mean over runs, with the standard error of the jackknife: each run is left out once."""
    left_out = [_fitted(sizes, np.delete(risks, number, axis=0)) for number in range(len(risks))]
    error = np.sqrt((len(risks) - 1) * np.var(left_out))
    return Slope(_fitted(sizes, risks), float(error), -2 / (3 + n_features))


def _fitted(sizes: tuple[int, ...], risks: Floats) -> float:
    return float(np.polyfit(np.log(sizes), np.log(risks.mean(axis=0)), 1)[0])


def _draw(scale: Scale, risks: dict[int, dict[str, Floats]], slopes: dict[tuple[int, str], Slope]) -> None:
    figure, axes = new_figure(len(RISKS), columns=2, panel=(4.4, 3.6))
    for ax, (name, risk) in zip(axes, RISKS.items(), strict=True):
        for (d, found), colour in zip(risks.items(), LINE_COLOURS, strict=False):
            n, runs = np.array(scale.rates.sizes[d]), found[name]
            mean, spread = runs.mean(axis=0), runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
            fall = slopes[d, name]
            text = f"d = {d}: slope {fall.value:.2f} ± {fall.error:.2f}, theorem {fall.theory:.2f}"
            ax.errorbar(n, mean, yerr=spread, color=colour, marker="o", markersize=4, linewidth=1.5, label=text)
            ax.plot(n, mean[0] * (n / n[0]) ** fall.theory, color=colour, linestyle="--", linewidth=1.2)
        for axis in (ax.xaxis, ax.yaxis):
            logarithmic(axis)
        title(ax, f"Excess {risk}")
        label(ax, "training rows n", "excess risk, mean of runs")
        legend(ax, loc="upper center", bbox_to_anchor=(0.5, -0.2))
    save(figure, scale.folder / "fig2.png")
