"""The gradient of every estimator: the limit of differences of what it predicts, in units of the features as given."""

import numpy as np
import pandas as pd
import pytest
import reference
from fitted import SMALL, UNFITTED, frame, numbers, toy
from scipy.sparse import csr_matrix
from sklearn.exceptions import NotFittedError

import localsvm
from localsvm import InvalidData, LocalQuantileRegressor, LocalSVC, LocalSVR
from localsvm.data.scaling import AffineScaling
from localsvm.estimators.rows import check_rows
from localsvm.model import gradient
from localsvm.model.predict import assign_rows

pytestmark = [
    pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning"),
    pytest.mark.filterwarnings("ignore::localsvm.PrecisionWarning"),
]

STEP = 1e-6  # of a column's range: float64 tells such rows apart, float32 may not


# Members of a frame have columns of their own: tests/estimators/test_members.py has the mean of their gradients.
@pytest.fixture(scope="module", params=[kind for kind in UNFITTED if kind != "members, frame"])
def fitted(request):
    """A fitted estimator and rows between its training rows, where no function has an edge or a tip."""
    estimator, X, y = UNFITTED[request.param]()
    rows = X if isinstance(X, pd.DataFrame) else (X + np.roll(X, 1, axis=0)) / 2
    return estimator.fit(X, y), rows


def exact_cell(model, cell, scaled):
    """Scores of scaled rows by one cell, all in float64."""
    functions = model.cells[cell].functions
    values = np.tile(functions.constants, (len(scaled), 1))
    for part in functions.sums:
        values[:, part.outputs] += reference.decision_values(
            scaled, part.support_vectors, part.coefficients.T, functions.kernel, np.float32(part.width)
        )
    return model.reduction.scores(np.clip(values, *functions.bounds.T))


def exact(estimator, rows, cells):
    """What an estimator says of rows in its own columns, in float64; each is said by the cells of the same places."""
    members = zip(estimator.members_, cells, strict=True)
    return estimator._shown_of(sum(member.weight * exact_member(member.model, rows, own) for member, own in members))


def exact_member(model, rows, cells):
    if isinstance(model.scaling, AffineScaling):
        scaled = (rows - model.scaling.shift) * model.scaling.factor
    else:
        columns = zip(rows.T, model.scaling.knots, model.scaling.ranks, strict=True)
        scaled = np.column_stack([np.interp(column, knots, ranks) for column, knots, ranks in columns])
    if model.averages:
        scores = np.mean([exact_cell(model, cell, scaled) for cell in range(len(model.cells))], axis=0)
    else:
        scores = np.empty((len(rows), model.reduction.n_scores))
        for cell in np.unique(cells):
            scores[cells == cell] = exact_cell(model, cell, scaled[cells == cell])
    return scores


def rounding(estimator):
    """What float32 may lose of a prediction: half a bit of all that is summed, and of the rows."""
    cells = (cell for member in estimator.members_ for cell in member.model.cells)
    sums = (part for cell in cells for part in cell.functions.sums)
    return 2e-5 + 2.0**-24 * max((np.abs(part.coefficients).sum(axis=1).max() for part in sums), default=0.0)


def said(estimator, X):
    return (estimator.decision_function if isinstance(estimator, LocalSVC) else estimator.predict)(X)


def test_the_gradient_is_the_limit_of_differences_of_the_prediction(fitted):
    estimator, X = fitted
    rows = np.asarray(check_rows(estimator, X)[:], dtype=np.float64)
    cells = [assign_rows(member.model, check_rows(estimator, X)) for member in estimator.members_]
    np.testing.assert_allclose(exact(estimator, rows, cells), said(estimator, X), atol=rounding(estimator))

    steps = STEP * np.maximum(np.ptp(rows, axis=0), 1.0)
    differences = np.stack(
        [
            (exact(estimator, rows + step * unit, cells) - exact(estimator, rows - step * unit, cells)) / (2 * step)
            for step, unit in zip(steps, np.eye(rows.shape[1]), strict=True)
        ],
        axis=-1,
    )
    if estimator.columns_ is not None:  # categories and indicators have derivatives of zero
        view = estimator.columns_.view()
        of_numbers, differences = differences, np.zeros((*differences.shape[:-1], X.shape[1]))
        differences[..., view.origins[: view.n_numbers]] = of_numbers[..., : view.n_numbers]
        differences[np.isnan(X["age"].to_numpy()), ..., 2] = 0.0
    found = estimator.gradient(X)
    assert found.dtype == np.float64
    assert np.abs(found).max() > 0
    np.testing.assert_allclose(found, differences, rtol=1e-3, atol=1e-4 * np.abs(differences).max())


