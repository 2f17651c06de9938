"""Displays draw the data of a model, on given axes or new ones."""

from copy import copy

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.path import Path
from single import svc

from localsvm import InvalidParameter
from localsvm.data import toy_mixture
from localsvm.partition import voronoi_partition
from localsvm.report import (
    CellsDisplay,
    PartitionDisplay,
    PredictionDisplay,
    RelevanceDisplay,
    ReliabilityDisplay,
    ValidationSurfaceDisplay,
)
from localsvm.report.partition import sample_support
from localsvm.report.plane import cell_polygons, plane_of
from localsvm.report.style import theme

pytestmark = [
    pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning"),
    pytest.mark.filterwarnings("ignore::localsvm.PrecisionWarning"),
]


@pytest.mark.parametrize("display", [PartitionDisplay, ValidationSurfaceDisplay])
def test_a_display_draws_on_given_axes_or_on_its_own(any_model, display):
    own = display.from_estimator(any_model.estimator)
    assert own.ax_.figure is own.figure_
    _, ax = plt.subplots()
    given = display.from_estimator(any_model.estimator, ax=ax)
    assert given.ax_ is ax
    assert given.plot().ax_ is not ax
    own.figure_.canvas.draw()


def test_six_histograms_count_all_cells(any_model):
    display = CellsDisplay.from_estimator(any_model.estimator)
    for name, ax in zip(display.quantities, display.ax_.flat, strict=True):
        known = display.quantities[name]
        known = known[np.isfinite(known)]
        drawn = sum(patch.get_height() for patch in ax.patches)
        assert drawn == (len(known) if len(np.unique(known)) > 1 else 0)
    display.figure_.canvas.draw()


def test_keyword_arguments_are_passed_to_the_artist(models):
    display = PartitionDisplay.from_estimator(models("many_features").estimator, alpha=0.25)
    assert {collection.get_alpha() for collection in display.ax_.collections} == {0.25}


@pytest.mark.parametrize("color", ["cv_risk", "width", "loss", "classes"])
@pytest.mark.parametrize("kind", ["two_classes", "many_features", "hostile_classes", "thirteen_classes"])
def test_cells_of_a_classifier_can_be_coloured_by_every_option(models, kind, color):
    model = models(kind)
    display = PartitionDisplay.from_estimator(model.estimator, color=color, evaluation=model.evaluation)
    assert len(display.colours.values) == model.estimator.n_cells_
    display.figure_.canvas.draw()


def test_the_colour_is_the_fraction_of_the_second_class(models):
    model = models("two_classes")
    display = PartitionDisplay.from_estimator(model.estimator, color="classes", evaluation=model.evaluation)
    owner = model.estimator.apply(model.X)
    for cell in np.unique(owner):
        assert display.colours.values[cell] == pytest.approx(np.mean(model.y[owner == cell] == 1))


@pytest.mark.parametrize(
    ("color", "match"),
    [("colour", "'cv_risk', 'width'"), ("loss", "needs an evaluation"), ("classes", "needs an eval")],
)
def test_an_impossible_colour_option_is_refused(models, color, match):
    with pytest.raises(InvalidParameter, match=match):
        PartitionDisplay.from_estimator(models("two_classes").estimator, color=color)


