"""Hashes, nearest centers and the farthest-first traversal: bit for bit what slow NumPy says, at every SIMD level."""

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

from localsvm import _native

LEVELS = _native.available_simd_levels()
every_level = pytest.mark.parametrize("level", LEVELS)


@pytest.fixture(autouse=True)
def restored_level():
    before = _native.simd_level()
    yield
    _native.set_simd_level(before)


KINDS = {
    "normal": lambda rng, n, d: rng.normal(size=(n, d)),
    "grid": lambda rng, n, d: rng.integers(0, 4, size=(n, d)),
    "heavy tails": lambda rng, n, d: rng.standard_cauchy(size=(n, d)),
    "dense": lambda rng, n, d: rng.normal(size=(n, d)) * np.where(rng.random(n) < 0.95, 1e-4, 10)[:, None],
    "line": lambda rng, n, d: rng.integers(0, 50, size=(n, 1)) * np.ones(d),
    "equal": lambda rng, n, d: np.ones((n, d)),
}


@st.composite
def rows(draw, max_rows=100):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = KINDS[draw(st.sampled_from(sorted(KINDS)))]
    n, d = draw(st.integers(1, max_rows)), draw(st.sampled_from([1, 2, 3, 17]))
    X = np.asarray(kind(rng, n, d), dtype=np.float32)
    return X, rng.integers(1, 4, size=n).astype(np.float64)


def same_bits(found, expected):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def split_by_reference(X, counts, size, radius=np.inf, tiny=0.0):
    cells = reference.farthest_first(X, counts, size, radius, tiny)
    return cells.centers, cells.labels, cells.squared


# ------------------------------------------------------------------------------------------- hashes


@given(data=rows(), seed=st.integers(0, 2**64 - 1))
@settings(deadline=None)
def test_hashes_are_those_of_the_reference_in_both_precisions(data, seed):
    X, _ = data
    expected = reference.content_hash(X, seed)
    np.testing.assert_array_equal(_native.content_hash(X, seed), expected)
    np.testing.assert_array_equal(_native.content_hash(X.astype(np.float64), seed), expected)


def test_numbers_that_single_precision_does_not_have_hash_as_they_are():
    X = np.array([[0.1, 1e-300], [np.pi, 1e300]])
    np.testing.assert_array_equal(_native.content_hash(X, 3), reference.content_hash(X, 3))
    assert not (_native.content_hash(X[:, :1].astype(np.float32), 3) == _native.content_hash(X[:, :1].copy(), 3)).any()


# ---------------------------------------------------------------------------------- nearest centers


@every_level
@given(data=rows(), n_centers=st.integers(1, 40))
@settings(deadline=None, max_examples=40)
def test_the_nearest_center_is_that_of_the_reference(level, data, n_centers):
    _native.set_simd_level(level)
    X, _ = data
    centers = np.ascontiguousarray(X[::-1][:n_centers])
    same_bits(_native.nearest_centers(X, centers), reference.nearest_center(X, centers))


@every_level
@pytest.mark.parametrize(("n", "d"), [(1, 1), (63, 500), (64, 3), (65, 54), (1000, 28)])
def test_any_number_of_rows_and_features_will_do(level, n, d):
    _native.set_simd_level(level)
    rng = np.random.default_rng(n)
    X, centers = (rng.normal(size=(m, d)).astype(np.float32) for m in (n, 30))
    same_bits(_native.nearest_centers(X, centers), reference.nearest_center(X, centers))


def test_no_rows_have_no_centers():
    labels, squared = _native.nearest_centers(np.zeros((0, 2), dtype=np.float32), np.zeros((1, 2), dtype=np.float32))
    assert len(labels) == len(squared) == 0


@every_level
def test_of_equally_near_centers_the_first_is_taken(level):
    _native.set_simd_level(level)
    centers = np.array([[1, 0], [-1, 0], [0, 1], [1, 0]], dtype=np.float32)
    labels, squared = _native.nearest_centers(np.array([[0, 0], [-0.1, 0.1], [1, 0]], dtype=np.float32), centers)
    assert labels.tolist() == [0, 1, 0]
    assert squared[0] == 1


