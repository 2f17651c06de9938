"""Exported models of data frames and of numbers with missing values predict in onnxruntime what the estimators do."""

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from onnx_runs import assert_same, close, feeds, run

from localsvm import Grid, InvalidParameter, LocalSVC, LocalSVR

pytestmark = [
    pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning"),
    pytest.mark.filterwarnings("ignore::localsvm.PrecisionWarning"),
]

SMALL = {"grid": Grid(widths=(2.0, 6.0), lams=(0.05, 0.02)), "cell_size": 100, "n_folds": 3, "members": 1}
TOWNS = ["Aachen", "Bonn", "Zürich", "x y", "0"]


def people(n, seed=0, gaps=0.0):
    """Rows of many types, and a target that depends on them."""
    rng = np.random.default_rng(seed)
    wealth = rng.lognormal(3, 2, n)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(20, 60, n),
            "town": rng.choice(TOWNS, n),
            "wealth": np.where(rng.random(n) < 0.4, 0.25, wealth),
            "member": rng.random(n) < 0.5,
            "grade": pd.Categorical(rng.choice(["low", "high"], n)),
            "when": pd.Timestamp("1995-12-30 06:00") + pd.to_timedelta(rng.uniform(-3000, 3000, n), unit="D"),
        }
    )
    y = (frame["town"] == "Bonn") * 2.0 + np.sin(frame["age"] / 9) + (frame["grade"] == "high")
    y += np.cos(2 * np.pi * frame["when"].dt.day_of_year / 366) + 0.5 * rng.normal(size=n)
    if gaps:
        for name in frame:
            frame[name] = frame[name].astype(object if name in ("town", "member") else frame[name].dtype)
            frame.loc[rng.random(n) < gaps, name] = None
    return frame, y.to_numpy()


def single(frame):
    """Return a frame whose numbers are those of single precision, as its inputs are."""
    return frame.assign(**{name: frame[name].astype(np.float32) for name in ("age", "wealth")})


@pytest.fixture(scope="module")
def model():
    return LocalSVR(**SMALL).fit(*people(400))


def test_a_frame_has_an_input_for_each_column(model):
    exported = model.to_onnx()
    types = {one.name: one.type.tensor_type.elem_type for one in exported.graph.input}
    assert types == {"age": 1, "town": 8, "wealth": 1, "member": 1, "grade": 8, "when": 11}
    assert exported.metadata_props[0].value.split("\n") == list(types)


@pytest.mark.parametrize("scaling", ["minmax", "quantile"])
@pytest.mark.parametrize("kernel", ["gauss", "manhattan"])
def test_frames_predict_the_same(scaling, kernel):
    model = LocalSVR(**SMALL, scaling=scaling, kernel=kernel).fit(*people(300))
    assert_same(model, single(people(200, seed=1)[0]))
    assert_same(model, people(200, seed=1)[0], dtype="float64")


def test_frequent_values_are_found_in_the_precision_of_the_input():
    rows, y = people(300)
    rows["wealth"] = rows["wealth"].replace(0.25, 0.3)  # not a number of single precision
    model = LocalSVR(**SMALL).fit(rows, y)
    rounded, exact = (run(model.to_onnx(dtype=dtype), rows)["prediction"] for dtype in ("float32", "float64"))
    np.testing.assert_allclose(rounded, exact, atol=1e-3)


@pytest.mark.parametrize("members", [1, 4])
def test_missing_values_of_every_type_are_imputed_alike(members):
    rows, y = people(400, gaps=0.1)
    model = LocalSVR(**{**SMALL, "members": members}, missing="impute").fit(rows, y)
    views = {(member.view.numbers, member.view.levels) for member in model.members_}
    assert members == 1 or len(views) > 1
    new = single(people(200, seed=1, gaps=0.3)[0])
    assert_same(model, new)
    assert_same(model, new.reindex([-1]))  # nothing is known of this row


def test_classes_of_frames_are_the_same():
    rows, y = people(400, gaps=0.1)
    clf = LocalSVC(**SMALL, missing="impute", loss="hinge").fit(rows, np.digitize(y, [0, 1.5]))
    assert_same(clf, single(people(200, seed=1, gaps=0.3)[0]))


def test_unseen_levels_are_predicted_as_unseen(model):
    rows = single(people(50, seed=1)[0])
    rows["town"] = ["Bonn", "bonn", "nan", "missing", "other"] * 10
    found = assert_same(model, rows)["prediction"]
    rows["town"] = np.where(rows["town"] == "Bonn", "Bonn", "somewhere")
    np.testing.assert_allclose(found, run(model.to_onnx(), rows)["prediction"], atol=1e-6)


