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
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from localsvm import InvalidData, LocalSVC

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
    assert fitted.model_.n_features == 8


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


def test_names_beyond_the_most_frequent_are_pooled():
    rng = np.random.default_rng(0)
    number = rng.integers(0, 20, 400)
    rare = pd.Series([f"once {k}" for k in range(400)])
    name = pd.Series([f"often {k}" for k in number]).where(rng.random(400) < 0.8, rare)
    frame = pd.DataFrame({"name": name, "x": rng.normal(size=400)})
    y = np.where(name.str.startswith("once"), 0, number % 2)
    clf = small().fit(frame, y)
    assert clf.model_.n_features == 32
    assert clf.score(frame.assign(name="never before"), np.zeros(400)) > 0.7


def test_missing_categories_follow_the_policy():
    frame, y = people()
    gaps = frame.assign(town=frame["town"].where(np.arange(240) % 10 != 3))
    with pytest.raises(InvalidData, match=r"column 'town' has 24 missing values .*row 3\).*missing=\"impute\""):
        small().fit(gaps, y)
    clf = small(missing="impute").fit(gaps, y)
    (town, _) = clf.columns_.categories
    assert town.names == ("Aachen", "Bonn", "Calw") and town.missing
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
    assert again.columns_ == fitted.columns_
    assert not hasattr(clone(fitted), "columns_")


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
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(frame[frame.columns[::-1]])
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(frame.rename(columns={"town": "city"}))
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame[["age", "town"]])


def test_an_array_is_not_a_frame_with_categories(fitted):
    frame, _ = people()
    with pytest.raises(InvalidData, match="the training data was a data frame with categories: give a data frame"):
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
