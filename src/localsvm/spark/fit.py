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
from localsvm.data.source import RowSubset
from localsvm.errors import InvalidData
from localsvm.estimators.base import LocalEstimator, fitted_from
from localsvm.estimators.classifier import LocalSVC, class_task, decision_plan
from localsvm.estimators.effort import choose_grid
from localsvm.estimators.parameters import check_relevance, fit_parameters
from localsvm.estimators.regressors import LocalRegressor, regression_task
from localsvm.estimators.state import estimator_values
from localsvm.estimators.targets import check_magnitude, check_unit
from localsvm.fit.fit import FitResult
from localsvm.fit.memory import available_memory
from localsvm.fit.settings import FitSettings, LearningTask, resolve
from localsvm.metric.relevance import Metric
from localsvm.metric.sample import FitContext, fit_sample_scaling, learn_sample_metric, merge_sample, sample_rows
from localsvm.partition.build import PartitionPlan
from localsvm.partition.voronoi import LARGEST_TRAVERSAL, SplitLimit
from localsvm.spark.checkpoint import refuse_foreign
from localsvm.spark.coarse import cut_coarsely, draw_sample
from localsvm.spark.distributed import Assembled, DistributedModel, assemble, gather
from localsvm.spark.rows import Block, FeatureColumns, Layout, Rows, TieColumn, training_frame
from localsvm.spark.survey import MOST_CLASSES, Survey, SurveyPlan, survey_rows
from localsvm.spark.training import Training
from localsvm.storage.model_file import StoredModel
from localsvm.storage.version import __version__


@dataclass(frozen=True)
class FitPlan:
    """Names of the columns, the size of coarse cells, and where trained cells are stored."""

    features: FeatureColumns
    label: str
    weight: str | None
    coarse_size: int = LARGEST_TRAVERSAL
    tie: TieColumn | None = None
    """Of groups or times."""
    checkpoint: str | None = None
    """Directory for trained cells; None: executors keep them, or the driver if the model is small."""


@dataclass(frozen=True)
class Problem:
    """Rows, settings and classes of a fit."""

    rows: Rows
    survey: Survey
    task: LearningTask
    settings: FitSettings


@dataclass(frozen=True)
class Prepared:
    """Everything that precedes the training of a fit."""

    problem: Problem
    metric: Metric
    training: Training
    seconds: dict[str, float]
    """By phase."""


def fit_distributed(dataset: DataFrame, estimator: LocalEstimator, plan: FitPlan) -> DistributedModel:
    """Fit a model to the rows of a data frame; the estimator has the parameters."""
    begin = time.perf_counter()
    if plan.checkpoint is not None:
        refuse_foreign(plan.checkpoint, dataset.sparkSession)
    prepared = prepare_distributed(dataset, estimator, plan)
    training = prepared.training
    trained = gather(prepared.problem.rows, training, plan.checkpoint)
    decided = time.perf_counter()
    model = assemble(trained, training)
    ended = time.perf_counter()
    seconds = {**prepared.seconds, **trained.seconds, "calibration": ended - decided, "total": ended - begin}
    info = {"estimator": estimator_values(_fitted(estimator, prepared, model, seconds, plan)), "user": {}}
    if model.measures is not None:
        info["out_of_fold"] = model.measures
    headline = StoredModel(model.model, model.table, info, seconds, __version__)
    kept = trained.frame if trained.kept and plan.checkpoint is None else None
    coarse = training.sized.coarse
    return DistributedModel(headline, coarse, model.cells, trained.n_bytes, trained.report(training), kept)


def prepare_distributed(dataset: DataFrame, estimator: LocalEstimator, plan: FitPlan) -> Prepared:
    """Survey the rows, fit scaling and metric to a sample, and find the coarse cells."""
    begin = time.perf_counter()
    problem = _survey(dataset, estimator, plan)
    rows, settings = problem.rows, problem.settings
    partition = settings.partition.sized(rows.n_rows)
    drawn = draw_sample(rows, sample_rows(rows.layout.n_features))
    scaling, metric = _fit_metric(problem, partition, drawn)
    scaled = time.perf_counter()
    limit = SplitLimit(partition.size)
    sized = cut_coarsely(rows, drawn, scaling, limit, plan.coarse_size)
    cell = replace(settings.cell, kernel=metric.kernel)
    training = Training(settings, cell, limit, scaling, sized, rows.layout)
    seconds = {"scaling": scaled - begin, "partition": time.perf_counter() - scaled}
    return Prepared(problem, metric, training, seconds)


