"""Regression by local kernel methods: means, quantiles, expectiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin

from localsvm.data.types import FloatArray
from localsvm.estimators.base import LocalEstimator
from localsvm.estimators.docs import with_common_docs
from localsvm.estimators.parameters import check_choice, check_levels, check_positive
from localsvm.estimators.rows import RowsLike
from localsvm.estimators.targets import check_magnitude, check_targets, check_weights
from localsvm.fit.ensemble import EnsembleResult
from localsvm.fit.settings import LearningTask
from localsvm.storage.model_file import StoredModel
from localsvm.storage.schema import Fields
from localsvm.tasks import Levels, Regression, TubeRegression
from localsvm.tasks.losses import Expectile, Pinball, Squared


@dataclass(kw_only=True, eq=False, repr=False)
class LocalRegressor(RegressorMixin, LocalEstimator):  # type: ignore[misc]
    """What all regressors share: the checks of targets, and predictions as real numbers."""

    refit: str = "blend"

    # Set by fit: the scores that are predictions, in this order; an array without dimensions is one score.
    _shown: NDArray[np.intp] = field(init=False)

    _several_targets: ClassVar[bool] = False

    def _check_loss(self) -> None:
        regression_task(self)

    def _check_targets(self, y: Any, sample_weight: Any, n_samples: int) -> tuple[FloatArray, FloatArray, LearningTask]:
        targets = check_targets(y, n_samples, self._several_targets)
        weight = check_weights(sample_weight, n_samples)
        check_magnitude(float(weight.max()), n_samples)
        return targets, weight, regression_task(self, targets.shape[1] if targets.ndim == 2 else None)

    def _set_fitted(self, fitted: EnsembleResult, task: LearningTask, *others: Any) -> None:
        super()._set_fitted(fitted, task, *others)
        self._shown = task.shown

    def _fitted_values(self) -> dict[str, Any]:
        shown = self._shown.astype(np.int64)
        return {**super()._fitted_values(), "shown": int(shown) if shown.ndim == 0 else shown}

    def _restore(self, stored: StoredModel, fitted: Fields) -> None:
        super()._restore(stored, fitted)
        reduction, value = stored.model.reduction, fitted.value("shown")
        shown = np.asarray(value if isinstance(value, int | np.ndarray) else None)
        known = shown.dtype.kind == "i" and shown.ndim <= 1 and ((shown >= 0) & (shown < reduction.n_scores)).all()
        if reduction.is_classification or not known:
            raise fitted.refuse("its predictions are not among the scores of its model")
        self._shown = shown.astype(np.intp, copy=False)

    def __sklearn_tags__(self) -> Any:
        """Return the tags of a regressor."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._several_targets
        tags.target_tags.single_output = True
        return tags

    def predict(self, X: RowsLike) -> FloatArray:
        """Return the predictions.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_targets) or (n_samples, n_levels)
            Predicted values, within the range of the targets in the sample's cell. For a list of levels a
            column for each, in the order as given; higher levels never have lower values.

        Examples
        --------
        >>> from localsvm import LocalSVR
        >>> model = LocalSVR().fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0])
        >>> model.predict([[0.5], [2.5]]).shape
        (2,)
        """
        return self._shown_of(self._scores(X))

    def _predicted_of(self, scores: FloatArray) -> NDArray[Any]:
        return self._shown_of(scores)

    def _shown_of(self, scores: FloatArray) -> FloatArray:
        return scores[:, self._shown]


@with_common_docs
@dataclass(kw_only=True, eq=False, repr=False)
class LocalSVR(LocalRegressor):
    """Regression that tunes itself: the conditional mean, by least squares in cells.

    The input space is partitioned into cells of bounded size. In every cell width and regularization are
    chosen by cross-validation on a grid, and the solutions of the folds are combined into one
    function (Alg. 1 of the paper). A new sample is predicted from its own cell only; predictions
    stay within the range of the targets there.

    Parameters
    ----------
    %(common_parameters)s
    loss : {"squared", "epsilon_insensitive"}, default="squared"
        Least squares, or max(0, abs(y - f) - epsilon), which is robust against outliers; samples within
        epsilon are not support vectors. It takes several times as long.
    epsilon : float, default=0.1
        Half the width of the tube in units of y, for ``loss="epsilon_insensitive"``.

    Attributes
    ----------
    %(common_attributes)s

    %(common_notes)s

    Examples
    --------
    >>> import numpy as np
    >>> from localsvm import LocalSVR
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(500, 2))
    >>> y = np.sin(6 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=500)
    >>> model = LocalSVR().fit(X[:400], y[:400])
    >>> bool(model.score(X[400:], y[400:]) > 0.95)
    True
    """

    loss: str = "squared"
    epsilon: float = 0.1

    _several_targets = True


