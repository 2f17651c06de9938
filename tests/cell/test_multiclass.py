"""Cells of several problems: each has the solution that it has alone; together they score out-of-fold samples."""

import pickle
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import reference
from cells import PlainHinge, blobs, same_cells, settings_for, task_of

from localsvm._native import CancelToken
from localsvm.cell import CellSettings, Grid, train_cell
from localsvm.cell.folds import make_folds
from localsvm.cell.path import STATUS, Cancelled
from localsvm.tasks import Binary, OneVsOne, OneVsRest

TIGHT, REFERENCE_TIGHT = 1e-6, 1e-7
LAM, WIDTH = 3e-2, 1.0
ONE_POINT = Grid(widths=[WIDTH], lams=[LAM])
EVALUATION_ERROR = 1e-5
ALLOWED = np.sqrt(TIGHT / LAM) + np.sqrt(REFERENCE_TIGHT / LAM) + EVALUATION_ERROR  # of values, where gaps are these
K = 4
every_reduction = pytest.mark.parametrize("reduction", [OneVsOne(K), OneVsRest(K)], ids=["ovo", "ovr"])


@pytest.fixture(scope="module")
def task():
    return task_of(*blobs(100, K))


# --------------------------------------------------------------------------- against the reference


def solutions_of(reduction, rows):
    """Every output's rows and labels, and the solution of the reference at the only grid point."""
    if isinstance(reduction, OneVsOne):
        pairs = combinations(range(reduction.n_classes), 2)
        chosen = [(np.flatnonzero(np.isin(rows.y, pair)), pair[0]) for pair in pairs]
    else:
        chosen = [(np.arange(len(rows.y)), c) for c in range(reduction.n_classes)]
    for members, positive in chosen:
        signs = np.where(rows.y[members] == positive, 1.0, -1.0)
        ends = np.searchsorted(members, rows.ends)
        exact = reference.train_cell_reference(
            rows.X[members],
            signs,
            rows.weight[members],
            ends.tolist(),
            np.array([WIDTH]),
            np.array([LAM]),
            clip=np.inf,
            tolerance=REFERENCE_TIGHT,
        )
        yield members, signs, exact


def function(rows, members, beta, points):
    return reference.decision_values(points, rows.X[members], beta, "gauss", WIDTH)


def exactly(reduction):
    return replace(reduction, loss=PlainHinge(tolerance=TIGHT))


@every_reduction
@pytest.mark.parametrize("refit", ["combine", "retrain"])
def test_every_output_is_the_solution_of_its_problem_alone(reduction, refit, task):
    settings = settings_for(reduction=exactly(reduction), grid=ONE_POINT, refit=refit)
    trained = train_cell(task, settings)
    rows = make_folds(task.rows, settings.n_folds, stratify=True)
    points = np.concatenate([rows.X, rows.X + np.float32(0.4)])
    values = trained.functions.values(points)
    for output, (members, signs, exact) in enumerate(solutions_of(reduction, rows)):
        beta = exact.beta
        if refit == "retrain":
            beta = reference.retrain_reference(
                exact, rows.X[members], signs, rows.weight[members], clip=np.inf, tolerance=REFERENCE_TIGHT
            ).beta
        f = np.clip(function(rows, members, beta, points), *reduction.bounds(rows.y)[output])
        assert np.abs(values[:, output] - f).max() <= ALLOWED
        assert np.abs(f).max() > 50 * ALLOWED


@every_reduction
def test_out_of_fold_scores_are_those_of_solutions_without_the_sample(reduction, task):
    settings = settings_for(reduction=exactly(reduction), grid=ONE_POINT)
    trained = train_cell(task, settings)
    rows = make_folds(task.rows, settings.n_folds, stratify=True)
    values = np.empty((len(rows.y), reduction.n_outputs))
    for output, (members, _, exact) in enumerate(solutions_of(reduction, rows)):
        for fold in range(rows.n_folds):
            held_out = rows.fold(fold)
            beta = exact.fold_beta[0, 0, fold]
            assert (beta[np.isin(members, np.arange(len(rows.y))[held_out])] == 0).all()
            values[held_out, output] = function(rows, members, beta, rows.X[held_out])
    expected = reduction.scores(np.clip(values, *reduction.bounds(rows.y).T))
    found = trained.out_of_fold
    np.testing.assert_array_equal(found.y, rows.y)
    np.testing.assert_array_equal(found.weight, rows.weight)
    assert np.abs(found.scores - expected).max() <= ALLOWED


