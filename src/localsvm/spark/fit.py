"""A fit on Spark: survey -> sample, scaling, metric -> coarse cells -> shuffle, train -> decision -> model.

Input: a data frame and an estimator of `localsvm` that has the parameters. Output: a `DistributedModel`. The stages are
those of a fit without Spark; only their rows come from a data frame.
"""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from localsvm.data.scaling import Scaling
from localsvm.data.source import KeptRows
from localsvm.errors import InvalidData
from localsvm.estimators.base import Checked, LocalEstimator
from localsvm.estimators.classifier import LocalSVC
from localsvm.estimators.parameters import check_relevance
from localsvm.estimators.regressors import LocalRegressor
from localsvm.estimators.targets import check_unit
from localsvm.estimators.weights import check_magnitude
from localsvm.fit.fit import FitResult
from localsvm.fit.prepare import FitSettings, fit_sample_scaling, learn_sample_metric, merge_sample, sample_rows
from localsvm.fit.training import MemoryLimit
from localsvm.metric.relevance import Metric
from localsvm.partition.voronoi import LARGEST_TRAVERSAL, SplitLimit
from localsvm.spark.coarse import cut_coarsely, draw_sample
from localsvm.spark.distributed import Assembled, DistributedModel, assemble, gather
from localsvm.spark.rows import Block, FeatureColumns, Layout, Rows, training_frame
from localsvm.spark.survey import MOST_CLASSES, Survey, survey_rows
from localsvm.spark.training import Training, trained_cells
from localsvm.storage.model_file import StoredModel
from localsvm.storage.version import __version__
from localsvm.tasks import Binary


@dataclass(frozen=True)
class FitPlan:
    """Names of the columns, the size of coarse cells, and where trained cells are stored."""

    features: FeatureColumns
    label: str
    weight: str | None
    coarse_size: int = LARGEST_TRAVERSAL
    checkpoint: str | None = None
    """Path for trained cells; None: executors keep them, or the driver if the model is small."""


@dataclass(frozen=True)
class _Problem:
    """Rows, settings and classes of a fit."""

    rows: Rows
    survey: Survey
    settings: FitSettings
    classes: NDArray[np.float64] | None


def fit_distributed(dataset: DataFrame, estimator: LocalEstimator, plan: FitPlan) -> DistributedModel:
    """Fit a model to the rows of a data frame; the estimator becomes fitted, except for the cells."""
    begin = time.perf_counter()
    problem = _survey(dataset, estimator, plan)
    rows, settings = problem.rows, problem.settings
    drawn = draw_sample(rows, sample_rows(rows.layout.n_features))
    scaling, metric = _fit_metric(problem, drawn)
    settings = replace(settings, cell=replace(settings.cell, kernel=metric.kernel))
    scaled = time.perf_counter()
    sized = cut_coarsely(rows, drawn, scaling, SplitLimit(settings.partition.size), plan.coarse_size)
    cut = time.perf_counter()
    training = Training(settings, scaling, sized, rows.layout)
    trained = gather(trained_cells(rows, training), training, rows.n_rows, plan.checkpoint)
    decided = time.perf_counter()
    model = assemble(trained, training)
    ended = time.perf_counter()
    seconds = {"scaling": scaled - begin, "partition": cut - scaled, **trained.seconds}
    seconds |= {"calibration": ended - decided, "total": ended - begin}
    _become_fitted(estimator, problem, metric, model, seconds, plan)
    headline = StoredModel(
        model.model, model.table, {"estimator": estimator._values(), "user": {}}, seconds, __version__
    )
    kept = trained.frame if trained.kept and plan.checkpoint is None else None
    return DistributedModel(headline, sized.coarse, model.cells, trained.n_bytes, trained.report(training), kept)


