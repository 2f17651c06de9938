"""Regression by local kernel machines: means, quantiles, expectiles."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin

from localsvm.cell.grid import Grid
from localsvm.estimators.base import Checked, LocalEstimator, RowsLike, TargetsLike
from localsvm.estimators.docs import with_common_docs
from localsvm.estimators.features import check_features
from localsvm.estimators.parameters import check_choice, check_levels, check_positive
from localsvm.estimators.targets import check_targets
from localsvm.estimators.weights import check_magnitude, check_weights
from localsvm.fit.fit import FitResult
from localsvm.fit.training import OnProgress
from localsvm.storage.model_file import StoredModel
from localsvm.storage.schema import Fields
from localsvm.tasks import Levels, Reduction, Regression, TubeRegression
from localsvm.tasks.losses import Expectile, Pinball, Squared


class LocalRegressor(RegressorMixin, LocalEstimator):  # type: ignore[misc]
    """What all regressors share: the checks of a fit, and predictions as real numbers."""

    _several_targets = False
    _refits = ("combine", "retrain", "blend")
    _shown: int | slice | NDArray[np.intp]
    """The scores that are predictions: one, all, or all in an order of their own."""

    @abstractmethod
    def _reduction(self, n_targets: int) -> Reduction:
        """Check the parameters of the loss; return the learning task."""

    def _shown_scores(self, targets: NDArray[np.float64]) -> int | slice | NDArray[np.intp]:
        return 0 if targets.ndim == 1 else slice(None)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what this estimator can do."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._several_targets
        tags.target_tags.single_output = True
        return tags

    def fit(
        self,
        X: RowsLike,
        y: TargetsLike,
        sample_weight: ArrayLike | None = None,
        *,
        callback: OnProgress | None = None,
    ) -> Self:
        """Fit the regressor.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Targets, finite numbers; False and True are 0 and 1. `LocalSVR` takes several per sample,
            too: (n_samples, n_targets).
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples: 0 is as if absent, an integer as if repeated.
        callback : callable, optional
            Called about ten times a second with a `Progress`. What it raises stops the fit.

        Returns
        -------
        LocalRegressor
            The fitted estimator.

        Examples
        --------
        >>> from localsvm import LocalSVR
        >>> model = LocalSVR().fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0])
        >>> model.predict([[1.5]]).shape
        (1,)
        """
        checked = self._check(X, y, sample_weight)
        self._fit_model(checked, callback)
        self._warn(checked.settings)
        return self

    def _keep(self, result: FitResult, checked: Checked) -> None:
        super()._keep(result, checked)
        self._shown = self._shown_scores(checked.target)

    def _check(self, X: Any, y: Any, sample_weight: Any) -> Checked:
        settings = self._settings(self._reduction(1))
        features = check_features(self, X, reset=True)
        targets = check_targets(y, len(features), self._several_targets)
        weight = check_weights(sample_weight, len(targets))
        check_magnitude(float(weight.max()), len(weight))
        if targets.ndim == 2:
            settings = replace(settings, cell=replace(settings.cell, reduction=self._reduction(targets.shape[1])))
        return self._encode(features, targets, weight, settings)

    def _fitted_values(self) -> dict[str, Any]:
        shown = np.arange(self.model_.reduction.n_scores, dtype=np.int64)[self._shown]
        return {**super()._fitted_values(), "shown": int(shown) if shown.ndim == 0 else shown}

    def _restore(self, stored: StoredModel, fitted: Fields) -> None:
        super()._restore(stored, fitted)
        reduction, shown = stored.model.reduction, np.asarray(fitted.value("shown"))
        known = shown.dtype.kind == "i" and shown.ndim <= 1 and ((shown >= 0) & (shown < reduction.n_scores)).all()
        if reduction.is_classification or not known:
            raise fitted.refuse("its predictions are not among the scores of its model")
        self._shown = int(shown) if shown.ndim == 0 else shown.astype(np.intp, copy=False)

    def predict(self, X: RowsLike) -> NDArray[np.float64]:
        """Return the predictions.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_targets) or (n_samples, n_levels)
            Predicted values; never outside the range of the targets in the sample's cell. If a list of
            levels was asked for, a column for each, in the order as given; higher levels never have
            lower values.

        Examples
        --------
        >>> from localsvm import LocalSVR
        >>> model = LocalSVR().fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0])
        >>> model.predict([[0.5], [2.5]]).shape
        (2,)
        """
        return self._shown_of(self._scores(X))

    def _shown_of(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(scores[:, self._shown])


@with_common_docs
class LocalSVR(LocalRegressor):
    """Regression that tunes itself: the conditional mean, by least squares in cells.

    The input space is cut into cells of bounded size. In every cell width and regularisation are
    chosen by cross-validation on a grid, and the solutions of the folds are combined into one
    function (Alg. 1 of the paper). A new sample is predicted from its own cell only, and never
    outside the range of the targets there.

    Parameters
    ----------
    %(common_parameters)s
    loss : {"squared", "epsilon_insensitive"}, default="squared"
        Least squares, or max(0, abs(y - f) - epsilon), which is robust against outliers and leaves
        samples within epsilon out of the model, but takes several times as long.
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

    _several_targets = True

    def __init__(
        self,
        *,
        cell_size: int | str = "auto",
        partition: Any = "voronoi",
        cell_radius: float | None = None,
        n_folds: int = 5,
        grid: int | Grid = 10,
        kernel: str = "auto",
        relevance: ArrayLike | str | None = "auto",
        search: str = "full",
        scaling: str | None = "auto",
        missing: str = "error",
        refit: str = "blend",
        max_memory: str | int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        checkpoint: Any = None,
        loss: str = "squared",
        epsilon: float = 0.1,
    ) -> None:
        super().__init__(
            cell_size=cell_size,
            partition=partition,
            cell_radius=cell_radius,
            n_folds=n_folds,
            grid=grid,
            kernel=kernel,
            relevance=relevance,
            search=search,
            scaling=scaling,
            missing=missing,
            refit=refit,
            max_memory=max_memory,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            checkpoint=checkpoint,
        )
        self.loss = loss
        self.epsilon = epsilon

    def _reduction(self, n_targets: int) -> Reduction:
        check_choice("loss", self.loss, ("squared", "epsilon_insensitive"))
        epsilon = check_positive("epsilon", self.epsilon)
        if self.loss == "squared":
            return Regression((Squared(),), n_targets)
        return TubeRegression(n_targets=n_targets, epsilon=epsilon)


