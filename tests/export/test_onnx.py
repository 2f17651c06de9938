"""Exported models predict in onnxruntime what the estimators do, to 1e-5."""

import numpy as np
import pytest
from cells import blobs
from onnx_runs import assert_same, exact_scores, run, with_cells
from partitions import Halves

from localsvm import (
    Grid,
    InvalidParameter,
    LocalExpectileRegressor,
    LocalQuantileRegressor,
    LocalSVC,
    LocalSVR,
    load,
)
from localsvm.partition import CoarseCells

pytestmark = [
    pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning"),
    pytest.mark.filterwarnings("ignore::localsvm.PrecisionWarning"),
]

SMALL = {"grid": Grid(widths=(0.3, 1.0), lams=(0.05, 0.02)), "cell_size": 60, "n_folds": 3, "members": 1}


def noisy(n, seed=0, n_targets=None, d=3):
    """Rows with targets that are half noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 5, size=(n, d))
    signal = np.sin(X[:, 0]) + X[:, 1] / 4
    y = np.stack([signal * (t + 1) + rng.normal(size=n) for t in range(n_targets or 1)], axis=1)
    return X.astype(np.float32), y if n_targets else y[:, 0]


def classes(n, k, seed=0):
    X, y = blobs(n, k, d=3, noise=1.2, seed=seed)
    return X.astype(np.float32), y.astype(int)


@pytest.mark.parametrize("kernel", ["gauss", "laplace", "manhattan"])
@pytest.mark.parametrize("scaling", ["minmax", "standard", "quantile", None])
def test_every_kernel_and_scaling_gives_the_same_predictions(kernel, scaling):
    model = LocalSVR(**SMALL, kernel=kernel, scaling=scaling).fit(*noisy(200))
    assert_same(model, noisy(300, seed=1)[0])


@pytest.mark.parametrize(
    "partition",
    [
        {},
        {"partition": "none"},
        {"partition": "chunks"},
        {"partition": "overlap"},
        {"partition": "radius", "cell_radius": 0.3},
    ],
    ids=str,
)
@pytest.mark.parametrize("k", [2, 4])
def test_every_partition_gives_the_same_classes(partition, k):
    clf = LocalSVC(**SMALL, **partition, loss="hinge").fit(*classes(240, k))
    assert_same(clf, classes(300, k, seed=1)[0])


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared"])
@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
@pytest.mark.parametrize("k", [2, 3, 6])
def test_every_loss_and_reduction_gives_the_same_classes(loss, multiclass, k):
    clf = LocalSVC(**SMALL, loss=loss, multiclass="auto" if loss == "logistic" else multiclass).fit(*classes(240, k))
    assert_same(clf, classes(300, k, seed=1)[0])


@pytest.mark.parametrize(
    "objective",
    [{"objective": "accuracy"}, {"objective": "f1"}, {"false_alarm": 0.1}, {"positive_weights": [0.5, 1, 2]}],
    ids=str,
)
def test_every_objective_gives_the_same_decisions(objective):
    clf = LocalSVC(**SMALL, **objective).fit(*classes(240, 2))
    points = classes(300, 2, seed=1)[0]
    assert_same(clf, points)
    if "positive_weights" in objective:
        assert_same(clf.at_false_alarm(0.05), points)


@pytest.mark.parametrize(
    "estimator",
    [
        LocalSVR(**SMALL),
        LocalSVR(**SMALL, loss="epsilon_insensitive"),
        LocalQuantileRegressor(**SMALL, quantile=0.3),
        LocalQuantileRegressor(**SMALL, quantile=[0.9, 0.1, 0.5]),
        LocalExpectileRegressor(**SMALL, expectile=[0.8, 0.2]),
        LocalSVR(**SMALL, refit="retrain", partition="chunks"),
    ],
    ids=str,
)
def test_every_regressor_gives_the_same_predictions(estimator):
    assert_same(estimator.fit(*noisy(200)), noisy(300, seed=1)[0])


@pytest.mark.parametrize("kernel", ["gauss", "laplace", "manhattan"])
@pytest.mark.parametrize("members", [1, 4])
def test_where_large_coefficients_cancel_values_are_exact_but_for_the_rounding_of_kernel_values(kernel, members):
    model = LocalSVR(kernel=kernel, cell_size=100, members=members).fit(*noisy(300))
    points = noisy(200, seed=1)[0]
    expected, bound = exact_scores(model, points)
    found = run(model.to_onnx(dtype="float64"), points)["prediction"]
    assert (np.abs(found - expected) <= bound + 1e-6).all()
    np.testing.assert_allclose(found, model.predict(points), atol=2 * bound.max() + 1e-5)


@pytest.mark.parametrize("n_targets", [1, 3])
def test_columns_of_targets_stay_columns(n_targets):
    model = LocalSVR(**SMALL).fit(*noisy(200, n_targets=n_targets))
    assert assert_same(model, noisy(300, seed=1)[0])["prediction"].shape == (300, n_targets)


@pytest.mark.parametrize("make", [LocalSVC, LocalSVR])
def test_members_predict_together(make):
    X, y = classes(240, 3)
    model = make(**{**SMALL, "members": 4}).fit(X, y)
    assert len(model.members_) == 4
    assert_same(model, classes(300, 3, seed=1)[0])


@pytest.mark.parametrize("seed", range(3))
def test_all_rows_go_to_the_cells_that_the_tree_finds(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1500, 2)).astype(np.float32)
    upper = CoarseCells.around(X[:3]).split(1, X[3:7]).split(2, X[7:10])
    model = LocalSVR(**{**SMALL, "cell_size": 40}, partition=upper, scaling=None, relevance=None).fit(X, X[:, 0])
    assert len(model.model_.partition.nodes) > 3
    shown, name = with_cells(model.to_onnx())
    points = (3 * rng.normal(size=(20_000, 2))).astype(np.float32)
    found = run(shown, points)[name]
    assert len(np.unique(found)) > 0.9 * model.n_cells_
    np.testing.assert_array_equal(found, model.apply(points))


def test_rows_that_are_equally_far_from_centers_go_to_the_first():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(800, 4)).astype(np.float32)
    model = LocalSVR(**SMALL).fit(X, X.sum(axis=1) + rng.normal(size=800))
    shown, name = with_cells(model.to_onnx(duplicates="ignore"))
    points = rng.integers(0, 4, size=(5000, 4)).astype(np.float32)
    np.testing.assert_array_equal(run(shown, points)[name], model.apply(points))


def test_cells_of_one_class_and_of_none_predict_the_same():
    X, y = classes(240, 4)
    far = np.concatenate([X, X[:80] + 50])
    clf = LocalSVC(**SMALL, loss="hinge").fit(far, np.concatenate([y, np.full(80, 2)]))
    assert any(cell.n_support == 0 for cell in clf.model_.cells)
    assert_same(clf, far)


def test_any_number_of_rows_gives_the_same_values():
    model = LocalSVR(**SMALL).fit(*noisy(200))
    exported, points = model.to_onnx(), noisy(700, seed=1)[0]
    all_rows = run(exported, points)["prediction"]
    assert run(exported, points[:0])["prediction"].shape == (0,)
    for count in (1, 2, 255, 257, 699):
        np.testing.assert_allclose(run(exported, points[:count])["prediction"], all_rows[:count], atol=1e-6)


def test_double_precision_reads_numbers_that_single_precision_cannot_tell_apart():
    X, y = noisy(200)
    wide = X.astype(np.float64) * 1e-5 + 1e3
    model = LocalSVR(**SMALL).fit(wide, y)
    found = assert_same(model, noisy(300, seed=1)[0] * 1e-5 + 1e3, dtype="float64")
    assert found["prediction"].dtype == np.float64
    assert np.ptp(found["prediction"]) > 0.5


@pytest.mark.parametrize(
    "labels", [np.array(["nö", "ja", "?"]), np.array([3, -1, 7]), np.array([0.0, 1.0, 2.0]), [True, False]], ids=str
)
def test_labels_are_those_of_training(labels):
    X, y = classes(240, len(labels))
    clf = LocalSVC(**SMALL).fit(X, np.asarray(labels)[y])
    kind = clf.classes_.dtype.kind
    assert assert_same(clf, X)["label"].dtype.kind == ("O" if kind == "U" else kind)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_rows_that_the_estimator_refuses_become_nan_and_others_stay(bad):
    clf = LocalSVC(**SMALL).fit(*classes(240, 3))
    points = classes(20, 3, seed=1)[0]
    spoiled = points.copy()
    spoiled[[3, 7], [0, 2]] = bad
    expected, found = run(clf.to_onnx(), points), run(clf.to_onnx(), spoiled)
    others = np.delete(np.arange(20), [3, 7])
    for name in ("scores", "probabilities"):
        assert np.isnan(found[name][[3, 7]]).all()
        np.testing.assert_allclose(found[name][others], expected[name][others], atol=1e-6)


@pytest.mark.parametrize("kernel", ["gauss", "laplace", "manhattan"])
@pytest.mark.parametrize("size", [1e4, 1e18, 3e38])
def test_rows_far_from_all_others_predict_the_same(kernel, size):
    model = LocalSVR(**SMALL, kernel=kernel).fit(*noisy(200))
    assert_same(model, size * np.array([[1, 0, 0], [-1, 1, 0], [0, 0, 1], [1, 1, -1]], dtype=np.float32))


def test_a_model_that_was_saved_exports_the_same(tmp_path):
    model = LocalSVR(**{**SMALL, "members": 2}).fit(*noisy(200))
    model.save(tmp_path / "model.lsvm")
    assert load(tmp_path / "model.lsvm").to_onnx().SerializeToString() == model.to_onnx().SerializeToString()


def test_a_partition_of_the_users_own_is_refused():
    X, y = noisy(200)
    model = LocalSVR(**SMALL, partition=Halves(), scaling=None).fit(X, y)
    with pytest.raises(InvalidParameter, match=r"an object of your own \(Halves\)"):
        model.to_onnx()


def test_labels_that_onnx_does_not_have_are_refused():
    X, y = classes(240, 2)
    dates = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")
    clf = LocalSVC(**SMALL).fit(X, dates[y])
    with pytest.raises(InvalidParameter, match="labels are neither text nor numbers"):
        clf.to_onnx()


@pytest.mark.parametrize("wrong", [{"dtype": "float16"}, {"duplicates": "keep"}])
def test_unknown_options_are_refused(wrong):
    model = LocalSVR(**SMALL).fit(*noisy(60))
    with pytest.raises(InvalidParameter, match="is not available; use"):
        model.to_onnx(**wrong)


@pytest.mark.parametrize("most", [0, 1000, 5000])
def test_a_model_too_large_for_a_file_is_refused(most, monkeypatch):
    model = LocalSVR(**SMALL).fit(*noisy(200))
    monkeypatch.setattr("localsvm.export.graph._MOST_BYTES", most)
    with pytest.raises(InvalidParameter, match="at most 2 GB"):
        model.to_onnx()
