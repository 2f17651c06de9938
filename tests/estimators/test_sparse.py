"""A sparse matrix is fitted and predicted as its dense copy, to the bit."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from localsvm import InvalidData, LocalSVC

pytestmark = [
    pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning"),
    pytest.mark.filterwarnings("ignore::localsvm.PrecisionWarning"),
]

FORMATS = [scipy.sparse.csr_matrix, scipy.sparse.csc_matrix, scipy.sparse.coo_array, scipy.sparse.csr_array]


def small(**parameters):
    return LocalSVC(**{"grid": 3, "n_folds": 3, "cell_size": 60, **parameters})


def counts(n=200, d=8, seed=0, dtype=np.float64):
    """Few numbers that are not zero, an empty row and an empty column, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, d)) < 0.3, rng.normal(size=(n, d)), 0.0).astype(dtype)
    X[5], X[:, 3] = 0, 0
    return X, np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n) > 0, 1, -1)


def assert_same_model(one, two, X):
    assert one.cells_ == two.cells_
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


@pytest.mark.parametrize("make", FORMATS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_format_gives_the_dense_model(make, dtype):
    X, y = counts(dtype=dtype)
    dense, sparse = small().fit(X, y), small().fit(make(X), y)
    assert sparse.n_features_in_ == X.shape[1]
    assert_same_model(sparse, dense, X)
    np.testing.assert_array_equal(sparse.decision_function(make(X)), dense.decision_function(X))


@pytest.mark.parametrize("scaling", ["auto", "minmax", "standard", "quantile", None])
@pytest.mark.parametrize("partition", ["voronoi", "chunks", "overlap", "none"])
def test_every_scaling_and_partition_gives_the_dense_model(scaling, partition):
    X, y = counts(n=1100 if scaling == "auto" else 200)
    variant = {"scaling": scaling, "partition": partition, "cell_size": 300}
    assert_same_model(small(**variant).fit(scipy.sparse.csr_array(X), y), small(**variant).fit(X, y), X)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), share=st.sampled_from([0.0, 0.1, 0.9]))
def test_sparse_rows_with_weights_give_the_dense_model(seed, share):
    X, y = counts(n=80, seed=seed)
    weight = np.where(np.random.default_rng(seed).random(80) < share, 0.0, 1.5)
    weight[[0, 1]], y[[0, 1]] = 1.0, [-1, 1]
    dense, sparse = small().fit(X, y, weight), small().fit(scipy.sparse.csc_array(X), y, weight)
    assert_same_model(sparse, dense, X)


def test_zeros_that_are_stored_are_zeros():
    X, y = counts()
    stored = scipy.sparse.csr_array(X)
    stored.data[::3] = 0.0
    assert_same_model(small().fit(stored, y), small().fit(stored.toarray(), y), stored)


def test_blocks_of_wide_rows_give_the_same_model(monkeypatch):
    import localsvm.data.source as source

    X, y = counts()
    expected = small().fit(X, y)
    monkeypatch.setattr(source, "BLOCK_VALUES", 50)
    assert_same_model(small().fit(scipy.sparse.csr_array(X), y), expected, scipy.sparse.csr_array(X))


def test_a_frame_of_sparse_columns_is_sparse():
    X, y = counts()
    frame = pd.DataFrame.sparse.from_spmatrix(scipy.sparse.csr_matrix(X), columns=[f"word {j}" for j in range(8)])
    clf = small().fit(frame, y)
    assert clf.feature_names_in_[0] == "word 0"
    np.testing.assert_array_equal(clf.decision_function(frame), small().fit(X, y).decision_function(X))


def test_gaps_in_sparse_matrices_are_reported_or_imputed():
    X, y = counts()
    X[[7, 11], 2] = np.nan
    sparse = scipy.sparse.csc_matrix(X)
    with pytest.raises(InvalidData, match=r"column 2 has 2 missing values .*row 7\).*missing=\"impute\""):
        small().fit(sparse, y)
    imputing = small(missing="impute")
    assert_same_model(pickle.loads(pickle.dumps(imputing)).fit(sparse, y), imputing.fit(X, y), X)
    sparse.data[0] = np.inf
    with pytest.raises(InvalidData, match=r"has 1 infinite values"):
        small(missing="impute").fit(sparse, y)


def wide(n=3000, d=30_000):
    rng = np.random.default_rng(0)
    return scipy.sparse.random_array((n, d), density=1e-3, format="csr", rng=rng), np.arange(n) % 2


@pytest.mark.parametrize(
    ("variant", "sentence"),
    [
        ({"max_memory": "20MB"}, r"360 MB for the model \(3000 samples of 30000 features, 4 bytes each\) and .* 20 MB"),
        ({"max_memory": "1GB", "partition": "none"}, r"largest cell of 3000 samples .*max_memory allows 1 GB"),
        ({"max_memory": "500MB"}, r"a sample of 559 rows of 30000 features needs 671 MB, but max_memory allows 500 MB"),
    ],
)
def test_a_wide_matrix_that_does_not_fit_when_dense_is_refused_with_numbers(variant, sentence, monkeypatch):
    monkeypatch.setattr("localsvm.fit.prepare.hash_blocks", lambda *_: pytest.fail("work had started"))
    with pytest.raises(InvalidData, match=sentence):
        small(**variant).fit(*wide())
