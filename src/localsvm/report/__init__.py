"""A fitted model to look at: plots in the manner of scikit-learn's displays, and one page with all of them.

Needs matplotlib and jinja2, which ``pip install 'localsvm[report]'`` adds; importing this package does not.

>>> from localsvm import LocalSVC
>>> from localsvm.data import toy_mixture
>>> from localsvm.report import CellsDisplay
>>> clf = LocalSVC(cell_size=200).fit(*toy_mixture(600, 2, random_state=0))
>>> CellsDisplay.from_estimator(clf).ax_.shape
(2, 3)
"""

from localsvm.report.cells import CellsDisplay
from localsvm.report.page import write_report
from localsvm.report.partition import PartitionDisplay
from localsvm.report.predictions import PredictionDisplay
from localsvm.report.relevance import RelevanceDisplay
from localsvm.report.reliability import ReliabilityDisplay
from localsvm.report.surface import ValidationSurfaceDisplay

__all__ = [
    "CellsDisplay",
    "PartitionDisplay",
    "PredictionDisplay",
    "RelevanceDisplay",
    "ReliabilityDisplay",
    "ValidationSurfaceDisplay",
    "write_report",
]
