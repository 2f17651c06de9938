"""Evaluation of a fitted estimator block by block, in memory independent of the number of rows.

Enters: a fitted estimator, then rows with labels or targets. Leaves: an `Evaluation`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from localsvm.errors import InvalidData
from localsvm.estimators.base import LocalEstimator
from localsvm.estimators.targets import read_weights
from localsvm.evaluation.cells import CellSums
from localsvm.evaluation.classes import ClassTally
from localsvm.evaluation.numbers import LevelTally, MeanTally
from localsvm.evaluation.result import Evaluation
from localsvm.tasks import Levels


class Evaluator:
    """Evaluate a fitted estimator on test rows, block by block.

    Classifiers: error, accuracy, balanced accuracy, ROC AUC, average precision (of several classes the mean over each
    against the rest), log-loss and calibration error; for several classes also the recall and the precision of each;
    for two classes the true positive and
    true negative rates (``tpr``, ``tnr``; the second class is positive), their product, F1 and precision. `LocalSVR`:
    RMSE, MAE, R2. Quantiles: the pinball loss, and the fraction of targets at or below the prediction, which should be
    the level. Expectiles: the expectile loss. Measures have 95 % confidence intervals where these are defined; the
    cells with the highest loss are listed.

    Parameters
    ----------
    estimator : LocalSVC, LocalSVR, LocalQuantileRegressor or LocalExpectileRegressor
        Fitted estimator.

    Examples
    --------
    >>> from localsvm import LocalSVC
    >>> from localsvm.data import toy_mixture
    >>> from localsvm.evaluation import Evaluator
    >>> X, y = toy_mixture(1000, 2, random_state=0)
    >>> evaluator = Evaluator(LocalSVC().fit(X[:400], y[:400]))
    >>> evaluator.add(X[400:700], y[400:700])
    >>> evaluator.add(X[700:], y[700:])
    >>> result = evaluator.result()
    >>> result.n_rows, result.headline.low < result.headline.value < result.headline.high
    (600, True)
    """

    def __init__(self, estimator: LocalEstimator) -> None:
        check_is_fitted(estimator)
        model = estimator.model_
        self._estimator = estimator
        self._n_rows = 0
        self._tally: ClassTally | MeanTally | LevelTally
        if model.reduction.is_classification:
            self._tally = ClassTally(estimator)
        elif isinstance(model.reduction, Levels):
            self._tally = LevelTally(estimator)
        else:
            self._tally = MeanTally(estimator)
        self._cells = None if model.averages else CellSums(len(model.cells), self._tally.n_classes)

    def add(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> None:
        """Add a block of rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,), or (n_samples, n_targets)
            True labels or targets. A label that the model does not know counts as an error.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples; those with weight 0 are ignored.
        """
        weight = read_weights(sample_weight, X.shape[0] if hasattr(X, "shape") else len(X))
        if not weight.any():
            return
        loss, label = self._tally.add(X, y, weight)
        self._n_rows += int(np.count_nonzero(weight))
        if self._cells is not None:
            self._cells.add(self._estimator.apply(X), loss, weight, label)

    def result(self) -> Evaluation:
        """Return the evaluation of all rows added so far.

        Returns
        -------
        Evaluation
            Numbers and text only; ``dataclasses.asdict`` gives data for JSON.
        """
        if self._n_rows == 0:
            raise InvalidData("there are no rows to evaluate. Add rows with positive weights.")
        return Evaluation(
            task=self._tally.task,
            n_rows=self._n_rows,
            measures=self._tally.measures(),
            worst_cells=() if self._cells is None else self._cells.worst(self._estimator),
            cells=None if self._cells is None else self._cells.totals(),
            **self._tally.details(),
        )
