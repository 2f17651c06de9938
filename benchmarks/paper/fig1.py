"""Fig. 1: the toy mixture in two dimensions, its Voronoi cells, the Bayes boundary, and beside it a learned one.

The paper draws no learned boundary; ours has the default grid. The toy is noisy, and the paper's lambdas are small.
"""

from __future__ import annotations

import warnings

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon
from numpy.typing import NDArray

from benchmarks.paper.drawing import legend, new_figure, save, title
from benchmarks.paper.scales import Scale
from benchmarks.paper.written import write_lines
from benchmarks.workers import PLAIN_SVC
from localsvm import LocalSVC
from localsvm.data import toy_bayes_error, toy_mixture, toy_posterior
from localsvm.report.plane import cell_polygons
from localsvm.report.style import CLASSES, INK

BOX = 2.0
N_TEST = 100_000
MOST_POINTS = 1500
COLUMNS = ("n_train", "cells", "cell", "size", "center_1", "center_2", "error", "bayes_error")
Points = NDArray[np.float64]


def make(scale: Scale) -> None:
    """Fit, write the cells and the errors, and draw."""
    X, y = toy_mixture(scale.toy_rows, 2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = LocalSVC(cell_size=scale.toy_cell, scaling=None, random_state=0, **PLAIN_SVC).fit(X, y)
    X_test, y_test = toy_mixture(N_TEST, 2, random_state=1)
    error, best = float((clf.predict(X_test) != y_test).mean()), toy_bayes_error(2)
    centers = clf.model_.partition.centers
    write_lines(
        scale.folder / "fig1.csv",
        COLUMNS,
        [
            (len(X), clf.n_cells_, number, cell["size"], *centers[number].tolist(), error, best)
            for number, cell in enumerate(clf.cells_)
        ],
    )
    print(f"Fig. 1: {clf.n_cells_} cells, test error {error:.4f}, Bayes error {best:.4f}")
    _draw(scale, clf, X, y, error, best)


def _draw(scale: Scale, clf: LocalSVC, X: Points, y: Points, error: float, best: float) -> None:
    figure, (bayes, learned) = new_figure(2, columns=2, panel=(4.2, 4.2))
    grid = np.linspace(-BOX, BOX, 401)
    plane = np.stack(np.meshgrid(grid, grid), axis=-1)
    points = plane.reshape(-1, 2)
    shape = plane.shape[:2]
    polygons = cell_polygons(clf.model_.partition, np.full(2, -BOX), np.full(2, BOX))
    for ax in (bayes, learned):
        _draw_rows(ax, X[:MOST_POINTS], y[:MOST_POINTS], polygons, clf.model_.partition.centers)
    _draw_boundary(bayes, plane, toy_posterior(points).reshape(shape) - 0.5, INK["ink"])
    f = clf.decision_function(points.astype(np.float32)).reshape(shape)
    _draw_boundary(learned, plane, toy_posterior(points).reshape(shape) - 0.5, INK["muted"], width=1.0)
    _draw_boundary(learned, plane, f, "#b0123b")
    title(bayes, f"Bayes decision boundary, error {100 * best:.2f} %")
    title(learned, f"Learned in {clf.n_cells_} cells, error {100 * error:.2f} %")
    handles = [
        Line2D([], [], marker="o", linestyle="", markersize=4, color=CLASSES[0], label="y = +1"),
        Line2D([], [], marker="o", linestyle="", markersize=4, color=CLASSES[1], label="y = \N{MINUS SIGN}1"),
        Line2D([], [], marker="o", linestyle="", markersize=4, color=INK["ink"], label="centre of a cell"),
        Line2D([], [], color=INK["ink"], linewidth=2, label="Bayes"),
        Line2D([], [], color="#b0123b", linewidth=2, label="learned"),
    ]
    legend(figure, handles=handles, loc="outside lower center", ncols=5)
    save(figure, scale.folder / "fig1.png")


def _draw_rows(ax: Axes, X: Points, y: Points, polygons: list[Points], centers: Points) -> None:
    for label, colour in ((1, CLASSES[0]), (-1, CLASSES[1])):
        ax.scatter(*X[y == label].T, s=5, color=colour, alpha=0.5, linewidths=0)
    for polygon in polygons:
        ax.add_patch(Polygon(polygon, fill=False, edgecolor=INK["muted"], linestyle=":", linewidth=1.0))
    ax.scatter(*centers.T, s=14, color=INK["ink"], zorder=3)
    ax.set(xlim=(-BOX, BOX), ylim=(-BOX, BOX), aspect="equal")
    ax.grid(visible=False)


def _draw_boundary(ax: Axes, plane: Points, values: Points, colour: str, width: float = 2.0) -> None:
    ax.contour(plane[..., 0], plane[..., 1], values, levels=[0.0], colors=[colour], linewidths=[width])