def _survey(dataset: DataFrame, estimator: LocalEstimator, plan: FitPlan) -> _Problem:
    """Survey all rows and resolve the settings; invalid parameters raise before any job runs."""
    if isinstance(estimator, LocalSVC):
        settings = estimator._settings(Binary())
        estimator._check_decision()
    else:
        assert isinstance(estimator, LocalRegressor)
        settings = estimator._settings(estimator._reduction(1))
    frame = training_frame(dataset, plan.features, plan.label, plan.weight)
    is_classifier = isinstance(estimator, LocalSVC)
    survey = survey_rows(frame, plan.features, plan.label, plan.weight, classes=is_classifier)
    layout, classes = Layout(survey.n_features), None
    if isinstance(estimator, LocalSVC):
        classes = _classes(survey, plan.label)
        layout = replace(layout, classes=tuple(classes.tolist()))
        settings = _class_settings(estimator, settings, survey)
    else:
        check_unit(np.array(survey.target_ends))
        check_magnitude(survey.largest_weight, survey.n_present)
    relevance = check_relevance(estimator.relevance, survey.n_features)
    settings = replace(
        settings,
        partition=settings.partition.sized(survey.n_present),
        relevance=relevance if isinstance(relevance, str | None) else tuple(relevance.tolist()),
    )
    return _Problem(Rows(frame, layout, survey.n_present, settings.seed), survey, settings, classes)


def _classes(survey: Survey, label: str) -> NDArray[np.float64]:
    found = sorted(survey.classes)
    if len(found) == 1:
        raise InvalidData(
            f"column {label!r} contains a single class ({found[0]:g}) in {survey.n_present} rows. A classifier needs "
            "rows of at least two classes."
        )
    if len(found) > MOST_CLASSES:
        raise InvalidData(
            f"column {label!r} has more than {MOST_CLASSES} classes in {survey.n_present} rows. For regression use "
            "LocalSVMRegressor."
        )
    return np.array(found)


def _class_settings(estimator: LocalSVC, settings: FitSettings, survey: Survey) -> FitSettings:
    labels = sorted(survey.classes)
    masses = np.array([math.fsum(survey.classes[label].total) for label in labels])
    largest = np.array([survey.classes[label].largest for label in labels])
    settings = estimator._task(settings, np.array(labels), lambda: masses)
    check_magnitude(float((largest * settings.class_factors(len(labels))).max()), survey.n_present)
    return settings


def _fit_metric(problem: _Problem, drawn: Block) -> tuple[Scaling, Metric]:
    """Fit scaling and metric to the sample that a fit without Spark would draw; the scaling includes the weights."""
    rows, settings, limit = problem.rows, problem.settings, MemoryLimit.of(None)
    index = np.repeat(np.arange(len(drawn)), drawn.counts)
    sample = merge_sample(KeptRows(drawn.rows.X, index), drawn.rows.y[index], drawn.rows.weight[index], settings)
    with ThreadPoolExecutor(settings.n_threads) as pool:
        scaling = fit_sample_scaling(sample, problem.survey.ends, rows.n_rows, settings, limit, pool.map)
        metric = learn_sample_metric(sample, scaling, rows.n_rows, settings, limit, pool.map)
    return scaling.weighted(metric.weights), metric


def _become_fitted(
    estimator: LocalEstimator,
    problem: _Problem,
    metric: Metric,
    model: Assembled,
    seconds: dict[str, float],
    plan: FitPlan,
) -> None:
    coarse = model.coarse
    none = np.empty(0)
    checked = Checked(np.empty((0, 0)), None, none, none, problem.settings, problem.classes)
    judgement = model.decision
    estimator._keep(FitResult(model.model, seconds, judgement.decision, metric.weights, judgement.scores), checked)
    estimator.cells_, estimator.n_cells_ = model.table.records(), len(model.table)
    estimator.n_features_in_ = problem.survey.n_features
    if not isinstance(plan.features, str):
        estimator.feature_names_in_ = np.array(plan.features, dtype=object)
    if coarse.nodes and plan.coarse_size != LARGEST_TRAVERSAL:
        estimator.partition = coarse  # so that a fit without Spark gives the same model