def test_every_value_has_its_gradient(fitted):
    estimator, X = fitted
    assert estimator.gradient(X).shape == (*said(estimator, X).shape, X.shape[1])


def test_the_order_of_rows_and_the_number_of_threads_change_no_bit(fitted, monkeypatch):
    estimator, X = fitted
    expected = estimator.gradient(X)
    order = np.random.default_rng(0).permutation(len(X))
    shuffled = X.iloc[order] if isinstance(X, pd.DataFrame) else X[order]
    monkeypatch.setattr(gradient, "BLOCK_ROWS", 17)
    for n_jobs in (1, 3):
        estimator.set_params(n_jobs=n_jobs)
        np.testing.assert_array_equal(estimator.gradient(shuffled), expected[order])


def test_a_constant_feature_has_a_derivative_of_zero():
    X, y = numbers()
    X = np.column_stack([X, np.full(len(X), 7.0)])
    for scaling in ("minmax", "standard", "quantile"):
        model = LocalSVR(**{**SMALL, "scaling": scaling}).fit(X, y)
        np.testing.assert_array_equal(model.gradient(X + np.eye(3)[2])[:, 2], 0)


def test_a_clipped_prediction_has_a_gradient_of_zero():
    X, y = numbers()
    model = LocalSVR(**{**SMALL, "partition": "none"}).fit(X, y)
    points = np.random.default_rng(0).uniform(-0.5, 1.5, size=(2000, 2))
    values, derivatives = model.predict(points), model.gradient(points)
    cut = (values == y.min()) | (values == y.max())
    assert cut.any()
    np.testing.assert_array_equal(derivatives[cut], 0)
    assert (derivatives[~cut] != 0).any(axis=1).all()


def test_a_step_along_the_gradient_of_a_classifier_speaks_for_the_second_class():
    X, y = toy(300)
    clf = LocalSVC(**{**SMALL, "cell_size": 100}).fit(X, y)
    slopes = clf.gradient(X)
    lengths = np.linalg.norm(slopes, axis=1, keepdims=True)
    moved = X + 1e-3 * slopes / np.maximum(lengths, 1e-12)
    stayed = clf.apply(X) == clf.apply(moved)  # beyond the border another function predicts
    rise = (clf.decision_function(moved) - clf.decision_function(X))[stayed & (lengths[:, 0] > 0.1)]
    assert (rise > 0).mean() > 0.99


def test_levels_have_the_gradients_of_the_values_that_are_shown():
    X, y = numbers()
    settings = {**SMALL, "partition": "none"}
    up = LocalQuantileRegressor(quantile=[0.2, 0.8], **settings).fit(X, y)
    down = LocalQuantileRegressor(quantile=[0.8, 0.2], **settings).fit(X, y)
    np.testing.assert_array_equal(up.gradient(X), down.gradient(X)[:, ::-1])


def test_sparse_rows_and_frames_have_the_gradients_of_their_numbers():
    X, y = numbers()
    X = np.where(X < 0.3, 0.0, X)
    model = LocalSVR(**SMALL).fit(X, y)
    expected = model.gradient(X)
    np.testing.assert_array_equal(model.gradient(csr_matrix(X)), expected)
    np.testing.assert_array_equal(LocalSVR(**SMALL).fit(csr_matrix(X), y).gradient(X), expected)
    table = pd.DataFrame(X, columns=["a", "b"])
    np.testing.assert_array_equal(LocalSVR(**SMALL).fit(table, y).gradient(table), expected)


def test_categories_and_missing_values_have_derivatives_of_zero():
    rows, y = frame()
    found = LocalSVC(missing="impute", **SMALL).fit(rows, y).gradient(rows)
    assert found.shape == (len(rows), 3)
    assert (found[:, 0] != 0).any() and (found[:, 2] != 0).any()
    assert not found[:, 1].any() and not found[rows["age"].isna(), 2].any()


def test_no_rows_have_no_gradients(tmp_path):
    X, y = numbers()
    LocalSVR(**SMALL).fit(X, y).save(tmp_path / "model.lsvm")
    loaded = localsvm.load(tmp_path / "model.lsvm")
    assert gradient.predict_gradients(loaded.model_, X[:0]).shape == (0, 1, 2)


def test_an_estimator_that_is_not_fitted_has_no_gradient():
    with pytest.raises(NotFittedError):
        LocalSVC().gradient([[0.0]])


def test_rows_of_another_number_of_features_are_refused():
    X, y = numbers()
    model = LocalSVR(**SMALL).fit(X, y)
    with pytest.raises(ValueError, match="3 features"):
        model.gradient(np.zeros((2, 3)))
    with pytest.raises(InvalidData):
        model.gradient(np.full((2, 2), np.nan))