# -------------------------------------------------------------------------- problems side by side


def test_one_class_against_the_other_is_the_binary_problem_to_the_bit():
    X, y = blobs(80, 2, noise=1.0)
    settings = settings_for(grid=ONE_POINT)
    two = train_cell(task_of(X, 2 * y - 1), settings)
    # The same classes as 1 and 3 of five.
    five = train_cell(task_of(X, 1 + 2 * y), replace(settings, reduction=OneVsRest(5)))
    values = five.functions.values(X)
    np.testing.assert_array_equal(values[:, 3], np.clip(two.functions.values(X)[:, 0], *five.functions.bounds[3]))
    assert len(set(map(tuple, values[:, [0, 2, 4]].tolist()))) == 1


def function_of(cell, output):
    """Width, support vectors and coefficients of one output."""
    (part,) = (part for part in cell.functions.sums if output in part.outputs)
    beta = part.coefficients[part.outputs.tolist().index(output)]
    return part.width, part.support_vectors[beta != 0], beta[beta != 0]


@pytest.mark.parametrize("search", ["full", "racing"])
@pytest.mark.parametrize("refit", ["combine", "retrain"])
def test_functions_of_several_factors_are_those_of_each_to_the_bit(search, refit):
    X, y = blobs(150, 2, noise=1.2)
    weight = np.random.default_rng(0).uniform(0.5, 2, size=150)
    task = task_of(X, 2 * y - 1, weight)
    factors = (0.1, 1.0, 5.0)
    settings = settings_for(grid=Grid(n_widths=4, n_lams=4), n_folds=4, search=search, refit=refit)
    together = train_cell(task, replace(settings, reduction=Binary(factors=factors)))
    for number, factor in enumerate(factors):
        alone = train_cell(task, replace(settings, reduction=Binary(factors=(factor,))))
        assert (together.width[number], together.lam[number]) == (alone.width[0], alone.lam[0])
        for mine, yours in zip(function_of(together, number), function_of(alone, 0), strict=True):
            np.testing.assert_array_equal(mine, yours)
        np.testing.assert_array_equal(together.out_of_fold.scores[:, number], alone.out_of_fold.scores[:, 0])


@every_reduction
def test_classes_share_their_width_and_each_problem_has_its_lam(reduction, task):
    trained = train_cell(task, settings_for(reduction=reduction, grid=Grid(n_widths=4, n_lams=4)))
    assert trained.width.shape == trained.lam.shape == (reduction.n_outputs,)
    assert len(set(trained.width)) == 1
    assert trained.width[0] in trained.widths


# ------------------------------------------------------------------------------------------- record


@every_reduction
def test_the_risk_is_the_error_of_the_out_of_fold_scores(reduction, task):
    trained = train_cell(task, settings_for(reduction=reduction))
    found = trained.out_of_fold
    error = found.scores.argmax(axis=1) != found.y
    assert trained.risk == pytest.approx(np.average(error, weights=found.weight))
    assert trained.risk_error == pytest.approx(error.std() / np.sqrt(len(error)))
    assert trained.risk < 0.3


@every_reduction
def test_certificates_are_the_worst_of_all_problems(reduction, task):
    trained = train_cell(task, settings_for(reduction=reduction))
    certificates = trained.certificates
    assert certificates.gap.shape == certificates.status.shape == certificates.steps.shape == (3, 3, 3)
    assert (certificates.gap <= reduction.loss.tolerance).all()
    assert (certificates.status == STATUS.index("converged")).all()
    assert certificates.n_unconverged == 0
    assert np.isfinite(trained.risks).all()


