"""What a fit will take: the cells are those of the fit, and nothing else changes."""

import numpy as np
import pytest
from single import svc, svr
from sklearn.exceptions import NotFittedError

from localsvm import Grid, InvalidData, LocalExpectileRegressor, LocalQuantileRegressor, LocalSVC, LocalSVR
from localsvm.data import toy_mixture
from localsvm.fit.partial import spread_by_size

pytestmark = pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning")

SMALL = Grid(n_widths=2, n_lams=2)


@pytest.fixture(scope="module")
def rows():
    return toy_mixture(3000, 2, random_state=0)


@pytest.mark.parametrize("kind", [LocalSVC, LocalSVR, LocalQuantileRegressor, LocalExpectileRegressor])
def test_the_cells_are_those_of_the_fit(rows, kind):
    estimator = kind(cell_size=60, members=1, grid=SMALL, random_state=1)
    forecast = estimator.forecast(*rows)
    cells = estimator.fit(*rows).cells_
    assert (forecast.n_rows, forecast.n_features) == (3000, 2)
    assert forecast.n_cells == len(cells)
    assert forecast.largest_cell == max(cell["size"] for cell in cells)
    assert 0 < forecast.pilot_cells < len(cells)


def test_a_quarter_of_few_cells_is_trained_and_tells_the_size_of_the_model(rows):
    clf = svc(cell_size=300, grid=SMALL, random_state=1)
    forecast = clf.forecast(*rows)
    assert 0 < forecast.pilot_cells <= forecast.n_cells / 4
    sums = [part for cell in clf.fit(*rows).model_.cells for part in cell.functions.sums]
    nbytes = sum(part.support_vectors.nbytes + part.coefficients.nbytes for part in sums)
    assert forecast.model_bytes == pytest.approx(nbytes, rel=0.25)


def test_cells_of_equal_targets_cost_nothing(rows):
    X, y = rows
    apart = np.concatenate([X, X + 100]), np.concatenate([y, np.ones(len(y))])
    forecast = svc(cell_size=300, grid=SMALL, scaling=None, random_state=1).forecast(*apart)
    assert forecast.pilot_cells < forecast.n_cells
    alone = svr(cell_size=300, grid=SMALL).forecast(X, np.zeros(len(X)))
    assert (alone.pilot_cells, alone.model_bytes) == (0, 0)


def test_the_forecast_memory_exceeds_the_model(rows):
    forecast = svc(cell_size=60, grid=SMALL).forecast(*rows)
    assert forecast.seconds > 0
    assert forecast.memory > forecast.model_bytes > 0


def test_a_forecast_does_not_change_the_estimator(rows):
    clf = svc(grid=SMALL)
    clf.forecast(*rows)
    with pytest.raises(NotFittedError):
        clf.predict(rows[0])
    assert not hasattr(clf, "n_features_in_")


def test_bad_input_is_refused_as_in_a_fit(rows):
    X, y = rows
    with pytest.raises(InvalidData, match="only one class"):
        svc().forecast(X, np.ones(len(y)))


@pytest.mark.parametrize("n_cells", [1, 5, 40, 41, 1000])
def test_pilot_cells_are_spread_over_all_sizes(n_cells):
    sizes = np.random.default_rng(0).integers(1, 2000, n_cells)
    chosen = spread_by_size(sizes)
    assert len(np.unique(chosen)) == len(chosen) == min(40, n_cells)
    for share in (0.1, 0.5, 0.9):
        step = 100 / len(chosen) + 100 / n_cells
        below = (sizes[:, None] <= np.quantile(sizes[chosen], share)).mean() * 100
        assert abs(below - 100 * share) <= 2 * step