def _survey(dataset: DataFrame, estimator: LocalEstimator, plan: FitPlan) -> Problem:
    """Survey all rows and resolve the settings; invalid parameters raise before any job runs."""
    parameters = fit_parameters(estimator)
    is_classifier = isinstance(estimator, LocalSVC)
    if isinstance(estimator, LocalSVC):
        decision_plan(estimator)
    else:
        assert isinstance(estimator, LocalRegressor)
        task = regression_task(estimator)
    frame = training_frame(dataset, plan.features, plan.label, plan.weight, plan.tie)
    what = SurveyPlan(is_classifier, parameters.seed, plan.tie)
    survey = survey_rows(frame, plan.features, plan.label, plan.weight, what)
    layout = Layout(survey.n_features, tie=plan.tie)
    if isinstance(estimator, LocalSVC):
        task = _class_task(estimator, survey, plan.label)
        assert task.classes is not None
        layout = replace(layout, classes=tuple(task.classes.tolist()))
    else:
        check_unit(np.array(survey.target_ends))
        check_magnitude(survey.largest_weight, survey.n_present)
    relevance = check_relevance(estimator.relevance, survey.n_features)
    settings = resolve(parameters, task, relevance, grid=choose_grid(estimator, task.reduction))
    rows = Rows(frame.coalesce(survey.n_tasks), layout, survey.n_present, survey.checksum, settings.seed)
    return Problem(rows, survey, task, settings)


def _classes(survey: Survey, label: str) -> NDArray[np.float64]:
    found = sorted(survey.classes)
    if len(found) == 1:
        raise InvalidData(
            f"column {label!r} contains only one class ({found[0]:g}) in {survey.n_present} rows. A classifier needs "
            "rows of at least two classes."
        )
    if len(found) > MOST_CLASSES:
        raise InvalidData(
            f"column {label!r} has more than {MOST_CLASSES} classes in {survey.n_present} rows. For regression use "
            "LocalSVMRegressor."
        )
    return np.array(found)


def _class_task(estimator: LocalSVC, survey: Survey, label: str) -> LearningTask:
    classes = _classes(survey, label)
    found = [survey.classes[number] for number in classes.tolist()]
    masses = np.array([math.fsum(mass.total) for mass in found])
    task = class_task(estimator, classes, lambda: masses)
    largest = np.array([mass.largest for mass in found]) * (task.class_factor or 1.0)
    check_magnitude(float(largest.max()), survey.n_present)
    return task


def _fit_metric(problem: Problem, partition: PartitionPlan, drawn: Block) -> tuple[Scaling, Metric]:
    """Fit scaling and metric to the sample that a fit without Spark would draw; the scaling includes the weights."""
    rows, settings = problem.rows, problem.settings
    index = np.repeat(np.arange(len(drawn)), drawn.counts)
    ties = rows.layout.ties(drawn.rows)
    sample = merge_sample(
        RowSubset(drawn.rows.X, index),
        drawn.rows.y[index],
        drawn.rows.weight[index],
        settings.seed,
        settings.factors,
        ties=None if ties is None else ties[index],
    )
    context = FitContext(settings.cell, partition, settings.seed, rows.n_rows, available_memory())
    with ThreadPoolExecutor(settings.n_threads) as pool:
        scaling = fit_sample_scaling(sample, problem.survey.ends, settings.metric, context, pool.map)
        metric = learn_sample_metric(sample, scaling, settings.metric, context, pool.map)
    return scaling.weighted(metric.weights), metric


def _fitted(
    estimator: LocalEstimator, prepared: Prepared, model: Assembled, seconds: dict[str, float], plan: FitPlan
) -> LocalEstimator:
    """Return the estimator, fitted but for the cells."""
    decision, problem = model.decision, prepared.problem
    weights = prepared.metric.weights
    result = FitResult(model.model, model.table, seconds, weights, decision.decision, decision.scores)
    names = None if isinstance(plan.features, str) else plan.features
    fitted = fitted_from(estimator, result, problem.task, problem.settings.seed, problem.survey.n_features, names)
    if model.coarse.nodes and plan.coarse_size != LARGEST_TRAVERSAL:
        fitted.partition = model.coarse  # a fit in memory with it gives this model
    return fitted
