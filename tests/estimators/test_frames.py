"""Data frames with categories: encoded in training, encoded alike in prediction."""

import pickle
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from localsvm import InvalidData, LocalQuantileRegressor, LocalSVC, LocalSVR

pytestmark = [
    pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning"),
    pytest.mark.filterwarnings("ignore::localsvm.PrecisionWarning"),
    pytest.mark.filterwarnings("error::RuntimeWarning"),
]


def small(**parameters):
    return LocalSVC(**{"grid": 4, "n_folds": 3, **parameters})


def people(n=240, seed=0):
    """A frame of many types, and labels that depend on its categories and numbers."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(20, 60, n),
            "town": rng.choice(["Aachen", "Bonn", "Calw"], n),
            "children": pd.array(rng.integers(0, 4, n), dtype="Int64"),
            "member": rng.random(n) < 0.5,
            "grade": pd.Categorical(rng.choice(["low", "high"], n)),
        }
    )
    inclined = (frame["town"] == "Bonn") ^ (frame["grade"] == "high")
    return frame, np.where(inclined ^ (rng.random(n) < 0.05), "yes", "no")


@pytest.fixture(scope="module")
def fitted():
    return small().fit(*people())


def test_categories_are_learned_from(fitted):
    frame, y = people(seed=1)
    assert fitted.score(frame, y) > 0.85
    assert fitted.feature_names_in_.tolist() == ["age", "town", "children", "member", "grade"]
    assert fitted.n_features_in_ == 5
    columns = {record["name"]: record["columns"] for record in fitted.encoding_}
    assert {name: columns[name] for name in ("age", "member", "grade")} == {"age": 1, "member": 1, "grade": 1}
    assert columns["town"] in (3, 4) and fitted.model_.n_features == sum(columns.values())


@settings(max_examples=8, deadline=None)
@given(st.permutations(["Aachen", "Bonn", "Calw"]), st.booleans())
def test_the_order_and_the_type_of_categories_do_not_matter(fitted, order, ordered):
    frame, y = people()
    kind = pd.CategoricalDtype([*order, "Dorum"], ordered=ordered)
    other = frame.astype({"town": kind, "grade": object, "member": "boolean", "age": "Float64"})
    np.testing.assert_array_equal(small().fit(other, y).decision_function(frame), fitted.decision_function(frame))
    np.testing.assert_array_equal(fitted.decision_function(other), fitted.decision_function(frame))


def test_a_category_that_was_not_seen_is_none_of_the_others(fitted):
    frame, _ = people()
    unseen, other = frame.assign(town="Dorum"), frame.assign(town="Emden")
    values = fitted.decision_function(unseen)
    assert np.isfinite(values).all()
    np.testing.assert_array_equal(values, fitted.decision_function(other))
    assert (values != fitted.decision_function(frame.assign(town="Bonn"))).any()


def test_many_levels_are_learned_from_by_their_target_means():
    rng = np.random.default_rng(0)
    street = rng.integers(0, 250, 2000)
    side = rng.integers(0, 2, 250)[street]
    frame = pd.DataFrame({"street": [f"street {k}" for k in street], "x": rng.normal(size=2000)})
    y = np.where(rng.random(2000) < 0.9, side, 1 - side)
    clf = small().fit(frame[:1500], y[:1500])
    assert clf.score(frame[1500:], y[1500:]) > 0.8
    assert [record["columns"] for record in clf.encoding_] == [1, 1]


def test_missing_categories_follow_the_policy():
    frame, y = people()
    gaps = frame.assign(town=frame["town"].where(np.arange(240) % 10 != 3))
    with pytest.raises(InvalidData, match=r"column 'town' has 24 missing values .*row 3\).*missing=\"impute\""):
        small().fit(gaps, y)
    clf = small(missing="impute").fit(gaps, y)
    (town,) = (category for category in clf.columns_.categories if category.column == 1)
    assert sorted(town.names) == ["Aachen", "Bonn", "Calw"] and town.n_levels == 4
    as_text = small().fit(gaps.fillna({"town": "nowhere"}), y)
    assert (clf.predict(frame) == as_text.predict(frame)).mean() > 0.95
    complete = small().fit(frame, y)
    with pytest.raises(InvalidData, match="column 'town' has 24 missing values"):
        complete.predict(gaps)
    assert np.isfinite(small(missing="impute").fit(frame, y).decision_function(gaps)).all()


def test_missing_numbers_and_truth_values_beside_categories_are_imputed():
    frame, y = people()
    gaps = frame.convert_dtypes()
    gaps.loc[5, ["children", "member", "age"]] = pd.NA
    with pytest.raises(InvalidData, match=r"column 'age' has 1 missing .*row 5\), and so have 2 others"):
        small().fit(gaps, y)
    clf = small(missing="impute").fit(gaps, y)
    filled = gaps.assign(**{name: gaps[name].astype(float) for name in ("age", "children", "member")})
    filled = filled.fillna(filled[["age", "children", "member"]].median())
    difference = clf.decision_function(gaps) != clf.decision_function(filled)
    assert not difference[np.arange(240) != 5].any()


def test_a_pickled_model_encodes_as_before(fitted):
    frame, _ = people(seed=2)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.decision_function(frame), fitted.decision_function(frame))
    assert again.encoding_ == fitted.encoding_
    assert not hasattr(clone(fitted), "columns_")
    with pytest.raises(NotFittedError):
        clone(fitted).encoding_  # noqa: B018


def test_frames_go_through_pipelines_and_cross_validation():
    frame, y = people()
    assert cross_val_score(small(), frame, y, cv=3).mean() > 0.85
    numbers = make_column_transformer(
        (StandardScaler(), ["age"]), remainder="passthrough", verbose_feature_names_out=False
    )
    pipeline = make_pipeline(numbers.set_output(transform="pandas"), small()).fit(frame, y)
    assert pipeline.score(frame, y) > 0.85


def test_other_names_and_another_order_are_refused(fitted):
    frame, _ = people()
    with pytest.raises(InvalidData, match="feature names should match"):
        fitted.predict(frame[frame.columns[::-1]])
    with pytest.raises(InvalidData, match="feature names should match"):
        fitted.predict(frame.rename(columns={"town": "city"}))
    with pytest.raises(InvalidData, match="feature names"):
        fitted.predict(frame[["age", "town"]])


def test_an_array_is_not_a_frame_with_categories(fitted):
    frame, _ = people()
    with pytest.raises(
        InvalidData, match="the training data was a data frame with categories or dates: give a data frame"
    ):
        fitted.predict(frame.to_numpy())


def test_text_where_numbers_were_is_refused(fitted):
    frame, _ = people()
    with pytest.raises(InvalidData, match=r"column 'age' has values that are not numbers \(first at row 0: 'old'"):
        fitted.predict(frame.assign(age="old"))
    numbers = small().fit(frame[["age", "member"]], people()[1])
    with pytest.raises(InvalidData, match=r"column 'age' has values that are not numbers"):
        numbers.predict(frame[["age", "member"]].assign(age="old"))


def test_no_rows_are_refused(fitted):
    frame, y = people()
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        fitted.predict(frame[:0])
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        small().fit(frame[:0], y[:0])


@pytest.mark.parametrize("scaling", ["auto", "minmax", "standard", "quantile", None])
def test_categories_alone_are_enough(scaling):
    # Equal rows share a fold, so what is learned must carry over to other combinations of categories.
    frame = people()[0][["town", "grade"]]
    y = frame["town"] == "Bonn"
    assert small(scaling=scaling).fit(frame, y).score(frame, y) > 0.85


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_frames_of_other_libraries_give_the_same_model(fitted, library):
    module = import_module(library)
    frame, y = people()
    plain = frame.astype({"town": object, "grade": object, "children": "int64"})
    columns = {name: plain[name].tolist() for name in plain}
    other = module.DataFrame(columns) if library == "polars" else module.table(columns)
    np.testing.assert_array_equal(small().fit(other, y).decision_function(other), fitted.decision_function(frame))


# --------------------------------------------------------------------------------------------------------- dates


def visits(n=1500, seed=0):
    """Visits of a shop that depend on the weekday and the hour; some have no date."""
    rng = np.random.default_rng(seed)
    when = pd.Series(pd.Timestamp("2021-03-01") + pd.to_timedelta(rng.integers(0, 700 * 24, n), unit="h"))
    open_now = (when.dt.day_of_week < 5) & when.dt.hour.between(8, 17)
    frame = pd.DataFrame({"when": when, "wait": pd.to_timedelta(rng.random(n), unit="h")})
    return frame, np.where(rng.random(n) < 0.95, open_now, ~open_now)


def test_cyclic_parts_of_dates_are_learned_from():
    clf = small(members=1).fit(*visits())
    assert clf.score(*visits(seed=1)) > 0.85
    assert clf.encoding_[0] == {
        "name": "when",
        "type": "date",
        "encoding": "days; hour (sine, cosine); weekday (sine, cosine); day of year (sine, cosine)",
        "columns": 7,
    }
    assert clf.feature_relevance_.shape == (2,)


def test_dates_have_the_same_model_in_every_library():
    frame, y = visits(300)
    expected = small().fit(frame, y).decision_function(frame)
    for library, make in (("polars", "from_pandas"), ("pyarrow", "Table.from_pandas")):
        convert = import_module(library)
        for part in make.split("."):
            convert = getattr(convert, part)
        other = convert(frame)
        np.testing.assert_array_equal(small().fit(other, y).decision_function(other), expected)


def test_missing_dates_follow_the_policy():
    frame, y = visits(300)
    frame.loc[7, "when"] = pd.NaT
    with pytest.raises(InvalidData, match=r"column 'when' has 1 missing values .*row 7\)"):
        small().fit(frame, y)
    clf = small(missing="impute").fit(frame, y)
    assert np.isfinite(clf.decision_function(frame.assign(when=pd.NaT))).all()


# ------------------------------------------------------------------------------------------------ what became of it


def test_numbers_without_gaps_are_described_as_given():
    frame, y = people()
    numbers = small(members=1).fit(frame[["age", "member"]].to_numpy(dtype=float), y)
    plain = {"type": "number", "encoding": "as given", "columns": 1}
    assert numbers.encoding_ == [{"name": "x0", **plain}, {"name": "x1", **plain}]


def test_features_that_do_not_vary_are_dropped_and_said_to_be():
    frame, y = people()
    clf = small().fit(frame.assign(country="Germany", year=2024), y)
    plain = small().fit(frame, y)
    np.testing.assert_array_equal(
        clf.decision_function(frame.assign(country="Germany", year=2024)), plain.decision_function(frame)
    )
    assert [record["type"] for record in clf.encoding_[-2:]] == ["dropped", "dropped"]
    assert np.isfinite(clf.decision_function(frame.assign(country="France", year=2025))).all()


@pytest.mark.parametrize("estimator", [LocalSVR, LocalQuantileRegressor])
def test_regressors_learn_from_the_target_means_of_levels(estimator):
    rng = np.random.default_rng(0)
    street = rng.integers(0, 150, 1500)
    price = rng.normal(size=150)[street]
    frame = pd.DataFrame({"street": [f"street {k}" for k in street], "x": rng.normal(size=1500)})
    reg = estimator(grid=3, n_folds=3).fit(frame[:1000], price[:1000] + 0.1 * rng.normal(size=1000))
    assert np.corrcoef(reg.predict(frame[1000:]), price[1000:])[0, 1] > 0.95


def test_several_classes_have_a_target_mean_each():
    rng = np.random.default_rng(0)
    street = rng.integers(0, 150, 1500)
    kind = rng.integers(0, 3, 150)[street]
    frame = pd.DataFrame({"street": [f"street {k}" for k in street], "x": rng.normal(size=1500)})
    clf = small().fit(frame[:1000], kind[:1000])
    assert clf.encoding_[0]["encoding"].startswith("3 target means of 150 levels")
    assert clf.score(frame[1000:], kind[1000:]) > 0.95


def test_durations_beside_numbers_are_predicted_as_in_training():
    rng = np.random.default_rng(0)
    seconds = rng.integers(0, 10_000, 300)
    frame = pd.DataFrame({"wait": pd.to_timedelta(seconds, unit="s"), "x": rng.normal(size=300)})
    numbers = frame.assign(wait=seconds.astype(float))
    fitted = LocalSVR(grid=3, members=1).fit(frame, seconds / 1000.0)
    expected = LocalSVR(grid=3, members=1).fit(numbers, seconds / 1000.0).predict(numbers)
    np.testing.assert_array_equal(fitted.predict(frame), expected)


def test_two_columns_of_one_name_are_refused():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=["a", "b", "a"])
    with pytest.raises(InvalidData, match="2 columns of the data frame have the name 'a'"):
        LocalSVR().fit(frame, np.arange(40.0))
