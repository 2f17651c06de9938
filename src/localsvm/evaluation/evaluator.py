"""Evaluation of a fitted estimator, block after block: memory does not depend on the number of rows.

Enters: a fitted estimator, then rows with what is true of them. Leaves: an `Evaluation`.
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
    """Measures a fitted estimator on rows that it has not seen.

    Classes: the error, balanced accuracy, log-loss and calibration error; of two classes also the rates at which the
    second, positive one (``tpr``) and the first one (``tnr``) are found, their product, F1 and precision. Means: RMSE,
    MAE, R2. Quantiles: the pinball loss and the share of targets at most the prediction, which should be the level.
    Expectiles: their loss. All come with 95 % intervals where these make sense, and with the cells that err most.

    Parameters
    ----------
    estimator : LocalSVC, LocalSVR, LocalQuantileRegressor or LocalExpectileRegressor
        Fitted.

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
        together = model.averages
        self._cells = None if together else CellSums(len(model.cells), self._tally.n_classes)

    def add(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> None:
        """Add a block of rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,), or (n_samples, n_targets)
            What is true of them. A label that the model does not know is an error.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples; 0 is as if absent.
        """
        weight = read_weights(sample_weight, X.shape[0] if hasattr(X, "shape") else len(X))
        if not weight.any():
            return
        loss, label = self._tally.add(X, y, weight)
        self._n_rows += int(np.count_nonzero(weight))
        if self._cells is not None:
            self._cells.add(self._estimator.apply(X), loss, weight, label)

    def result(self) -> Evaluation:
        """Return what came out so far.

        Returns
        -------
        Evaluation
            Plain numbers and text; ``dataclasses.asdict`` of it is ready for JSON.
        """
        if self._n_rows == 0:
            raise InvalidData("there are no rows to evaluate: add some that have a positive weight.")
        return Evaluation(
            task=self._tally.task,
            n_rows=self._n_rows,
            measures=self._tally.measures(),
            worst_cells=() if self._cells is None else self._cells.worst(self._estimator),
            cells=None if self._cells is None else self._cells.totals(),
            **self._tally.details(),
        )