@every_level
def test_rows_beyond_single_precision_go_to_the_first_center(level):
    _native.set_simd_level(level)
    X = np.array([[1e30, 0], [np.inf, 0], [3, 0]], dtype=np.float32)
    labels, squared = _native.nearest_centers(X, np.array([[0, 0], [2, 0]], dtype=np.float32))
    assert labels.tolist() == [0, 0, 1]
    assert squared.tolist() == [np.inf, np.inf, 1]


def test_centers_of_another_number_of_features_are_refused():
    with pytest.raises(ValueError, match="same number of features"):
        _native.nearest_centers(np.zeros((2, 2), dtype=np.float32), np.zeros((2, 3), dtype=np.float32))
    with pytest.raises(ValueError, match="same number of features"):
        _native.nearest_centers(np.zeros((2, 2), dtype=np.float32), np.zeros((0, 2), dtype=np.float32))


# ------------------------------------------------------------------------------------ farthest first


@every_level
@given(data=rows(), size=st.integers(1, 60), tiny_share=st.sampled_from([0, 0.125, 0.5, np.inf]))
@settings(deadline=None, max_examples=60)
def test_cells_of_bounded_size_are_those_of_the_reference(level, data, size, tiny_share):
    _native.set_simd_level(level)
    X, counts = data
    tiny = tiny_share * size
    found = _native.farthest_first(X, counts, size, tiny_size=tiny)
    same_bits(found, split_by_reference(X, counts, size, tiny=tiny))


@every_level
@given(data=rows(), radius=st.floats(1e-3, 5))
@settings(deadline=None, max_examples=40)
def test_cells_of_bounded_radius_are_those_of_the_reference(level, data, radius):
    _native.set_simd_level(level)
    X, counts = data
    same_bits(_native.farthest_first(X, counts, 0, radius), split_by_reference(X, counts, 0, radius))


@pytest.mark.parametrize("kind", KINDS)
def test_every_level_finds_the_same_cells_of_many_rows(kind):
    X = np.asarray(KINDS[kind](np.random.default_rng(0), 3000, 28), dtype=np.float32)
    found = []
    for level in LEVELS:
        _native.set_simd_level(level)
        found.append(_native.farthest_first(X, np.ones(len(X)), 100, tiny_size=50))
    for other in found[1:]:
        same_bits(other, found[0])


def test_outliers_cost_a_few_centers_and_not_one_each():
    rng = np.random.default_rng(0)
    far = rng.normal(size=(200, 2))
    outliers = far / np.linalg.norm(far, axis=1)[:, None] * rng.uniform(50, 100, size=(200, 1))
    X = np.concatenate([rng.normal(size=(2000, 2)), outliers]).astype(np.float32)
    centers, labels, _ = _native.farthest_first(X, np.ones(len(X)), 100, tiny_size=12.5)
    # 22 cells hold all rows; three times as many are few.
    assert len(centers) < 66
    assert np.bincount(labels).max() <= 100


def test_a_cancelled_traversal_ends_with_what_it_has():
    token = _native.CancelToken()
    token.cancel()
    X = np.random.default_rng(0).normal(size=(500, 2)).astype(np.float32)
    centers, labels, _ = _native.farthest_first(X, np.ones(500), 10, token=token)
    assert centers.tolist() == [0]
    assert not labels.any()


def test_counts_of_another_length_and_no_rows_are_refused():
    with pytest.raises(ValueError, match="one count per row"):
        _native.farthest_first(np.zeros((2, 2), dtype=np.float32), np.ones(3), 1)
    with pytest.raises(ValueError, match="between 1 and"):
        _native.farthest_first(np.zeros((0, 2), dtype=np.float32), np.ones(0), 1)