def test_empty_text_is_a_missing_level_unless_it_was_one_of_training():
    rows, y = people(400)
    rows["town"] = rows["town"].replace("Bonn", "")
    known = LocalSVR(**SMALL, missing="impute").fit(rows, y)
    assert_same(known, single(rows))
    rows["town"] = rows["town"].replace("", "Bonn")
    exported = LocalSVR(**SMALL).fit(rows, y).to_onnx()
    rows["town"] = rows["town"].replace("Bonn", None)
    found = run(exported, single(rows))["prediction"]
    np.testing.assert_array_equal(np.isnan(found), rows["town"].isna())


@pytest.mark.parametrize("name", ["age", "wealth", "when"])
def test_missing_numbers_that_are_not_imputed_are_nan(model, name):
    rows = single(people(20)[0])
    rows.loc[3, name] = None
    found = run(model.to_onnx(), rows)["prediction"]
    assert np.flatnonzero(np.isnan(found)).tolist() == [3]


def test_days_of_centuries_have_the_same_part_of_the_year():
    days = pd.to_datetime(
        ["1700-02-28", "1899-12-31", "1900-03-01", "1999-12-31 23:59", "2000-12-31", "2100-03-01"], format="mixed"
    )
    rows, y = people(300)
    model = LocalSVR(**SMALL).fit(rows, y)
    new = single(people(6, seed=1)[0]).assign(when=days)
    assert_same(model, new)


def test_declared_categories_of_an_array_are_text():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(size=300), rng.integers(5, size=300) * 10]).astype(np.float32)
    y = np.array([0.0, 3.0, 1.0, 2.0, 5.0])[(X[:, 1] / 10).astype(int)] + X[:, 0]
    model = LocalSVR(**SMALL, categorical_features=[1]).fit(X, y)
    session = onnxruntime.InferenceSession(model.to_onnx(duplicates="ignore").SerializeToString())
    text = X[:, 1:].astype(int).astype(str).astype(object)
    (found,) = session.run(None, {"x0": X[:, :1], "x1": text})
    close(found, model.predict(X))


@pytest.mark.parametrize("members", [1, 4])
def test_arrays_with_missing_numbers_predict_the_same(members):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=300), rng.lognormal(0, 3, 300), rng.integers(3, size=300) / 10])
    X = np.where(rng.random(X.shape) < 0.2, np.nan, X).astype(np.float32)
    y = np.nan_to_num(X[:, 0]) + rng.normal(size=300)
    model = LocalSVR(**{**SMALL, "members": members}, missing="impute").fit(X, y)
    found = assert_same(model, X)
    assert np.isfinite(found["prediction"]).all()
    spoiled = np.where(np.arange(300)[:, None] == 5, np.inf, X).astype(np.float32)
    assert np.flatnonzero(np.isnan(run(model.to_onnx(), spoiled)["prediction"])).tolist() == [5]


def test_frames_of_numbers_are_matrices():
    rows, y = people(300)
    numbers = single(rows)[["age", "wealth"]]
    model = LocalSVR(**SMALL).fit(numbers, y)
    assert [one.name for one in model.to_onnx().graph.input] == ["X"]
    assert_same(model, numbers)


def test_frames_of_categories_alone_predict_the_same():
    rows, y = people(300)
    texts = rows[["town", "grade"]]
    model = LocalSVR(**SMALL).fit(texts, y)
    close(run(model.to_onnx(duplicates="ignore"), texts)["prediction"], forgetful(model).predict(texts))


def forgetful(model):
    """Return a model that does not look up duplicates of training rows."""
    model._duplicates = None
    return model


def test_outputs_are_renamed_where_a_feature_has_their_name():
    rows, y = people(300)
    rows = rows.rename(columns={"age": "prediction"})
    model = LocalSVR(**SMALL).fit(rows, y).to_onnx()
    assert [one.name for one in model.graph.output] == ["prediction_"]


def test_duplicates_are_refused_unless_they_are_to_be_ignored():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, size=(1200, 2)).astype(np.float32)
    rate = np.random.default_rng(1).choice([0.05, 0.95], 36)[(6 * X[:, 0] + X[:, 1]).astype(int)]
    clf = LocalSVC(**{**SMALL, "cell_size": 2000}).fit(X, rng.random(1200) < rate)
    assert clf._duplicates is not None
    with pytest.raises(InvalidParameter, match=r"looks up duplicates .* duplicates='ignore'"):
        clf.to_onnx()
    exported = clf.to_onnx(duplicates="ignore")
    close(run(exported, X)["probabilities"], forgetful(clf).predict_proba(X))


def test_feeds_take_one_row_and_none(model):
    session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString())
    rows = single(people(3)[0])
    for count in (0, 1):
        assert session.run(None, feeds(session, rows[:count]))[0].shape == (count,)
