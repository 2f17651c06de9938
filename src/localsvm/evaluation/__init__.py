"""Evaluation of a fitted estimator on test rows, block by block, with confidence intervals.

>>> from localsvm import LocalSVC
>>> from localsvm.data import toy_mixture
>>> from localsvm.evaluation import Evaluator
>>> X, y = toy_mixture(600, 2, random_state=0)
>>> evaluator = Evaluator(LocalSVC().fit(X[:300], y[:300]))
>>> evaluator.add(X[300:], y[300:])
>>> evaluator.result().headline.name
'error'
"""

from localsvm.evaluation.evaluator import Evaluator
from localsvm.evaluation.result import (
    CellResult,
    CellTotals,
    Confusion,
    Evaluation,
    Measure,
    Pairs,
    ReliabilityBin,
)

__all__ = [
    "CellResult",
    "CellTotals",
    "Confusion",
    "Evaluation",
    "Evaluator",
    "Measure",
    "Pairs",
    "ReliabilityBin",
]
