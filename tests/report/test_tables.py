"""The numbers of a report are in the units that users know, and add up."""

import numpy as np
import pytest

from localsvm import LocalSVC, LocalSVR
from localsvm.evaluation import Evaluator
from localsvm.report.style import plain, short
from localsvm.report.tables import all_cells, tiles

pytestmark = pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning")


@pytest.fixture(scope="module")
def waves():
    X = np.random.default_rng(0).uniform(size=(600, 2))
    return X, 100 * np.sin(6 * X[:, 0]) + np.random.default_rng(1).normal(scale=10, size=600)


def test_cross_validated_and_test_errors_of_a_regression_are_in_the_units_of_the_target(waves):
    X, y = waves
    reg = LocalSVR(grid=3, cell_size=150).fit(X[:400], y[:400])
    evaluator = Evaluator(reg)
    evaluator.add(X[400:], y[400:])
    evaluation = evaluator.result()
    shown = {tile.label: float(tile.value) for tile in tiles(reg, evaluation) if "RMSE" in tile.label}
    assert shown["Cross-validated RMSE"] == pytest.approx(shown["RMSE, test rows"], rel=0.4)
    table = all_cells(reg, evaluation)
    column = table.columns.index("CV RMSE")
    assert [row[column].number for row in table.rows] == pytest.approx([c["cv_risk"] ** 0.5 for c in reg.cells_])


def test_more_support_vectors_than_rows_are_not_a_percentage_of_them(waves):
    X, y = waves
    reg = LocalSVR(grid=3, cell_size=150, members=3).fit(X, y)
    (tile,) = [tile for tile in tiles(reg, None) if tile.label == "Support vectors"]
    count = int(tile.value.replace(",", ""))
    assert count > 600 and tile.hint == f"{count / 600:.1f} per row"


def test_kernel_and_scaling_are_shown(waves):
    X, y = waves
    clf = LocalSVC(grid=3, scaling="standard", members=1, kernel="laplace").fit(X, y > 0)
    (tile,) = [tile for tile in tiles(clf, None) if tile.label == "Kernel, scaling"]
    assert (tile.value, tile.hint) == ("laplace", "standard")


def test_names_that_differ_at_their_ends_stay_different():
    names = [f"the same long beginning of a name, then {end}" for end in ("this", "that")]
    assert len({short(name) for name in names}) == 2


@pytest.mark.parametrize("value", [1.6e-6, 0.004, 0.5, 163.0, 98_000.0, 3.2e7])
def test_ticks_are_short(value):
    assert len(plain(value)) <= 6 and "e+" not in plain(value) and float(plain(value)) == pytest.approx(value, rel=0.05)
