"""Algorithm 1 for one cell: against the reference, and its laws."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import reference
from cells import (
    PLAIN,
    PlainHinge,
    cell_values,
    coefficients,
    same_cells,
    settings_for,
    support_vectors,
    task_of,
    toy_task,
)

from localsvm._native import CancelToken
from localsvm.cell import CellSettings, CellTask, Grid, train_cell
from localsvm.cell.folds import make_folds
from localsvm.cell.path import STATUS, Cancelled
from localsvm.cell.select import EQUAL_RISK
from localsvm.data import toy_mixture
from localsvm.tasks import Binary
from localsvm.tasks.losses import Hinge

TOLERANCE = Hinge().tolerance
TIGHT = 1e-6  # a gap at which two solutions are practically equal
REFERENCE_TIGHT = 1e-7
EVALUATION_ERROR = 1e-5  # of decision values in single precision, coefficients being below 10


def run_reference(task, settings, **options):
    rows = make_folds(task.rows, settings.n_folds, stratify=True)
    widths, lams = (np.array(values) for values in (settings.grid.widths, settings.grid.lams))
    cell = reference.train_cell_reference(
        rows.X, rows.y, rows.weight, rows.ends, widths, lams, kernel=settings.kernel, **options
    )
    return rows, cell


# --------------------------------------------------------------------------- against the reference


ROUNDED_X, ROUNDED_Y = toy_mixture(90, 2, random_state=15)
THREE_WEIGHTS = np.random.default_rng(0).choice([0.5, 1.0, 4.0], size=70)
EXACT = Binary(PlainHinge(tolerance=TIGHT))
# In each the choices are certain, and folds have different lams of their own.
CASES = {
    "gauss": (toy_task(seed=7), settings_for("gauss", reduction=EXACT)),
    "laplace": (toy_task(seed=7), settings_for("laplace", reduction=EXACT)),
    "manhattan": (toy_task(seed=40), settings_for("manhattan", reduction=EXACT)),
    "five folds": (toy_task(seed=6), settings_for(n_folds=5, reduction=EXACT)),
    "weights": (toy_task(seed=20, weight=THREE_WEIGHTS), settings_for(reduction=EXACT)),
    "duplicates": (task_of(np.round(ROUNDED_X), ROUNDED_Y), settings_for(reduction=EXACT)),
}


@pytest.fixture(scope="module", params=CASES.values(), ids=CASES.keys())
def case(request):
    """A task, its settings, and the result of the reference."""
    task, settings = request.param
    rows, cell = run_reference(task, settings, clip=np.inf, tolerance=REFERENCE_TIGHT)
    return task, settings, rows, cell


def value_tolerance(lams):
    """How far apart the values of two functions solved to these gaps can be, by lam."""
    return np.sqrt(TIGHT / lams) + np.sqrt(REFERENCE_TIGHT / lams)


def fold_error_range(rows, cell, lams):
    """The lowest and highest error on the samples of each fold when values within the tolerance change sign."""
    lowest, highest = np.zeros((2, *cell.fold_error.shape))
    for fold in range(rows.n_folds):
        held_out = rows.fold(fold)
        margin = rows.y[held_out] * cell.fold_values[:, :, fold, held_out]
        allowed = value_tolerance(np.asarray(lams))[None, :, None]
        weight = rows.weight[held_out] / rows.weight[held_out].sum()
        lowest[:, :, fold] = (margin < -allowed) @ weight
        highest[:, :, fold] = (margin <= allowed) @ weight
    return lowest, highest


def error_range(rows, cell, lams):
    """The same of the combined validation error."""
    return [reference.combined_risk(of_fold, fold_weights(rows)) for of_fold in fold_error_range(rows, cell, lams)]


def is_certain(rows, cell, lams, w, fold):
    """Whether the lam that is best for a fold at a width is that at any two solutions within the gap."""
    lowest, highest = (of_fold[w, :, fold] for of_fold in fold_error_range(rows, cell, lams))
    loss, doubt = cell.fold_loss[w, :, fold], value_tolerance(np.asarray(lams))
    _, own = reference.select(cell.fold_error[[w], :, fold], loss[None])
    certain = lowest == highest
    beaten = lowest > highest[own] + EQUAL_RISK
    beaten |= certain & (lowest == lowest[own]) & (loss - doubt > (loss + doubt)[own])
    beaten[own] = True
    return certain[own] and beaten.all()


def chosen_point(trained):
    w = int(np.flatnonzero(trained.widths == trained.width)[0])
    return w, int(np.flatnonzero(trained.lams == trained.lam)[0])


def fold_weights(rows):
    return np.array([rows.weight[rows.fold(k)].sum() for k in range(rows.n_folds)])


def test_validation_risks_are_those_of_algorithm_1(case):
    task, settings, rows, expected = case
    trained = train_cell(task, settings)
    lowest, highest = error_range(rows, expected, settings.grid.lams)
    assert (trained.risks >= lowest - EQUAL_RISK).all()
    assert (trained.risks <= highest + EQUAL_RISK).all()


def test_the_choice_is_that_of_algorithm_1_where_the_gap_is_small_enough(case):
    task, settings, rows, expected = case
    chosen = chosen_point(train_cell(task, settings))
    lowest, highest = error_range(rows, expected, settings.grid.lams)
    could_win = lowest <= highest.min() + EQUAL_RISK
    assert could_win[chosen]
    # Points that certainly tie are compared by their loss, which changes no faster than f.
    ties = could_win & (highest <= lowest[chosen] + EQUAL_RISK)
    loss = reference.combined_risk(expected.fold_loss, fold_weights(rows))
    doubt = 2 * value_tolerance(min(settings.grid.lams))
    assert loss[chosen] <= loss[ties].min(initial=np.inf) + doubt


def test_the_combined_function_is_that_of_algorithm_1_with_a_lam_for_each_fold(case):
    task, settings, rows, expected = case
    trained = train_cell(task, settings)
    assert chosen_point(trained) == expected.choice, "choose data whose choice is certain"
    w, lams = expected.choice[0], settings.grid.lams
    assert all(is_certain(rows, expected, lams, w, fold) for fold in range(rows.n_folds)), "choose other data"
    assert len(set(expected.fold_choice)) > 1, "choose data whose folds differ"
    points = np.concatenate([rows.X, rows.X + np.float32(0.3)])
    f = reference.decision_values(points, rows.X, expected.beta, settings.kernel, *trained.width)
    allowed = value_tolerance(min(lams[own] for own in expected.fold_choice)) + EVALUATION_ERROR
    assert np.abs(cell_values(trained, points) - f).max() <= allowed
    assert allowed < np.abs(f).max() / 50


def test_without_lams_of_their_own_folds_are_combined_at_the_lam_of_all(case):
    task, settings, rows, expected = case
    trained = train_cell(task, replace(settings, own_lams=False))
    lowest, highest = error_range(rows, expected, settings.grid.lams)
    assert lowest[expected.choice] == highest[expected.choice], "choose data whose errors are certain"
    weights = reference.combination_weights(expected.fold_error[expected.choice], fold_weights(rows))
    beta = weights @ expected.fold_beta[expected.choice]
    f = reference.decision_values(rows.X, rows.X, beta, settings.kernel, *trained.width)
    allowed = value_tolerance(*trained.lam) + EVALUATION_ERROR
    assert np.abs(cell_values(trained, rows.X) - f).max() <= allowed


@pytest.mark.parametrize("refit", ["combine", "retrain"])
def test_out_of_fold_values_are_those_at_the_lam_of_all_folds(case, refit):
    # Not at that of their fold, which was chosen on just these samples.
    task, settings, rows, expected = case
    trained = train_cell(task, replace(settings, refit=refit))
    values = np.concatenate([expected.fold_values[*expected.choice, k, rows.fold(k)] for k in range(rows.n_folds)])
    allowed = value_tolerance(*trained.lam) + EVALUATION_ERROR
    assert np.abs(trained.out_of_fold.scores[:, 0] - values).max() <= allowed
    assert trained.risk == pytest.approx(trained.risks[chosen_point(trained)], abs=EQUAL_RISK)


def test_the_retrained_function_is_the_svm_on_all_samples(case):
    task, settings, rows, expected = case
    trained = train_cell(task, replace(settings, refit="retrain"))
    chosen = replace(expected, width=float(trained.width[0]), lam=float(trained.lam[0]))
    retrained = reference.retrain_reference(
        chosen,
        rows.X,
        rows.y,
        rows.weight,
        kernel=settings.kernel,
        clip=np.inf,
        tolerance=REFERENCE_TIGHT,
    )
    f = reference.decision_values(rows.X, rows.X, retrained.beta, settings.kernel, retrained.width)
    allowed = value_tolerance(*trained.lam) + EVALUATION_ERROR
    assert np.abs(cell_values(trained, rows.X) - f).max() <= allowed


@pytest.mark.parametrize("kernel", ["gauss", "laplace", "manhattan"])
def test_at_the_default_tolerance_the_risk_is_as_good_as_the_reference_s(kernel):
    task, settings = toy_task(120, seed=6), settings_for(kernel, n_folds=4)
    trained = train_cell(task, settings)
    _, expected = run_reference(task, settings, tolerance=TOLERANCE)
    # Both stop within the gap, each at its own point; a few samples may change sides.
    few = 3 / len(task.rows.y)
    np.testing.assert_allclose(trained.risks, expected.error, atol=2 * few)
    assert trained.risk == pytest.approx(expected.error.min(), abs=few)


# -------------------------------------------------------------------------------------- the record


def test_the_record_of_a_cell_is_complete_and_consistent():
    task = toy_task()
    settings = settings_for()
    trained = train_cell(replace(task, number=7), settings)
    shape = (3, 3, 3)
    assert trained.number == 7
    assert trained.n_samples == len(task.rows.y)
    assert trained.total_weight == task.rows.weight.sum()
    assert trained.radius == task.radius
    assert trained.functions.kernel == "gauss"
    assert trained.risks.shape == shape[:2]
    certificates = trained.certificates
    assert certificates.gap.shape == certificates.status.shape == certificates.steps.shape == shape
    assert (certificates.status == STATUS.index("converged")).all()
    assert (certificates.gap <= TOLERANCE).all()
    assert certificates.n_unconverged == 0
    assert trained.risk == trained.risks.min()
    assert trained.n_support == len(coefficients(trained)) == len(support_vectors(trained))
    assert (coefficients(trained) != 0).all()
    assert trained.width.shape == trained.lam.shape == (1,)
    assert trained.width in trained.widths
    assert trained.lam in trained.lams
    assert all(seconds >= 0 for seconds in trained.seconds.values())


def test_support_vectors_are_samples_of_the_cell():
    task = toy_task()
    trained = train_cell(task, settings_for())
    samples = {tuple(x) for x in task.rows.X.tolist()}
    assert {tuple(x) for x in support_vectors(trained).tolist()} <= samples


@pytest.mark.parametrize(
    ("widths", "lams", "edge"),
    [
        ([1e3, 1e2, 1.0], [1e-1, 1e-2, 1e-3], "smallest width"),
        ([1.0, 1e-3, 1e-4], [1e-1, 1e-2, 1e-3], "largest width"),
        ([1.0], [1e-2], None),
        ([1.0, 1e-4], [1e-2, 1e-4], None),
    ],
)
def test_the_end_of_the_grid_that_was_chosen_is_named(widths, lams, edge):
    trained = train_cell(toy_task(), settings_for(grid=Grid(widths=widths, lams=lams)))
    assert trained.edge == edge


# -------------------------------------------------------------------------------------------- laws


def test_training_twice_gives_the_same_bits():
    task, settings = toy_task(), settings_for()
    same_cells(train_cell(task, settings), train_cell(task, settings))


@pytest.mark.parametrize("search", ["full", "racing"])
@pytest.mark.parametrize("refit", ["combine", "retrain"])
def test_threads_over_the_folds_give_the_same_bits(search, refit):
    task, settings = toy_task(150), settings_for(n_folds=5, search=search, refit=refit)
    threaded = train_cell(task, settings, CancelToken(), n_threads=4)
    same_cells(threaded, train_cell(task, settings))


def test_the_order_of_the_samples_does_not_matter():
    X, y = toy_mixture(80, 3, random_state=8)
    order = np.random.default_rng(0).permutation(80)
    settings = settings_for()
    same_cells(train_cell(task_of(X, y), settings), train_cell(task_of(X[order], y[order]), settings))


def test_an_integer_weight_is_a_repetition():
    X, y = toy_mixture(60, 2, random_state=9)
    weight = np.random.default_rng(1).integers(0, 4, size=60)
    again = np.repeat(np.arange(60), weight)
    settings = settings_for()
    same_cells(
        train_cell(task_of(X, y, weight), settings),
        train_cell(task_of(X[again], y[again]), settings),
    )


@pytest.mark.parametrize("seed", [16, 92, 112])
def test_weights_may_be_of_very_different_size(seed):
    # Grid points then differ in risk by less than counts as a difference.
    weight = np.random.default_rng(seed).choice([1.0, 1e-5, 3e-6], size=40, p=[0.2, 0.4, 0.4])
    trained = train_cell(toy_task(40, seed=seed, weight=weight), CellSettings())
    assert trained.risk <= trained.risks.min() + EQUAL_RISK
    assert np.isfinite(coefficients(trained)).all()


def test_swapped_labels_swap_the_sign_of_the_function():
    X, y = toy_mixture(80, 2, random_state=10)
    # One grid point, so that ties in the choice and sign(0) = 1 cannot matter.
    settings = settings_for(grid=Grid(widths=[1.0], lams=[1e-2]), refit="retrain", reduction=PLAIN)
    trained = train_cell(task_of(X, y), settings)
    swapped = train_cell(task_of(X, -y), settings)
    points = task_of(X, y).rows.X
    allowed = 2 * np.sqrt(2 * TOLERANCE / 1e-2)
    assert np.abs(cell_values(trained, points) + cell_values(swapped, points)).max() <= allowed


def test_features_in_another_unit_give_widths_in_that_unit_and_the_same_risks():
    task = toy_task(80, seed=11)
    settings = settings_for(grid=Grid(n_widths=3, n_lams=3))
    trained = train_cell(task, settings)
    # Times a power of two nothing is rounded; the rows keep their order, so the folds are the same.
    in_quarters = CellTask(replace(task.rows, X=4 * task.rows.X), radius=4 * task.radius)
    scaled = train_cell(in_quarters, settings)
    np.testing.assert_array_equal(scaled.widths, 4 * trained.widths)
    np.testing.assert_array_equal(scaled.risks, trained.risks)
    np.testing.assert_array_equal(coefficients(scaled), coefficients(trained))


@pytest.mark.parametrize("seed", range(6))
def test_racing_never_finds_less_risk_than_the_full_search(seed):
    task = toy_task(200, 2, seed=seed)
    grid = Grid(n_widths=6, n_lams=6)
    full = train_cell(task, settings_for(grid=grid, n_folds=5))
    racing = train_cell(task, settings_for(grid=grid, n_folds=5, search="racing"))
    assert racing.risk >= full.risk
    skipped = np.isnan(racing.certificates.gap)
    unfinished = skipped.any(axis=2)
    assert np.isinf(racing.risks[unfinished]).all()
    # What racing did solve, it solved as the full search does.
    np.testing.assert_array_equal(racing.risks[~unfinished], full.risks[~unfinished])
    np.testing.assert_array_equal(racing.certificates.gap[~skipped], full.certificates.gap[~skipped])
    assert (racing.certificates.steps[skipped] == 0).all()


def test_racing_skips_points_that_cannot_be_the_best():
    task = toy_task(300, 2, seed=1)
    # At the two smallest widths every sample is alone: nearly all values are 0.
    grid = Grid(widths=[1.0, 1e-3, 1e-4], lams=[1e-1, 1e-2, 1e-3])
    racing = train_cell(task, settings_for(grid=grid, n_folds=5, search="racing"))
    skipped = np.isnan(racing.certificates.gap)
    assert not skipped[0].any()
    assert skipped[1:, :, -1].all()
    assert racing.width == 1.0


@pytest.mark.parametrize("refit", ["combine", "retrain"])
def test_a_cancelled_cell_raises(refit):
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        train_cell(toy_task(150), settings_for(grid=Grid(), refit=refit), token)


def test_tasks_settings_and_trained_cells_survive_pickling():
    task, settings = toy_task(), settings_for(refit="retrain", search="racing")
    task_again, settings_again = pickle.loads(pickle.dumps((task, settings)))
    assert settings_again == settings
    trained = train_cell(task, settings)
    same_cells(train_cell(task_again, settings_again), trained)
    again = pickle.loads(pickle.dumps(trained))
    same_cells(again, trained)
    np.testing.assert_array_equal(cell_values(again, task.rows.X), cell_values(trained, task.rows.X))