def test_pairs_of_classes_share_support_vectors_by_class(task):
    trained = train_cell(task, settings_for(reduction=OneVsOne(K)))
    rows = {tuple(x): label for x, label in zip(task.rows.X.tolist(), task.rows.y, strict=True)}
    pairs = list(combinations(range(K), 2))
    assert len(trained.functions.sums) <= K
    for part in trained.functions.sums:
        (label,) = {rows[tuple(x)] for x in part.support_vectors.tolist()}
        assert [pairs[output] for output in part.outputs] == [pair for pair in pairs if label in pair]
    assert trained.n_support <= len(task.rows.y)


# --------------------------------------------------------------------------------------------- laws


@every_reduction
@pytest.mark.parametrize("search", ["full", "racing"])
@pytest.mark.parametrize("refit", ["combine", "retrain"])
def test_the_number_of_threads_does_not_matter(reduction, search, refit, task):
    settings = settings_for(reduction=reduction, search=search, refit=refit, n_folds=4)
    one = train_cell(task, settings)
    for n_threads in (2, 7):
        same_cells(train_cell(task, settings, n_threads=n_threads), one)


@every_reduction
@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("storage", ["full", "kernel", "smallest"])
def test_memory_does_not_matter(reduction, storage, n_threads, task):
    settings = settings_for(reduction=reduction)
    needed = settings.bytes_needed(len(task.rows.y), 2, n_threads)
    little = train_cell(task, settings, max_bytes=getattr(needed, storage), n_threads=n_threads)
    same_cells(little, train_cell(task, settings))


@every_reduction
def test_the_order_of_the_samples_does_not_matter(reduction):
    X, y = blobs(90, K, seed=3)
    order = np.random.default_rng(0).permutation(90)
    settings = settings_for(reduction=reduction)
    same_cells(train_cell(task_of(X, y), settings), train_cell(task_of(X[order], y[order]), settings))


@every_reduction
def test_an_integer_weight_is_a_repetition(reduction):
    X, y = blobs(60, K, seed=4)
    weight = np.random.default_rng(1).integers(0, 4, size=60)
    again = np.repeat(np.arange(60), weight)
    settings = settings_for(reduction=reduction)
    same_cells(
        train_cell(task_of(X, y, weight), settings),
        train_cell(task_of(X[again], y[again]), settings),
    )


@every_reduction
def test_names_of_classes_do_not_matter(reduction):
    X, y = blobs(90, K, seed=5)
    renamed = np.array([2, 0, 3, 1])
    settings = settings_for(reduction=exactly(reduction), grid=ONE_POINT, refit="retrain")
    scores, permuted = (
        reduction.scores(train_cell(task_of(X, labels), settings).functions.values(X))
        for labels in (y, renamed[y.astype(int)].astype(float))
    )
    assert np.abs(permuted[:, renamed] - scores).max() <= 2 * ALLOWED


@every_reduction
@pytest.mark.parametrize("seed", range(3))
def test_racing_skips_points_and_solves_the_others_as_the_full_search_does(reduction, seed):
    task = task_of(*blobs(200, K, noise=0.9, seed=seed))
    grid = Grid(widths=[1.0, 1e-3, 1e-4], lams=[1e-1, 1e-2, 1e-3])
    settings = settings_for(reduction=reduction, grid=grid, n_folds=5)
    full, racing = train_cell(task, settings), train_cell(task, replace(settings, search="racing"))
    skipped = np.isnan(racing.certificates.gap)
    # At the two smallest widths every sample is alone: nearly all values are 0.
    assert not skipped[0].any()
    finished = np.isfinite(racing.risks)
    assert finished[0].all() and not finished[1:].all()
    np.testing.assert_array_equal(racing.risks[finished], full.risks[finished])
    assert (racing.certificates.steps <= full.certificates.steps).all()
    assert (racing.width == 1.0).all()
    assert racing.risk == full.risk


@every_reduction
@pytest.mark.parametrize("n_threads", [1, 3])
def test_a_cancelled_cell_raises(reduction, n_threads, task):
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        train_cell(task, settings_for(reduction=reduction), token, n_threads=n_threads)


@every_reduction
def test_cells_survive_pickling(reduction, task):
    settings = settings_for(reduction=reduction)
    trained = train_cell(task, settings)
    same_cells(pickle.loads(pickle.dumps(trained)), trained)
    assert pickle.loads(pickle.dumps(settings)) == settings