class LevelRegressor(LocalRegressor):
    """What regressors of one or several levels share."""

    level_name: str
    _loss: type[Pinball] | type[Expectile]

    def _levels(self) -> NDArray[np.float64]:
        """Return the levels that were asked for, as given."""
        return check_levels(self.level_name, getattr(self, self.level_name))

    def _reduction(self, n_targets: int) -> Reduction:
        return Levels(tuple(self._loss(tau) for tau in np.sort(self._levels(), axis=None).tolist()))

    def _shown_scores(self, targets: NDArray[np.float64]) -> int | slice | NDArray[np.intp]:
        levels = self._levels()
        return 0 if levels.ndim == 0 else np.argsort(np.argsort(levels, kind="stable"))

    def score(self, X: RowsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of the loss that the predictions save, against the best constants (D^2); 1 is perfect.

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
        saved = []
        for loss, column in zip(reduction.losses, f.T, strict=True):
            constant = np.full(len(f), loss.best_constant(target, weight))
            worst = float(loss.value(target, constant) @ weight)
            rest = float(loss.value(target, column) @ weight)
            saved.append(1 - rest / worst if worst > 0 else float(rest == 0))
        return float(np.mean(saved))


@with_common_docs
class LocalQuantileRegressor(LevelRegressor):
    """Quantile regression that tunes itself: conditional quantiles, by the pinball loss in cells.

    Parameters
    ----------
    quantile : float or list of float, default=0.5
        Levels between 0 and 1; several are predicted together and never cross.
    %(common_parameters)s

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

    level_name = "quantile"
    _loss = Pinball

    def __init__(
        self,
        *,
        quantile: float | Sequence[float] = 0.5,
        cell_size: int | str = "auto",
        partition: Any = "voronoi",
        cell_radius: float | None = None,
        n_folds: int = 5,
        grid: int | Grid = 10,
        kernel: str = "auto",
        relevance: ArrayLike | str | None = "auto",
        search: str = "full",
        scaling: str | None = "auto",
        missing: str = "error",
        refit: str = "blend",
        max_memory: str | int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        checkpoint: Any = None,
    ) -> None:
        super().__init__(
            cell_size=cell_size,
            partition=partition,
            cell_radius=cell_radius,
            n_folds=n_folds,
            grid=grid,
            kernel=kernel,
            relevance=relevance,
            search=search,
            scaling=scaling,
            missing=missing,
            refit=refit,
            max_memory=max_memory,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            checkpoint=checkpoint,
        )
        self.quantile = quantile


@with_common_docs
class LocalExpectileRegressor(LevelRegressor):
    """Expectile regression that tunes itself: conditional expectiles, by asymmetric squares in cells.

    The tau-expectile balances the squared distances above and below it, tau to 1 - tau; the
    0.5-expectile is the mean. Unlike quantiles, expectiles depend on how far away samples are.

    Parameters
    ----------
    expectile : float or list of float, default=0.5
        Levels between 0 and 1; several are predicted together and never cross.
    %(common_parameters)s

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

    level_name = "expectile"
    _loss = Expectile

    def __init__(
        self,
        *,
        expectile: float | Sequence[float] = 0.5,
        cell_size: int | str = "auto",
        partition: Any = "voronoi",
        cell_radius: float | None = None,
        n_folds: int = 5,
        grid: int | Grid = 10,
        kernel: str = "auto",
        relevance: ArrayLike | str | None = "auto",
        search: str = "full",
        scaling: str | None = "auto",
        missing: str = "error",
        refit: str = "blend",
        max_memory: str | int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        checkpoint: Any = None,
    ) -> None:
        super().__init__(
            cell_size=cell_size,
            partition=partition,
            cell_radius=cell_radius,
            n_folds=n_folds,
            grid=grid,
            kernel=kernel,
            relevance=relevance,
            search=search,
            scaling=scaling,
            missing=missing,
            refit=refit,
            max_memory=max_memory,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            checkpoint=checkpoint,
        )
        self.expectile = expectile