@dataclass(kw_only=True, eq=False, repr=False)
class LevelRegressor(LocalRegressor):
    """What regressors of one or several levels share."""

    level_name: ClassVar[str]
    _loss: ClassVar[type[Pinball] | type[Expectile]]

    def score(self, X: RowsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return D^2: one minus the loss of the predictions relative to that of the best constants; 1 is perfect.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Their targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples.

        Returns
        -------
        float
            The mean over the levels.

        Examples
        --------
        >>> from localsvm import LocalQuantileRegressor
        >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0]
        >>> LocalQuantileRegressor().fit(X, y).score(X, y) <= 1
        True
        """
        f = self._scores(X)
        target = check_targets(y, len(f), several=False)
        weight = check_weights(sample_weight, len(f))
        reduction = self.model_.reduction
        assert isinstance(reduction, Levels)
        explained = []
        for loss, column in zip(reduction.losses, f.T, strict=True):
            constant = np.full(len(f), loss.best_constant(target, weight))
            worst = float(loss.value(target, constant) @ weight)
            rest = float(loss.value(target, column) @ weight)
            explained.append(1 - rest / worst if worst > 0 else float(rest == 0))
        return float(np.mean(explained))


@with_common_docs
@dataclass(kw_only=True, eq=False, repr=False)
class LocalQuantileRegressor(LevelRegressor):
    """Quantile regression that tunes itself: conditional quantiles, by the pinball loss in cells.

    Parameters
    ----------
    %(common_parameters)s
    quantile : float or list of float, default=0.5
        Levels between 0 and 1; several are predicted together and never cross.

    Attributes
    ----------
    %(common_attributes)s

    %(common_notes)s

    Examples
    --------
    >>> import numpy as np
    >>> from localsvm import LocalQuantileRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(500, 1))
    >>> y = X[:, 0] * rng.normal(size=500)
    >>> low, high = LocalQuantileRegressor(quantile=[0.1, 0.9]).fit(X, y).predict([[0.1], [0.9]]).T
    >>> bool(high[0] - low[0] < high[1] - low[1])
    True
    """

    quantile: float | Sequence[float] = 0.5

    level_name = "quantile"
    _loss = Pinball


@with_common_docs
@dataclass(kw_only=True, eq=False, repr=False)
class LocalExpectileRegressor(LevelRegressor):
    """Expectile regression that tunes itself: conditional expectiles, by asymmetric squares in cells.

    The tau-expectile weights squared residuals above it by tau and below it by 1 - tau; the
    0.5-expectile is the mean. Unlike quantiles, expectiles depend on the size of the residuals.

    Parameters
    ----------
    %(common_parameters)s
    expectile : float or list of float, default=0.5
        Levels between 0 and 1; several are predicted together and never cross.

    Attributes
    ----------
    %(common_attributes)s

    %(common_notes)s

    Examples
    --------
    >>> import numpy as np
    >>> from localsvm import LocalExpectileRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(300, 1))
    >>> y = X[:, 0] + rng.exponential(size=300)
    >>> low, high = LocalExpectileRegressor(expectile=[0.2, 0.8]).fit(X, y).predict([[0.5]])[0]
    >>> bool(low < high)
    True
    """

    expectile: float | Sequence[float] = 0.5

    level_name = "expectile"
    _loss = Expectile


def regression_task(estimator: LocalRegressor, n_columns: int | None = None) -> LearningTask:
    """Check the parameters of the loss; return what is learned from one target, or from `n_columns` of them."""
    if isinstance(estimator, LevelRegressor):
        levels = check_levels(estimator.level_name, getattr(estimator, estimator.level_name))
        losses = tuple(estimator._loss(level) for level in np.sort(levels, axis=None).tolist())
        # Scores are in the order of the sorted levels.
        ranks = np.array(0) if levels.ndim == 0 else np.argsort(np.argsort(levels, kind="stable"))
        return LearningTask(Levels(losses), shown=ranks)
    assert isinstance(estimator, LocalSVR)
    check_choice("loss", estimator.loss, ("squared", "epsilon_insensitive"))
    epsilon, n_targets = check_positive("epsilon", estimator.epsilon), n_columns or 1
    shown = np.array(0) if n_columns is None else np.arange(n_columns)
    if estimator.loss == "squared":
        return LearningTask(Regression((Squared(),), n_targets), shown=shown)
    return LearningTask(TubeRegression(n_targets=n_targets, epsilon=epsilon), shown=shown)
