"""The solver sums risks and losses over the validation folds as the losses in Python do."""

import numpy as np
import pytest

from localsvm.cell.columns import Columns
from localsvm.cell.folds import FoldedRows
from localsvm.cell.path import BoxPaths, NativeCell, PathPlan, validate
from localsvm.tasks import Problem
from localsvm.tasks.losses import Hinge, Pinball, Tube

N, ENDS = 60, (20, 44, 60)
PART = np.arange(0, N, 3)
rng = np.random.default_rng(5)
X = rng.normal(size=(N, 3)).astype(np.float32)
SIDE = np.where(np.arange(N) % 2 == 0, 1.0, -1.0)
SIGNS, NUMBERS = np.where(rng.uniform(size=N) < 0.4, 1.0, -1.0), rng.normal(size=N)
WEIGHT = rng.uniform(0.2, 3.0, size=N)


@pytest.mark.parametrize(
    ("loss", "y", "side"),
    [(Hinge(), SIGNS, None), (Pinball(0.2), NUMBERS, None), (Tube(), NUMBERS, SIDE)],
    ids=["hinge", "pinball", "tube"],
)
@pytest.mark.parametrize("folds", [range(3), range(1, 2)])
def test_sums_over_the_validation_folds(loss, y, side, folds):
    rows = FoldedRows(X, y, WEIGHT, ENDS)
    problems = [
        Problem(0, loss, y, WEIGHT, side=side),
        Problem(1, loss, y[PART], WEIGHT[PART], PART, side=None if side is None else side[PART]),
    ]
    columns = Columns.of(problems, rows)
    solver = BoxPaths(NativeCell(rows, "gauss", None, 1, None), columns)
    solver.set_width(0.7)
    lams = np.tile([1e-1, 1e-3, 1e-5], (2, 1))
    paths = solver.solve(PathPlan(folds, lams, [3, 2], np.full((2, len(folds)), 40.0), 1e-3))

    expected = validate(columns, paths.values)
    solved = np.isfinite(paths.gap)
    assert solved.sum() == 5 * len(folds)
    for found, wanted in (
        (paths.validation.risk, expected.risk[:, folds]),
        (paths.validation.loss, expected.loss[:, folds]),
    ):
        np.testing.assert_allclose(found[solved], wanted[solved], rtol=1e-6, atol=1e-6)
        assert (found[~solved] == 0).all()
