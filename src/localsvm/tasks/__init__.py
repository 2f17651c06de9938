"""Learning tasks as scalar problems: binary, pairs of classes, one class against the rest, targets, levels.

Enters: the targets of a cell. Leaves: `Problem`s for the cell trainer, the constants where there is nothing to train,
and the scores that combine the outputs of all problems (Sec. 2).
"""

from localsvm.tasks.classes import Binary, OneVsOne, OneVsRest
from localsvm.tasks.numbers import Levels, Regression, TubeRegression
from localsvm.tasks.probabilities import Probabilities
from localsvm.tasks.problem import Problem, Reduction, unbounded
from localsvm.tasks.projection import project_targets

__all__ = [
    "Binary",
    "Levels",
    "OneVsOne",
    "OneVsRest",
    "Probabilities",
    "Problem",
    "Reduction",
    "Regression",
    "TubeRegression",
    "project_targets",
    "unbounded",
]
