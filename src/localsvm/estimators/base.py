"""What all estimators share: the common parameters, the checks of training data, and the fitted attributes."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from localsvm.cell.grid import Grid
from localsvm.data.disk import RowFile
from localsvm.data.encoding import Encoding
from localsvm.data.encoding.words import Record, encoding_records, plain_records
from localsvm.data.labels import Labels
from localsvm.data.scaling import METHODS, AffineScaling
from localsvm.data.source import RowSource
from localsvm.data.types import FloatArray
from localsvm.decision.cross_validated import CvMeasures
from localsvm.decision.duplicates import Duplicates
from localsvm.estimators.columns import encode_training_rows
from localsvm.estimators.effort import check_effort, choose_grid, count_members, is_averaged, member_columns
from localsvm.estimators.exported import Exportable
from localsvm.estimators.features import check_features
from localsvm.estimators.monitored import Monitored
from localsvm.estimators.parameters import check_relevance, count_threads, fit_parameters
from localsvm.estimators.predictor import Predictor
from localsvm.estimators.progress import listening
from localsvm.estimators.rows import RowsLike, member_rows, rows_by_content
from localsvm.estimators.state import DUPLICATES, ENCODING, MEMBER, MemberValues, estimator_values, storable
from localsvm.estimators.ties import check_ties
from localsvm.estimators.warn import warn_of_grid, warn_of_single_groups
from localsvm.fit.ensemble import EnsembleResult, MemberPlan, fit_ensemble
from localsvm.fit.fit import FitResult
from localsvm.fit.forecast import Forecast, forecast_fit
from localsvm.fit.prepare import TargetRows
from localsvm.fit.settings import FitSettings, LearningTask, resolve
from localsvm.fit.training import OnProgress
from localsvm.model.ensemble import Ensemble, Member, MemberRows
from localsvm.model.gradient import mean_gradients
from localsvm.model.local_model import LocalModel
from localsvm.model.predict import FEW_ROWS, assign_rows
from localsvm.storage.model_file import StoredModel, write_model
from localsvm.storage.schema import (
    NOT_NEGATIVE,
    Fields,
    added,
    array,
    integer,
    items,
    maybe,
    names,
    real,
    several,
    table,
    text,
)

_ONE_MEMBER = MemberValues(1.0, "plain", True)
CellRecord = dict[str, Any]
TargetsLike = ArrayLike | Labels


@dataclass(frozen=True)
class TrainingData:
    """What a fit was given, checked: rows as the model takes them with targets and weights, and the settings."""

    members: tuple[MemberPlan, ...]
    task: LearningTask
    columns: Encoding | None
    features: RowSource | None
    """Rows by which duplicates are found, if they may count."""

    @property
    def rows(self) -> TargetRows:
        """Rows of the first member."""
        return self.members[0].rows

    @property
    def settings(self) -> FitSettings:
        """Settings of the first member."""
        return self.members[0].settings


def check_training_data(
    estimator: LocalEstimator, X: RowsLike, y: TargetsLike, sample_weight: Any, groups: Any = None, time: Any = None
) -> TrainingData:
    """Check parameters and data of a fit and resolve its settings; the estimator remembers the features."""
    parameters = fit_parameters(estimator)
    check_effort(estimator)
    estimator._check_loss()
    features = check_features(estimator, X, reset=True)
    target, weight, task = estimator._check_targets(y, sample_weight, len(features))
    ties = check_ties(groups, time, weight)
    relevance = check_relevance(estimator.relevance, estimator.n_features_in_)
    workspace = features.X.directory if isinstance(features.X, RowFile) else None
    wanted = member_columns(parameters.scaling, count_members(estimator, task.reduction), features)
    columns, encoded = encode_training_rows(
        features,
        target,
        weight * task.factors(target),
        task.classes,
        wanted,
        impute=estimator.missing == "impute",
        seed=parameters.seed,
        ties=ties,
    )
    grid, members = choose_grid(estimator, task.reduction), []
    for (view, rows), own in zip(encoded, wanted, strict=True):
        settings = resolve(parameters, task, relevance, view, workspace, grid).scaled_by(own.scaling)
        members.append(MemberPlan(TargetRows(rows, target, weight, ties=ties), settings, view))
    # With groups or times, a duplicate is of the same group, or it is later: new rows have none.
    counts_duplicates = is_averaged(task.reduction) and ties is None
    return TrainingData(
        tuple(members), task, columns, rows_by_content(features, columns) if counts_duplicates else None
    )


def _stored_members(stored: StoredModel, fitted: Fields, columns: Encoding | None) -> tuple[Member, ...]:
    """Return the members of a model file; files from before there were ensembles have one."""
    known = fitted.read("members_", added(several(MEMBER), before=(_ONE_MEMBER,)))
    models = (stored.model, *stored.others)
    scalings = fitted.read("scalings", added(items(text("", "none", *METHODS)), before=("",) * len(models)))
    models = tuple(_with_scaling(model, method) for model, method in zip(models, scalings, strict=False))
    if len(known) != len(models):
        raise fitted.refuse(f"it has {len(known)} weights of {len(models)} members")
    views = [None if columns is None else columns.view(values.numbers, values.levels) for values in known]
    return tuple(Member(model, values.weight, view) for model, values, view in zip(models, known, views, strict=True))


def _with_scaling(model: LocalModel, method: str) -> LocalModel:
    """Return a model whose scaling has the name under which it was found."""
    if not isinstance(model.scaling, AffineScaling):
        return model
    return replace(model, scaling=replace(model.scaling, method=method))


def fitted_from(
    estimator: LocalEstimator,
    result: FitResult,
    task: LearningTask,
    seed: int,
    n_features: int,
    names: Sequence[str] | None = None,
) -> LocalEstimator:
    """Return a copy of an estimator, fitted by a training that ran elsewhere."""
    fitted: LocalEstimator = clone(estimator)
    fitted.n_features_in_ = n_features
    if names is not None:
        fitted.feature_names_in_ = np.array(names, dtype=object)
    fitted._set_fitted(EnsembleResult((Member(result.model),), (result,), (0,), result.seconds), task, seed)
    return fitted


@dataclass(kw_only=True, eq=False, repr=False)
class LocalEstimator(Monitored, Exportable):
    """Parameters and behavior common to all local SVMs."""

    effort: str = "default"
    members: int | None = None
    cell_size: int | str = "auto"
    partition: Any = "voronoi"
    cell_radius: float | None = None
    n_folds: int = 5
    grid: int | Grid | None = None
    kernel: str = "auto"
    relevance: ArrayLike | str | None = "auto"
    search: str = "auto"
    scaling: str | None = "auto"
    missing: str = "error"
    categorical_features: Any = None
    refit: str = "combine"
    max_memory: str | int | None = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0
    checkpoint: Any = None

    # Set by fit.
    members_: tuple[Member, ...] = field(init=False)
    model_: LocalModel = field(init=False)
    columns_: Encoding | None = field(init=False)
    feature_relevance_: FloatArray = field(init=False)
    timings_: dict[str, float] = field(init=False)
    cells_: list[CellRecord] = field(init=False)
    n_cells_: int = field(init=False)
    n_features_in_: int = field(init=False)
    feature_names_in_: NDArray[Any] = field(init=False)
    _duplicates: Duplicates | None = field(init=False)
    _seed: int = field(init=False)
    _cv: CvMeasures = field(init=False)

    @abstractmethod
    def _check_loss(self) -> None:
        """Check the parameters of loss and decision, before the data are read."""

    @abstractmethod
    def _check_targets(self, y: Any, sample_weight: Any, n_samples: int) -> tuple[FloatArray, FloatArray, LearningTask]:
        """Return targets as numbers, weights, and what is learned from them."""

    @abstractmethod
    def _predicted_of(self, scores: FloatArray) -> NDArray[Any]:
        """Return the predictions that scores (n_samples, n_scores) stand for."""

    @abstractmethod
    def _shown_of(self, scores: FloatArray) -> FloatArray:
        """Return what users see of scores (n_samples, n_scores, ...)."""

    def fit(
        self,
        X: RowsLike,
        y: TargetsLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        time: ArrayLike | None = None,
        callback: OnProgress | None = None,
    ) -> Self:
        """Fit the estimator.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Of a classifier: labels of at least two classes, of any type. Of a regressor: finite numbers; False and
            True are 0 and 1. `LocalSVR` takes several targets per sample, too: (n_samples, n_targets).
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples: weight 0 leaves a sample out, an integer weight is the same as repeating it. The
            more samples there are, the smaller the smallest lam of the grid, so weights should sum to about the
            number of samples, not to one.
        groups : array-like of shape (n_samples,), optional
            The group of every sample, of any type: a person, a household, a machine. Samples of a group share a fold
            in every cell, in the encoding of categories and in the choice of scaling, kernel and feature weights, so
            that all of them are chosen for new groups, and out-of-fold scores are those of new groups.
        time : array-like of shape (n_samples,), optional
            The time of every sample: numbers, or dates. Folds are blocks of consecutive times; samples of the same time
            share one. With ``n_folds=1`` the latest fifth validates what the time before it has trained. Either
            `groups` or `time`, not both.
        callback : callable, optional
            Called about ten times a second with a `Progress`: cells_done, n_cells, samples_done,
            n_samples, seconds, rate, seconds_left. An exception that it raises stops the fit. If it has a
            method `stage`, that is called with the name of each stage as it begins ("scaling", "relevance",
            "partition", "cells", "calibration"), and with the number of the member and of all members.

        Returns
        -------
        self
            The fitted estimator.

        Examples
        --------
        >>> from localsvm import LocalSVC, LocalSVR
        >>> clf = LocalSVC().fit([[0.0], [0.1], [1.0], [1.1]], ["a", "a", "b", "b"])
        >>> clf.predict([[0.0], [1.2]])
        array(['a', 'b'], dtype='<U1')
        >>> reg = LocalSVR().fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0])
        >>> reg.predict([[1.5]]).shape
        (1,)
        """
        data = check_training_data(self, X, y, sample_weight, groups, time)
        with listening(callback, draws=self.verbose > 0) as on_progress:
            fitted = fit_ensemble(data.members, data.features, on_progress)
        self._set_fitted(fitted, data.task, data.settings.seed, data.columns)
        # Warnings point at the line that called fit: past warn_of_... and this method.
        cells = chain.from_iterable(member.model.cells for member in self.members_)
        warn_of_grid(cells, data.settings.cell, stacklevel=3)
        warn_of_single_groups(self.model_.cells, data.rows.ties, stacklevel=3)
        return self

    def _set_fitted(
        self, fitted: EnsembleResult, task: LearningTask, seed: int, columns: Encoding | None = None
    ) -> None:
        result = fitted.results[0]
        self.members_, self.model_, self.columns_ = fitted.members, result.model, columns
        self._duplicates = fitted.duplicates
        self.feature_relevance_ = self._feature_weights(result.relevance)
        self.timings_ = fitted.seconds
        self.cells_ = result.table.records()
        self.n_cells_ = len(self.cells_)
        self._seed = seed
        self._cv = fitted.cv

    def _feature_weights(self, weights: FloatArray) -> FloatArray:
        """Return the weights of given features, with mean one, from those of the model's columns.

        A feature with several columns has the largest of their weights; one that is not in the model has weight 0.
        """
        view = self.members_[0].view
        if view is None:
            return weights
        by_feature = np.zeros(self.n_features_in_)
        np.maximum.at(by_feature, view.origins, weights)
        return np.asarray(by_feature / by_feature.mean())

    @property
    def encoding_(self) -> list[Record]:
        """What became of each feature."""
        self._require_fitted()
        given = getattr(self, "feature_names_in_", None)
        names = [f"x{j}" for j in range(self.n_features_in_)] if given is None else [str(name) for name in given]
        if self.columns_ is None:
            return plain_records(names)
        return encoding_records(
            self.columns_, names, [member.view for member in self.members_ if member.view is not None]
        )

    def forecast(
        self,
        X: RowsLike,
        y: TargetsLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        time: ArrayLike | None = None,
        callback: OnProgress | None = None,
    ) -> Forecast:
        """Forecast what `fit` will take: rows are scaled and partitioned, and a few cells are trained.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples.
        groups, time : array-like of shape (n_samples,), optional
            As in `fit`.
        callback : callable, optional
            Called with the `Progress` of the cells that are trained.

        Returns
        -------
        Forecast
            Seconds, peak memory in bytes, number of cells.

        Examples
        --------
        >>> from localsvm import LocalSVC
        >>> from localsvm.data import toy_mixture
        >>> X, y = toy_mixture(600, 2, random_state=0)
        >>> LocalSVC(cell_size=100).forecast(X, y).n_rows
        600
        """
        data = check_training_data(clone(self), X, y, sample_weight, groups, time)
        return forecast_fit(data.rows, data.settings, callback).times(len(data.members))

    def save(self, path: str | os.PathLike[str], *, info: Mapping[str, Any] | None = None) -> None:
        """Write the fitted estimator to a file, for `localsvm.load`.

        A file that exists is replaced when all of the new one is on the disk; until then, and if anything fails, it
        stays as it was.

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
        self._require_fitted()
        user = storable("info", dict(info or {}))
        others = [member.model for member in self.members_[1:]]
        write_model(path, self.model_, {"estimator": estimator_values(self), "user": user}, self.timings_, others)

    def _fitted_values(self) -> dict[str, Any]:
        """Return what fit has learned beside the model, as plain values."""
        return {
            "n_features_in_": int(self.n_features_in_),
            "members_": several(MEMBER).write(tuple(map(MemberValues.of, self.members_))),
            "feature_names_in_": getattr(self, "feature_names_in_", None),
            "columns_": maybe(ENCODING).write(self.columns_),
            "feature_relevance_": self.feature_relevance_,
            "duplicates": maybe(DUPLICATES).write(self._duplicates),
            "seed": self._seed,
            "cv": self._cv,
            "scalings": tuple(member.model.scaling.method for member in self.members_),
        }

    def _restore(self, stored: StoredModel, fitted: Fields) -> None:
        """Become what was saved: the inverse of `_fitted_values`."""
        self.n_features_in_ = fitted.read("n_features_in_", integer(least=1))
        labels = fitted.read("feature_names_in_", maybe(names(self.n_features_in_)))
        if labels is not None:
            self.feature_names_in_ = labels
        self.columns_ = fitted.read("columns_", maybe(ENCODING), n_columns=self.n_features_in_)
        self.members_ = _stored_members(stored, fitted, self.columns_)
        self.model_ = self.members_[0].model
        for member in self.members_:
            width = member.view.width if member.view is not None else self.n_features_in_
            if width != member.model.n_features:
                raise fitted.refuse(f"its {width} columns are not the {member.model.n_features} of the model")
        n_outputs = self.model_.reduction.n_outputs
        self._duplicates = fitted.read("duplicates", added(maybe(DUPLICATES), before=None), n_outputs=n_outputs)
        # Files from before there were weights have none.
        weights = added(array(np.float64, self.n_features_in_, within=NOT_NEGATIVE), before=None)
        known = fitted.read("feature_relevance_", weights)
        self.feature_relevance_ = np.ones(self.n_features_in_) if known is None else known
        self.timings_ = stored.seconds
        self.cells_ = stored.table.records()
        self.n_cells_ = len(self.cells_)
        self._seed = fitted.read("seed", integer(most=np.inf))
        self._cv = fitted.read("cv", added(table(real()), before={}))

    def __sklearn_tags__(self) -> Any:
        """Return the tags of all estimators: what they take."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "impute"
        return tags

    def _require_fitted(self) -> None:
        """Raise scikit-learn's error if no fit was completed, in less time where one was."""
        if "model_" not in self.__dict__:
            check_is_fitted(self)

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether a fit was completed; a failed one may have set n_features_in_."""
        return hasattr(self, "model_")

    def apply(self, X: Any) -> NDArray[np.intp]:
        """Return the cell of every sample: its index in `cells_`.

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
        self._require_fitted()
        return assign_rows(self.model_, member_rows(self, X).of_members[0], count_threads(self.n_jobs))

    def predictor(self) -> Predictor:
        """Return an object that predicts with little overhead, for servers.

        It takes arrays of float32 or float64 only, whose columns it knows by position; if the model was trained with
        categories or dates, data frames, which are checked as `predict` checks them. Any number of threads may use
        it, and it can be pickled. Its predictions are those of this estimator, to the bit; if that is fitted again,
        the predictor stays what it was.

        Returns
        -------
        Predictor
            With a method `predict`; that of a classifier has `predict_proba` and `decision_function`, too.

        Examples
        --------
        >>> import numpy as np
        >>> from localsvm import LocalSVR
        >>> model = LocalSVR(grid=3).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0])
        >>> row = np.array([[1.5]])
        >>> bool(model.predictor().predict(row) == model.predict(row))
        True
        """
        self._require_fitted()
        return Predictor(self)

    def gradient(self, X: Any) -> FloatArray:
        """Return the partial derivatives of the prediction by the features, at every sample.

        What is differentiated is `decision_function` of a classifier (of several classes: each class's
        value, with pairs of classes that against its strongest rival), `predict` of a regressor, in units of the
        features as given. Each sample's derivatives are those of its own cell; cells that are
        averaged in prediction are averaged here. They are 0 where a value is clipped, as a prediction at
        the end of the targets' range is, and for a feature that was constant. At a sample that the
        Laplace kernel was trained on, where the function has a kink, the derivative is taken as 0, and so it is along
        a feature in which the sample equals one that the Manhattan kernel was trained on.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_features) or (n_samples, n_values, n_features)
            Derivatives; a row for each value where `decision_function` or `predict` has several. They are 0
            for categories and missing values. That of a date is per day and along its trend.

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
        self._require_fitted()
        rows, n_threads = member_rows(self, X).of_members, count_threads(self.n_jobs)
        return self._shown_of(mean_gradients(self.members_, rows, self.n_features_in_, n_threads))

    def _scores(self, X: RowsLike) -> FloatArray:
        self._require_fitted()
        rows = member_rows(self, X)
        return self._ensemble.scores(rows, self._threads_for(rows))

    def _threads_for(self, rows: MemberRows) -> int:
        """Return the number of threads to predict with; counting the cores takes longer than a few rows."""
        return 1 if self.n_jobs is None and len(rows) <= FEW_ROWS else count_threads(self.n_jobs)

    @property
    def _ensemble(self) -> Ensemble:
        return Ensemble(self.members_, self._duplicates)
