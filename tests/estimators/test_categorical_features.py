"""Columns of numbers that are declared to be categories."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import localsvm
from localsvm import InvalidData, InvalidParameter, LocalSVC

pytestmark = pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning")

SMALL = {"grid": 3, "members": 1, "random_state": 0}


@pytest.fixture(scope="module")
def towns():
    """Codes that say nothing in their order."""
    random = np.random.default_rng(0)
    code, size = random.integers(0, 40, 800), random.normal(size=800).astype(np.float32)
    y = (code * 2654435761 % 97 % 2 == 0).astype(int)
    return np.column_stack([size, code]), y


def test_declared_codes_give_the_model_of_text(towns, tmp_path):
    X, y = towns
    frame = pd.DataFrame({"size": X[:, 0], "town": X[:, 1].astype(int)})
    text = LocalSVC(**SMALL).fit(frame.assign(town=frame["town"].astype(str)), y)
    expected = text.decision_function(frame.assign(town=frame["town"].astype(str)))
    for given, columns in ((X, [1]), (X.astype(np.float32), [1]), (frame, ["town"]), (frame, [1])):
        clf = LocalSVC(categorical_features=columns, **SMALL).fit(given, y)
        np.testing.assert_array_equal(clf.decision_function(given), expected)
        assert clf.encoding_[1]["type"] == "category"
        clf.save(tmp_path / "model.lsvm")
        np.testing.assert_array_equal(localsvm.load(tmp_path / "model.lsvm").decision_function(given), expected)


def test_gaps_in_declared_columns_are_a_level_if_they_are_imputed(towns):
    X, y = towns
    gaps = X.copy()
    gaps[::9, 1] = np.nan
    with pytest.raises(InvalidData, match="column 1 has 89 missing"):
        LocalSVC(categorical_features=[1], **SMALL).fit(gaps, y)
    clf = LocalSVC(categorical_features=[1], missing="impute", **SMALL).fit(gaps, y)
    assert np.isfinite(clf.decision_function(gaps)).all()


@pytest.mark.parametrize(("columns", "message"), [([2], "has 2, but the columns are 0 to 1"), (["a"], "has 'a'")])
def test_columns_that_do_not_exist_are_named(towns, columns, message):
    with pytest.raises(InvalidParameter, match=f"categorical_features {message}"):
        LocalSVC(categorical_features=columns).fit(*towns)


def test_sparse_matrices_have_numbers_only(towns):
    X, y = towns
    with pytest.raises(InvalidParameter, match="X is sparse"):
        LocalSVC(categorical_features=[1]).fit(csr_array(X), y)
