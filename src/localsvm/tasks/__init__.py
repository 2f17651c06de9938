"""How a learning task becomes scalar problems: one, a pair of classes, a class against the rest, a target, a level.

Enters: the targets of a cell. Leaves: `Problem`s for the cell trainer, the constants where there is nothing to train,
and the scores by which the outputs of all problems are judged together.
"""

from localsvm.tasks.classes import Binary, OneVsOne, OneVsRest
from localsvm.tasks.numbers import Levels, Regression, TubeRegression
from localsvm.tasks.problem import Problem, Reduction, unbounded

__all__ = [
    "Binary",
    "Levels",
    "OneVsOne",
    "OneVsRest",
    "Problem",
    "Reduction",
    "Regression",
    "TubeRegression",
    "unbounded",
]
