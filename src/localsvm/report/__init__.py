"""Plots of a fitted model, following scikit-learn's display API, and an HTML report with all of them.

Plotting needs matplotlib and the report jinja2 (``pip install 'localsvm[report]'``); importing this package does not.

>>> from localsvm import LocalSVC
>>> from localsvm.data import toy_mixture
>>> from localsvm.report import CellsDisplay
>>> clf = LocalSVC(cell_size=200).fit(*toy_mixture(600, 2, random_state=0))
>>> CellsDisplay.from_estimator(clf).ax_.shape
(2, 3)
"""

from localsvm.report.cells import CellsDisplay, ValidationSurfaceDisplay
from localsvm.report.evaluation import PredictionDisplay, ReliabilityDisplay
from localsvm.report.page import write_report
from localsvm.report.partition import PartitionDisplay
from localsvm.report.relevance import RelevanceDisplay

__all__ = [
    "CellsDisplay",
    "PartitionDisplay",
    "PredictionDisplay",
    "RelevanceDisplay",
    "ReliabilityDisplay",
    "ValidationSurfaceDisplay",
    "write_report",
]
