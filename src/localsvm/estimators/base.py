"""What all estimators share: the common parameters, their validation, and the fitted attributes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from localsvm.cell.grid import Grid
from localsvm.cell.settings import CellSettings
from localsvm.cell.trained import TrainedCell
from localsvm.data.columns import Columns, Table, learn_columns
from localsvm.data.frames import has_categories, is_frame, read_frame
from localsvm.data.scaling import METHODS
from localsvm.data.source import RowSource
from localsvm.data.sparse import SparseRows
from localsvm.errors import InvalidData
from localsvm.estimators.progress import ProgressBar
from localsvm.estimators.validation import (
    check_choice,
    check_finite,
    check_integer,
    check_memory,
    check_positive,
    check_threads,
    check_verbosity,
    explain_refusal,
    seed_of,
)
from localsvm.estimators.warn import warn_of_edges, warn_of_precision
from localsvm.fit import FitResult, FitSettings, available_threads, fit_model
from localsvm.model.local_model import LocalModel
from localsvm.model.predict import assign_rows, predict_scores
from localsvm.partition.build import PartitionPlan
from localsvm.reduction import Reduction
from localsvm.training import OnProgress, Progress

CellRecord = dict[str, Any]


class LocalEstimator(BaseEstimator):  # type: ignore[misc]
    """Parameters and behaviour common to all local SVMs."""

    model_: LocalModel
    columns_: Columns | None
    timings_: dict[str, float]
    cells_: list[CellRecord]
    n_cells_: int
    n_features_in_: int

    def __init__(
        self,
        *,
        cell_size: int = 2000,
        partition: Any = "voronoi",
        cell_radius: float | None = None,
        n_folds: int = 5,
        grid: int | Grid = 10,
        kernel: str = "auto",
        relevance: None = None,
        search: str = "full",
        scaling: str | None = "auto",
        missing: str = "error",
        refit: str = "combine",
        max_memory: str | int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        checkpoint: None = None,
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
            partition=PartitionPlan(self.partition, check_integer("cell_size", self.cell_size, 1), radius),
            cell=CellSettings(
                reduction=reduction,
                kernel="gauss" if self.kernel == "auto" else self.kernel,
                grid=Grid.of(self.grid),
                n_folds=check_integer("n_folds", self.n_folds, 1),
                refit=self.refit,
                search=self.search,
            ),
            scaling=self.scaling,
            seed=seed_of(self.random_state),
            n_threads=self._n_threads(),
            max_memory=check_memory("max_memory", self.max_memory),
        )

    def _check_choices(self) -> None:
        check_choice("kernel", self.kernel, ("auto", "gauss", "laplace"))
        check_choice("relevance", self.relevance, (None,))
        check_choice("search", self.search, ("full", "racing"))
        check_choice("scaling", self.scaling, ("auto", *METHODS, None))
        check_choice("missing", self.missing, ("error", "impute"))
        check_choice("refit", self.refit, ("combine", "retrain"))
        check_choice("checkpoint", self.checkpoint, (None,))

    def _n_threads(self) -> int:
        return check_threads(self.n_jobs, available_threads())

    def _check_features(self, X: Any, *, reset: bool) -> Table:
        """Return X as a table of the right shape, without infinity, and without NaN unless it is imputed."""
        known = None if reset else self.columns_
        if (known and known.categories) or ((reset or known) and is_frame(X) and has_categories(X)):
            table = self._read_frame(X, known)
        else:
            table = Table(self._read_numbers(X, reset=reset))
        imputes = self.missing == "impute" if reset else known is not None and known.fills is not None
        check_finite(table.X, getattr(self, "feature_names_in_", None), impute=imputes)
        return table

    def _read_frame(self, X: Any, known: Columns | None) -> Table:
        if not is_frame(X):
            raise InvalidData("the training data was a data frame with categories: give a data frame with its columns.")
        validate_data(self, X, reset=known is None, skip_check_array=True)
        names = getattr(self, "feature_names_in_", None)
        table = read_frame(X, range(X.shape[1]) if names is None else names, known)
        check_array(table.X, ensure_all_finite=False)
        return table

    def _read_numbers(self, X: Any, *, reset: bool) -> NDArray[np.floating] | SparseRows:
        floats = (np.float64, np.float32)
        try:
            checked = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=floats, ensure_all_finite=False)
        except (TypeError, ValueError) as error:
            explained = explain_refusal(error, X)
            if explained is error:
                raise
            raise explained from None
        return SparseRows.of(checked) if issparse(checked) else np.asarray(checked)

    def _fit_model(
        self,
        features: Table,
        target: NDArray[np.float64],
        weight: NDArray[np.float64],
        settings: FitSettings,
        callback: OnProgress | None,
    ) -> FitResult:
        columns = learn_columns(features, weight, impute=self.missing == "impute")
        if columns is not None:
            settings = replace(settings, n_scaled=columns.n_numbers)
        listeners: list[OnProgress] = [ProgressBar()] if self.verbose else []
        listeners += [callback] if callback is not None else []

        def tell(progress: Progress) -> None:
            for listener in listeners:
                listener(progress)

        result = fit_model(_encoded(features, columns), target, weight, settings, tell if listeners else None)
        self.model_, self.columns_ = result.model, columns
        self.timings_ = result.seconds
        self.cells_ = [_record(cell) for cell in result.model.cells]
        self.n_cells_ = len(self.cells_)
        return result

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
        return assign_rows(self.model_, self._rows(X), self._n_threads())

    def _scores(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        return predict_scores(self.model_, self._rows(X), self._n_threads())

    def _rows(self, X: Any) -> RowSource:
        """Return rows to predict as the model knows them."""
        features = self._check_features(X, reset=False)
        return _encoded(features, self.columns_)


def _encoded(features: Table, columns: Columns | None) -> RowSource:
    return features.X if columns is None else columns.encode(features)


def _record(cell: TrainedCell) -> CellRecord:
    return {
        "size": cell.n_samples,
        "radius": cell.radius,
        "width": _one_or_all(cell.width),
        "lam": _one_or_all(cell.lam),
        "cv_risk": cell.risk,
        "support_vectors": cell.n_support,
    }


def _one_or_all(values: NDArray[np.float64]) -> float | list[float]:
    """Return what all problems of a cell share, or a list with each one's."""
    if len(values) == 0:
        return math.nan
    return float(values[0]) if (values == values[0]).all() else [float(value) for value in values]