@pytest.mark.parametrize("n_rows", [600, 120_000])  # beyond 50 000 rows the partition is a tree
def test_polygons_are_the_cells(n_rows):
    X = np.random.default_rng(0).normal(size=(n_rows, 2))
    partition = voronoi_partition(X, cell_size=n_rows // 40)
    polygons = cell_polygons(partition, np.full(2, -3.0), np.full(2, 3.0))
    points = np.random.default_rng(1).uniform(-3, 3, size=(2000, 2)).astype(np.float32)
    seen = [polygon for polygon in polygons if len(polygon)]
    inside = np.array([Path(polygon).contains_points(points) for polygon in seen])
    np.testing.assert_array_equal(inside.sum(axis=0), 1)
    numbers = np.flatnonzero([len(polygon) for polygon in polygons])
    np.testing.assert_array_equal(numbers[inside.argmax(axis=0)], partition.assign(points))


def test_the_plane_has_the_largest_variance():
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    points = rng.normal(size=(2000, 5)) * [9, 4, 0.1, 0.1, 0.1] @ axes.T + 3
    plane = plane_of(points, list("abcde"))
    np.testing.assert_allclose(np.abs(np.sum(plane.axes * axes[:, :2].T, axis=1)), 1, atol=1e-3)
    np.testing.assert_allclose(plane.project(points).mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(plane.project(points).std(axis=0), [9, 4], rtol=0.1)


@pytest.mark.parametrize("points", [np.zeros((5, 4)), np.ones((1, 3)), np.zeros((0, 3)), np.ones((4, 1))])
def test_points_without_variance_have_a_plane(points):
    with np.errstate(invalid="raise"):
        plane = plane_of(points, ["a"] * points.shape[1])
    assert plane.project(np.ones((2, points.shape[1]))).shape == (2, 2)


@pytest.mark.parametrize("count", [1, 10, 10_000])
def test_sampled_support_vectors_are_support_vectors_of_the_model(models, count):
    model = models("many_features").estimator.model_
    every = np.concatenate([part.support_vectors for cell in model.cells for part in cell.functions.sums])
    found = sample_support(model, count)
    assert len(found) == min(count, len(every))
    assert {row.tobytes() for row in found} <= {row.tobytes() for row in every}


def test_the_surface_is_the_mean_over_cells_and_counts_their_choices(models):
    estimator = models("many_features").estimator
    searched = [cell for cell in estimator.model_.cells if len(cell.width)]
    display = ValidationSurfaceDisplay.from_cells(estimator.model_.cells)
    rows = [cell.n_samples for cell in searched]
    np.testing.assert_allclose(display.risk, np.average([cell.risks for cell in searched], axis=0, weights=rows))
    expected = np.zeros_like(display.chosen)
    for cell in searched:
        expected[list(cell.widths).index(cell.width[0]), list(cell.lams).index(cell.lam[0])] += 1
    np.testing.assert_allclose(display.chosen, expected)


def test_points_that_racing_skipped_are_not_part_of_the_surface():
    X, y = toy_mixture(900, 2, random_state=0)
    clf = svc(cell_size=150, search="racing", random_state=0).fit(X, y)
    display = ValidationSurfaceDisplay.from_estimator(clf)
    skipped = np.mean([~np.isfinite(cell.risks) for cell in clf.model_.cells if cell.risks.size], axis=0)
    assert np.isnan(display.risk[skipped > 0.9]).all()
    assert np.isfinite(display.risk[skipped == 0]).all()


def test_cells_of_one_class_have_no_surface():
    X = np.concatenate([np.zeros((50, 1)), np.ones((50, 1))])
    clf = svc(cell_size=50, grid=2).fit(X, X[:, 0])
    display = ValidationSurfaceDisplay.from_estimator(clf)
    assert display.risk.size == 0
    CellsDisplay.from_estimator(clf)


@pytest.mark.parametrize("kind", ["two_classes", "hostile_classes", "quantiles"])
def test_reliability_is_drawn_from_rows_as_from_an_evaluation(models, kind):
    model = models(kind)
    display = ReliabilityDisplay.from_estimator(model.estimator, model.X, model.y)
    assert display.bins == ReliabilityDisplay.from_evaluation(model.evaluation).bins
    curve, points = display.ax_.lines[1:]
    for line in curve, points:
        np.testing.assert_allclose(line.get_xdata(), [bin.predicted for bin in display.bins])
    np.testing.assert_allclose(points.get_ydata(), [bin.observed for bin in display.bins])
    assert (np.diff(curve.get_ydata()) >= 0).all()
    display.figure_.canvas.draw()


def test_predictions_are_drawn_for_each_target(models):
    model = models("two_targets")
    for target in range(2):
        display = PredictionDisplay.from_estimator(model.estimator, model.X, model.y, target=target)
        assert display.pairs == PredictionDisplay.from_evaluation(model.evaluation, target=target).pairs
        display.figure_.canvas.draw()
    with pytest.raises(InvalidParameter, match="pairs of 2 targets"):
        PredictionDisplay.from_evaluation(model.evaluation, target=2)


def test_an_evaluation_of_means_has_no_reliability_diagram(models):
    with pytest.raises(InvalidParameter, match="use one of classes or quantiles"):
        ReliabilityDisplay.from_evaluation(models("means").evaluation)


def test_every_colour_of_the_theme_is_unique():
    colours = list(theme().values())
    assert len(set(colours)) == len(colours)
    assert colours == [to_hex(colour) for colour in colours]


def with_relevance(estimator, relevance):
    known = copy(estimator)
    known.feature_relevance_ = np.asarray(relevance, dtype=np.float64)
    return known


def labels(display):
    return [label.get_text() for label in display.ax_.get_yticklabels()]


def lengths(display):
    return [bar.get_width() for bar in display.ax_.patches]


def test_the_most_relevant_feature_is_on_top(models):
    estimator = with_relevance(models("many_features").estimator, [1, 0, 2, 0.5, 3, 0.25, 0.25])
    display = RelevanceDisplay.from_estimator(estimator)
    assert labels(display) == ["x4", "x2", "x0", "x3", "x5", "x6", "x1"]
    assert lengths(display) == [3, 2, 1, 0.5, 0.25, 0.25, 0]
    bottom, top = display.ax_.get_ylim()
    assert top < 0 < bottom  # the first bar is the upper one
    display.figure_.canvas.draw()


def test_relevance_is_drawn_on_given_axes_with_given_options(models):
    estimator = with_relevance(models("two_classes").estimator, [1.5, 0.5])
    _, ax = plt.subplots()
    display = RelevanceDisplay.from_estimator(estimator, ax=ax, alpha=0.5)
    assert display.ax_ is ax
    assert {bar.get_alpha() for bar in ax.patches} == {0.5}


@pytest.mark.parametrize("most", [1, 3, 5, 6])
def test_the_last_bar_is_the_mean_of_all_other_features(most):
    relevance, names = [3.0, 2.0, 0.5, 0.3, 0.15, 0.05], list("abcdef")
    display = RelevanceDisplay(relevance, names, most).plot()
    assert len(lengths(display)) == display.n_bars
    if most >= 5:  # nothing is gained by the mean of one
        assert labels(display) == names
    else:
        assert labels(display) == [*names[:most], f"mean of {6 - most} others"]
        assert lengths(display)[-1] == pytest.approx(np.mean(relevance[most:]))


def test_feature_names_are_drawn_verbatim():
    display = RelevanceDisplay([1.9, 0.1], ["$x^2", "a name that is much too long for a plot"]).plot()
    assert labels(display) == ["$x^2", "a name that…g for a plot"]
    display.figure_.canvas.draw()


def test_an_estimator_without_relevance_is_refused_with_a_remedy(models):
    estimator = copy(models("two_classes").estimator)
    estimator.feature_relevance_ = None
    with pytest.raises(InvalidParameter, match="relevance='auto'"):
        RelevanceDisplay.from_estimator(estimator)


def test_relevance_and_names_must_have_the_same_length():
    with pytest.raises(InvalidParameter, match="2 names"):
        RelevanceDisplay([1.0, 1.0, 1.0], ["a", "b"])
    with pytest.raises(InvalidParameter, match="most=0"):
        RelevanceDisplay([1.0], ["a"], most=0)
