"""Every SIMD level of the machine computes the same, to the bit, and ends with true certificates."""

import os
import subprocess
import sys

import numpy as np
import pytest
import reference
from cells import coefficients, support_vectors
from evaluated import evaluate
from problems import TOLERANCE

import localsvm
from localsvm import _native
from localsvm.cell import CellSettings, CellTask, Grid, train_cell
from localsvm.data import toy_mixture
from localsvm.data.content import canonical_rows

LEVELS = _native.available_simd_levels()
KERNELS = ("gauss", "laplace", "manhattan")

every_level = pytest.mark.parametrize("level", LEVELS)
every_kernel = pytest.mark.parametrize("kernel", KERNELS)


@pytest.fixture(autouse=True)
def restored_level():
    before = _native.simd_level()
    yield
    _native.set_simd_level(before)


@pytest.fixture(scope="module")
def task():
    X, y = toy_mixture(203, 3, random_state=11)
    return CellTask(canonical_rows(X, y.astype(np.float64), np.ones(len(y)), seed=0), radius=2.0)


def at_each_level(work):
    found = []
    for level in LEVELS:
        _native.set_simd_level(level)
        found.append(work())
    return found


def test_the_plain_level_is_always_there_and_the_best_one_is_chosen():
    assert LEVELS[-1] == "baseline"
    assert len(set(LEVELS)) == len(LEVELS)
    forced = os.environ.get("LOCALSVM_SIMD")
    assert localsvm.simd_level() == (forced if forced in LEVELS else LEVELS[0])


@every_level
def test_a_level_that_is_set_is_the_level_in_use(level):
    _native.set_simd_level(level)
    assert localsvm.simd_level() == level


@pytest.mark.parametrize("name", ["avx1024", "", "BASELINE"])
def test_a_level_the_machine_does_not_have_is_refused_and_nothing_changes(name):
    before = _native.simd_level()
    with pytest.raises(ValueError, match=f"no SIMD level '{name}'"):
        _native.set_simd_level(name)
    assert _native.simd_level() == before


@every_level
def test_the_environment_forces_a_level(level):
    output = subprocess.run(
        [sys.executable, "-c", "import localsvm; print(localsvm.simd_level())"],
        env={**os.environ, "LOCALSVM_SIMD": level},
        capture_output=True,
        text=True,
        check=True,
    )
    assert output.stdout.strip() == level


@every_kernel
@pytest.mark.parametrize("width", [0.3, 1.0, 7.0])
def test_kernel_values_are_the_same_at_every_level(kernel, width):
    squared = np.linspace(0, 80 * width, 5001, dtype=np.float32)
    first, *others = at_each_level(lambda: _native.kernel_values(kernel, width, squared))
    for k in others:
        np.testing.assert_array_equal(k, first)


@pytest.mark.parametrize(("n", "n_features"), [(1, 1), (17, 3), (64, 54), (70, 7)])
@every_kernel
def test_distances_are_the_same_at_every_level(n, n_features, kernel):
    X = np.random.default_rng(n).normal(size=(n, n_features)).astype(np.float32)
    first, *others = at_each_level(lambda: _native.Cell(X, [n], kernel).distances())
    for distances in others:
        np.testing.assert_array_equal(distances, first)


@every_kernel
def test_decision_values_are_the_same_at_every_level(kernel):
    rng = np.random.default_rng(0)
    points, support = (rng.normal(size=(n, 6)).astype(np.float32) for n in (33, 75))
    coefficients = rng.normal(size=(3, 75)).astype(np.float32)
    first, *others = at_each_level(lambda: evaluate(points, support, coefficients, kernel, 2.0))
    for f in others:
        np.testing.assert_array_equal(f, first)


@every_level
@every_kernel
def test_every_level_ends_with_true_certificates(level, kernel):
    _native.set_simd_level(level)
    X, y = toy_mixture(150, 2, random_state=3)
    y, n = y.astype(np.float32), len(y)
    cell = _native.Cell(X, [40, 90, n], kernel)
    cell.add_problem(y, np.minimum(y, 0), np.maximum(y, 0), 1.0)
    cell.set_width(1.0)
    lams = np.geomspace(1, 1e-3 / n, 8)
    train = np.arange(n) >= 40
    total = float(train.sum())
    path = cell.solve_path(0, 0, list(lams), total, _native.StopRule(TOLERANCE, 10**7))
    assert (path.status == 0).all()
    K = cell.kernel_matrix().astype(np.float64)
    for q, lam in enumerate(lams):
        exact = reference.hinge_problem(K[np.ix_(train, train)], y[train].astype(np.float64), np.ones(int(total)), lam)
        true_gap = reference.duality_gap(exact, path.beta[q][train].astype(np.float64))
        assert true_gap == pytest.approx(path.gap[q], abs=TOLERANCE / 4)
        np.testing.assert_allclose(path.values[q], K[:40] @ path.beta[q], atol=1e-3)


@every_kernel
@pytest.mark.parametrize("refit", ["combine", "retrain"])
def test_a_trained_cell_is_the_same_at_every_level(task, kernel, refit):
    settings = CellSettings(kernel=kernel, grid=Grid(n_widths=4, n_lams=4), n_folds=3, refit=refit)
    first, *others = at_each_level(lambda: train_cell(task, settings))
    for other in others:
        np.testing.assert_array_equal(other.risks, first.risks)
        np.testing.assert_array_equal(support_vectors(other), support_vectors(first))
        np.testing.assert_array_equal(coefficients(other), coefficients(first))


def test_an_unknown_level_in_the_environment_is_said_and_the_best_one_taken():
    program = "import localsvm; print(localsvm.simd_level())"
    output = subprocess.run(
        [sys.executable, "-W", "always", "-c", program],
        env={**os.environ, "LOCALSVM_SIMD": "sse9"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert output.stdout.strip() == LEVELS[0]
    assert f"LOCALSVM_SIMD='sse9' is not available here; using '{LEVELS[0]}'" in output.stderr
