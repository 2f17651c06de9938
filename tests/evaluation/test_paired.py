"""Losses on held-out rows: coverage of intervals, and the power of paired differences."""

import numpy as np
import pytest

from localsvm.evaluation.paired import Losses


def losses(values, *, number=None, cell=None, untried=0.0):
    n = len(values)
    number = np.arange(n) if number is None else number
    cell = np.zeros(n, dtype=np.intp) if cell is None else cell
    return Losses(number, np.asarray(values, dtype=float), np.ones(n), cell, untried)


@pytest.mark.parametrize("is_proportion", [True, False])
def test_the_interval_covers_the_mean_of_all_cells(is_proportion):
    # 200 cells of very different risk; 20 of them are tried, of 30 rows each.
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(200):
        risk = rng.beta(0.5, 1.5, size=200)
        tried = rng.permutation(200)[:20]
        drawn = rng.random((20, 30)) < risk[tried, None]
        found = losses(drawn.ravel(), cell=np.repeat(np.arange(20), 30), untried=0.9).mean(is_proportion=is_proportion)
        covered += found.low <= risk.mean() <= found.high
    assert covered >= 175  # 190 are meant; cells of 20 are few


def test_pairing_detects_a_difference_that_the_means_hide():
    rng = np.random.default_rng(0)
    hard = 10 * rng.random(2000)
    one, other = losses(hard), losses(hard + 0.05 + 0.1 * rng.normal(size=2000))
    value, error = other.excess(one)
    assert value == pytest.approx(0.05, abs=4 * error)
    assert 0 < error < 0.005
    assert one.excess(other) == pytest.approx((-value, error))


def test_rows_are_paired_by_index():
    rng = np.random.default_rng(0)
    hard = 10 * rng.random(500)
    order = rng.permutation(500)
    value, error = losses(hard[order] + 1, number=order).excess(losses(hard))
    assert (value, error) == pytest.approx((1.0, 0.0), abs=1e-6)


def test_different_rows_are_compared_by_their_means():
    rng = np.random.default_rng(0)
    one, other = losses(rng.random(400)), losses(rng.random(400) + 0.5, number=np.arange(1000, 1400))
    value, error = other.excess(one)
    assert value == pytest.approx(other.loss.mean() - one.loss.mean())
    assert error == pytest.approx(np.hypot(one.loss.std(), other.loss.std()) / 20, rel=1e-6)


def test_variance_between_cells_widens_the_interval_if_some_are_untrained():
    cell = np.repeat(np.arange(10), 100)
    value = np.repeat(np.arange(10) % 2, 100)
    all_tried, some = (losses(value, cell=cell, untried=untried) for untried in (0.0, 0.9))
    widths = [found.high - found.low for found in (all_tried.mean(is_proportion=True), some.mean(is_proportion=True))]
    assert widths[1] > 3 * widths[0]
