"""What all estimators share: the common parameters, their validation, and the fitted attributes."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from localsvm.cell.grid import KERNELS, Grid
from localsvm.cell.settings import CellSettings
from localsvm.data.columns import Encoding, Table, learn_encoding
from localsvm.data.disk import RowFile
from localsvm.data.labels import Labels
from localsvm.data.rows import ScaledRows
from localsvm.data.scaling import METHODS
from localsvm.data.source import RowSource
from localsvm.errors import InvalidParameter
from localsvm.estimators.features import check_features
from localsvm.estimators.parameters import (
    check_cell_size,
    check_checkpoint,
    check_choice,
    check_integer,
    check_memory,
    check_positive,
    check_relevance,
    check_threads,
    check_verbosity,
    seed_of,
)
from localsvm.estimators.progress import ProgressBar
from localsvm.estimators.state import ENCODING, parameter_values, storable
from localsvm.estimators.warn import warn_of_edges, warn_of_precision
from localsvm.fit.fit import FitResult, fit_model
from localsvm.fit.forecast import Forecast, forecast_fit
from localsvm.fit.prepare import FitSettings, available_threads
from localsvm.fit.training import OnProgress, Progress
from localsvm.model.gradient import predict_gradients
from localsvm.model.local_model import LocalModel
from localsvm.model.predict import assign_rows, predict_scores
from localsvm.model.table import CellTable
from localsvm.partition.build import PartitionPlan
from localsvm.storage.model_file import StoredModel, write_model
from localsvm.storage.schema import NOT_NEGATIVE, Fields, added, array, integer, maybe, names
from localsvm.tasks import Reduction

CellRecord = dict[str, Any]
RowsLike = ArrayLike | Table | ScaledRows
"""What users give: arrays, sparse matrices, data frames; or what was read from a file."""
TargetsLike = ArrayLike | Labels


@dataclass(frozen=True)
class Checked:
    """What a fit was given, checked: rows as the model takes them, targets, weights and settings."""

    rows: RowSource
    columns: Encoding | None
    target: NDArray[np.float64]
    weight: NDArray[np.float64]
    settings: FitSettings
    classes: NDArray[Any] | None = None


class LocalEstimator(BaseEstimator):  # type: ignore[misc]
    """Parameters and behaviour common to all local SVMs."""

    model_: LocalModel
    columns_: Encoding | None
    feature_relevance_: NDArray[np.float64]
    timings_: dict[str, float]
    cells_: list[CellRecord]
    n_cells_: int
    n_features_in_: int
    _seed: int

    _refits: ClassVar[tuple[str, ...]] = ("combine", "retrain")

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
        refit: str = "combine",
        max_memory: str | int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        checkpoint: Any = None,
    ) -> None:
        self.cell_size = cell_size
        self.partition = partition
        self.cell_radius = cell_radius
        self.n_folds = n_folds
        self.grid = grid
        self.kernel = kernel
        self.relevance = relevance
        self.search = search
        self.scaling = scaling
        self.missing = missing
        self.refit = refit
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.checkpoint = checkpoint

    def _settings(self, reduction: Reduction) -> FitSettings:
        """Check all parameters and return them as settings."""
        self._check_choices()
        check_verbosity(self.verbose)
        radius = None if self.cell_radius is None else check_positive("cell_radius", self.cell_radius)
        return FitSettings(
            partition=PartitionPlan(self.partition, check_cell_size(self.cell_size), radius),
            cell=CellSettings(
                reduction=reduction,
                kernel=KERNELS[0] if self.kernel == "auto" else self.kernel,
                grid=Grid.of(self.grid),
                n_folds=check_integer("n_folds", self.n_folds, 1),
                refit=self.refit,
                search=self.search,
            ),
            scaling=self.scaling,
            kernels=KERNELS if self.kernel == "auto" else (),
            seed=seed_of(self.random_state),
            n_threads=self._n_threads(),
            max_memory=check_memory("max_memory", self.max_memory),
            checkpoint=check_checkpoint(self.checkpoint),
        )

    def _check_choices(self) -> None:
        check_choice("kernel", self.kernel, ("auto", *KERNELS))
        check_choice("search", self.search, ("full", "racing"))
        check_choice("scaling", self.scaling, ("auto", *METHODS, None))
        check_choice("missing", self.missing, ("error", "impute"))
        check_choice("refit", self.refit, self._refits)

    def _n_threads(self) -> int:
        return check_threads(self.n_jobs, available_threads())

    @abstractmethod
    def _check(self, X: Any, y: Any, sample_weight: Any) -> Checked:
        """Check all that a fit is given."""

    def _encode(
        self, features: Table, target: NDArray[np.float64], weight: NDArray[np.float64], settings: FitSettings
    ) -> Checked:
        """Learn the columns of the model, and return the rows with them."""
        given = check_relevance(self.relevance, self.n_features_in_)
        columns = learn_encoding(features, weight, impute=self.missing == "impute")
        if isinstance(given, np.ndarray):
            weights = given if columns is None else given[columns.origins]
            settings = replace(settings, relevance=tuple(weights.tolist()))
        else:
            settings = replace(settings, relevance=given)
        if columns is not None:
            settings = replace(settings, n_scaled=columns.n_numbers)
        if isinstance(features.X, RowFile):
            settings = replace(settings, workspace=features.X.directory)
        return Checked(_encoded(features, columns), columns, target, weight, settings)

    def forecast(
        self, X: RowsLike, y: TargetsLike, sample_weight: ArrayLike | None = None, *, callback: OnProgress | None = None
    ) -> Forecast:
        """Forecast what `fit` will take: rows are scaled and cut into cells, and a few cells are trained.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples.
        callback : callable, optional
            Called with the `Progress` of the cells that are trained.

        Returns
        -------
        Forecast
            Seconds, bytes of memory at the peak, cells.

        Examples
        --------
        >>> from localsvm import LocalSVC
        >>> from localsvm.data import toy_mixture
        >>> X, y = toy_mixture(600, 2, random_state=0)
        >>> LocalSVC(cell_size=100).forecast(X, y).n_rows
        600
        """
        checked = clone(self)._check(X, y, sample_weight)
        return forecast_fit(checked.rows, checked.target, checked.weight, checked.settings, callback)

    def _fit_model(self, checked: Checked, callback: OnProgress | None) -> None:
        listeners: list[OnProgress] = [ProgressBar()] if self.verbose else []
        listeners += [callback] if callback is not None else []

        def tell(progress: Progress) -> None:
            for listener in listeners:
                listener(progress)

        tells = tell if listeners else None
        self._keep(fit_model(checked.rows, checked.target, checked.weight, checked.settings, tells), checked)

    def _keep(self, result: FitResult, checked: Checked) -> None:
        """Become fitted."""
        self.model_, self.columns_ = result.model, checked.columns
        self.feature_relevance_ = self._of_features(result.relevance)
        self.timings_ = result.seconds
        self.cells_ = CellTable.of(result.model.cells).records()
        self.n_cells_ = len(self.cells_)
        self._seed = checked.settings.seed

    def _of_features(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weights of given features, with mean one, from those of the model's columns.

        A feature with several columns has the largest of their weights; one that was left out has none.
        """
        if self.columns_ is None:
            return weights
        by_feature = np.zeros(self.n_features_in_)
        np.maximum.at(by_feature, self.columns_.origins, weights)
        return np.asarray(by_feature / by_feature.mean())

    def save(self, path: str | os.PathLike[str], *, info: Mapping[str, Any] | None = None) -> None:
        """Write the fitted estimator to a file, for `localsvm.load`.

        The file takes the place of one that is there when all of it is on the disk; until then, and if anything
        fails, the old one is as it was.

        Parameters
        ----------
        path : path-like
            The file; its name usually ends with ".lsvm".
        info : mapping, optional
            What else to keep with the model: numbers, text, lists, dicts, arrays.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> import localsvm
        >>> reg = localsvm.LocalSVR(grid=3).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     reg.save(pathlib.Path(folder) / "model.lsvm")
        ...     again = localsvm.load(pathlib.Path(folder) / "model.lsvm")
        >>> bool((again.predict([[0.5]]) == reg.predict([[0.5]])).all())
        True
        """
        check_is_fitted(self)
        user = storable("info", dict(info or {}))
        write_model(path, self.model_, {"estimator": self._values(), "user": user}, self.timings_)

    def _values(self) -> dict[str, Any]:
        """Return the fitted estimator without its model, as plain values."""
        kind = type(self)
        if not kind.__module__.startswith("localsvm."):
            raise InvalidParameter(
                f"{kind.__name__} is an estimator of your own: a model file cannot hold it. Pickle it."
            )
        return {
            "name": kind.__name__,
            "parameters": parameter_values(self.get_params(deep=False), self.model_, self._seed),
            "fitted": self._fitted_values(),
        }

    def _fitted_values(self) -> dict[str, Any]:
        """Return what fit has learned beside the model, as plain values."""
        return {
            "n_features_in_": int(self.n_features_in_),
            "feature_names_in_": getattr(self, "feature_names_in_", None),
            "columns_": maybe(ENCODING).write(self.columns_),
            "feature_relevance_": self.feature_relevance_,
            "seed": self._seed,
        }

    def _restore(self, stored: StoredModel, fitted: Fields) -> None:
        """Become what was saved: the inverse of `_fitted_values`."""
        self.model_ = stored.model
        self.n_features_in_ = fitted.read("n_features_in_", integer(least=1))
        labels = fitted.read("feature_names_in_", maybe(names(self.n_features_in_)))
        if labels is not None:
            self.feature_names_in_ = labels
        self.columns_ = fitted.read("columns_", maybe(ENCODING), n_columns=self.n_features_in_)
        width = self.columns_.width if self.columns_ else self.n_features_in_
        if width != self.model_.n_features:
            raise fitted.refuse(f"its {width} columns are not the {self.model_.n_features} of the model")
        # Files from before there were weights have none.
        weights = added(array(np.float64, self.n_features_in_, within=NOT_NEGATIVE), before=None)
        known = fitted.read("feature_relevance_", weights)
        self.feature_relevance_ = np.ones(self.n_features_in_) if known is None else known
        self.timings_ = stored.seconds
        self.cells_ = stored.table.records()
        self.n_cells_ = len(self.cells_)
        self._seed = fitted.read("seed", integer(most=np.inf))

    def _warn(self, settings: FitSettings) -> None:
        # Warnings point at the line that called fit: past warn_of_..., this method and fit.
        warn_of_edges(self.model_.cells, settings.cell, stacklevel=4)
        warn_of_precision(self.model_.cells, settings.cell, stacklevel=4)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what all estimators take."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "impute"
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        """Tell scikit-learn whether a fit went through; n_features_in_ is there after any."""
        return hasattr(self, "model_")

    def apply(self, X: Any) -> NDArray[np.intp]:
        """Return the cell of every sample: its place in `cells_`.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of int of shape (n_samples,)
            The cell that predicts the sample; with ``partition="chunks"`` all cells do, and this is the one that it
            would train.

        Examples
        --------
        >>> from localsvm import LocalSVR
        >>> model = LocalSVR(cell_size=2).fit([[0.0], [0.1], [1.0], [1.1]], [0.0, 0.1, 1.0, 1.1])
        >>> model.apply([[0.0], [1.2]]).tolist()
        [0, 1]
        """
        check_is_fitted(self)
        return assign_rows(self.model_, self._to_predict(X), self._n_threads())

    def gradient(self, X: Any) -> NDArray[np.float64]:
        """Return the partial derivatives of the prediction by the features, at every sample.

        What is differentiated is `decision_function` of a classifier (of several classes: each class's
        value, by pairs that against its strongest rival), `predict` of a regressor, in units of the
        features as given. Each sample's derivatives are those of its own cell; cells that are
        averaged in prediction are averaged here. They are 0 where a value is cut, as a prediction at
        the end of the targets' range is, and for a feature that was constant. At a sample that the
        Laplace kernel was trained on, where the function has a tip, that tip counts as flat, and so do the
        edges of the Manhattan one, where a feature is that of such a sample.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_features) or (n_samples, n_values, n_features)
            Derivatives; a row for each value where `decision_function` or `predict` has several. With
            categories or imputed values a column for each one of the model: numbers, where numbers
            were missing, and one for each category.

        Examples
        --------
        >>> import numpy as np
        >>> from localsvm import LocalSVR
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(size=(500, 2))
        >>> y = 3 * X[:, 0] + 0.1 * rng.normal(size=500)
        >>> np.round(LocalSVR().fit(X, y).gradient([[0.5, 0.5]]), 0) + 0.0
        array([[3., 0.]])
        """
        check_is_fitted(self)
        return self._shown_of(predict_gradients(self.model_, self._rows(X), self._n_threads()))

    @abstractmethod
    def _shown_of(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what users see of scores (n_samples, n_scores, ...)."""

    def _scores(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        return predict_scores(self.model_, self._to_predict(X), self._n_threads())

    def _to_predict(self, X: Any) -> RowSource | ScaledRows:
        return X if isinstance(X, ScaledRows) else self._rows(X)

    def _rows(self, X: Any) -> RowSource:
        """Return rows as the model knows them."""
        features = check_features(self, X, reset=False)
        return _encoded(features, self.columns_)


def _encoded(features: Table, columns: Encoding | None) -> RowSource:
    return features.X if columns is None else columns.encode(features)