# ---------------------------------------------------------------------------------------- odd cells


ODD = {
    "default": {},
    "retrain": {"refit": "retrain"},
    "racing": {"search": "racing"},
    "one split": {"n_folds": 1},
    "laplace": {"kernel": "laplace"},
}
every_option = pytest.mark.parametrize("options", ODD.values(), ids=ODD.keys())
every_kind = pytest.mark.parametrize("kind", [OneVsOne, OneVsRest], ids=["ovo", "ovr"])


def predicted(kind, k, X, y, **options):
    """The classes that a cell predicts for its samples, after a check of its record."""
    reduction = kind(k)
    settings = CellSettings(**{"reduction": reduction, "grid": Grid(n_widths=3, n_lams=3), **options})
    trained = train_cell(task_of(X, y), settings)
    scores = reduction.scores(trained.functions.values(np.asarray(X, dtype=np.float32)))
    assert np.isfinite(scores).all()
    assert 0 <= trained.risk <= 1 or (np.isnan(trained.risk) and np.isnan(trained.out_of_fold.scores).all())
    found = scores.argmax(axis=1)
    assert np.isin(found, y).all()
    return found


@every_kind
@every_option
def test_a_class_of_one_sample_is_trained_on_too(kind, options):
    X, y = blobs(60, 3)
    y[y == 2] = 1
    y[-1] = 2
    assert (predicted(kind, 3, X, y, **options) == y).mean() > 0.8


@every_kind
@every_option
def test_every_class_may_have_one_sample(kind, options):
    X, y = blobs(5, 5)
    predicted(kind, 5, X, y, **options)
    narrow = Grid(widths=[0.3], lams=[1e-3])
    assert (predicted(kind, 5, X, y, **{**options, "grid": narrow, "refit": "retrain"}) == y).all()


@every_kind
@every_option
@pytest.mark.parametrize("present", [(0,), (4,), (1, 3), (0, 2, 4)], ids=str)
def test_classes_absent_from_a_cell_are_not_predicted(kind, options, present):
    X, y = blobs(45, len(present))
    y = np.array(present, dtype=float)[y.astype(int)]
    assert (predicted(kind, 5, X, y, **options) == y).mean() > 0.8


@every_kind
def test_thirty_classes_are_separated(kind):
    X, y = blobs(400, 30, noise=0.2)
    assert (predicted(kind, 30, X, y) == y).mean() > 0.9


@every_kind
@every_option
def test_samples_that_differ_in_their_class_only_give_the_heaviest(kind, options):
    X = np.ones((10, 2), dtype=np.float32)
    y = np.array([0, 0, 1, 1, 1, 1, 1, 2, 2, 2.0])
    assert (predicted(kind, 4, X, y, **options) == 1).all()


@every_kind
@every_option
def test_fewer_samples_than_folds_are_validated_one_by_one(kind, options):
    predicted(kind, 3, [[0.0], [1.0], [2.0]], [0, 1, 2], **options)


@every_kind
def test_a_cell_without_samples_has_the_constants_of_all(kind):
    X, y = blobs(30, 3)
    reduction = kind(3)
    empty = task_of(X[:0], y[:0])
    constants = reduction.constants(np.array([2.0, 2.0, 1.0, 0.0]), np.ones(4))
    trained = train_cell(replace(empty, fallback=constants), CellSettings(reduction=reduction))
    assert (reduction.scores(trained.functions.values(X)).argmax(axis=1) == 2).all()
    assert trained.n_support == 0 and trained.risk == 0


@every_kind
def test_weights_may_be_of_very_different_size(kind):
    X, y = blobs(80, 3, noise=1.0)
    weight = np.random.default_rng(0).choice([1e12, 1.0, 1e-6], size=80)
    reduction = kind(3)
    trained = train_cell(task_of(X, y, weight), CellSettings(reduction=reduction, grid=Grid(n_widths=3, n_lams=3)))
    scores = reduction.scores(trained.functions.values(X))
    assert np.isfinite(scores).all()
    heavy = weight == 1e12
    assert (scores.argmax(axis=1) == y)[heavy].mean() > 0.5
