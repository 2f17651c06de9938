"""A checkpoint has the cells of an interrupted fit, and belongs to it alone."""

import time
from concurrent.futures import ThreadPoolExecutor

import pyarrow.parquet as pq
import pytest
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder
from pyspark.sql import functions as F
from spark_fits import FEATURES, SETTINGS, fit, write_toy
from spark_frames import without_seconds
from spark_process import SparkProcess

from localsvm.errors import InvalidParameter
from localsvm.spark import LocalSVMClassifier, TprTnrEvaluator, distributed

FEW = {"grid": 2, "n_folds": 2}


def bytes_of(model):
    return without_seconds(model.toLocal().model_)


def coarse_cells_in(*files):
    """Return the coarse cells of files of a checkpoint, in order."""
    return sorted(int(cell) for file in files for cell in set(pq.read_table(file)["coarse"].to_pylist()))


def ends(model):
    """Return when the training of every coarse cell ended."""
    return {task["coarse"]: task["finished"] for task in model.task_report}


def ends_of_fit(session, rows, checkpoint):
    return ends(fit(session, rows, **FEW, checkpoint=checkpoint))


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    return write_toy(tmp_path_factory.mktemp("checkpoints") / "rows", 1200)


@pytest.fixture(scope="module")
def uninterrupted(spark, rows):
    """The bytes of a model that was trained without a checkpoint."""
    return bytes_of(fit(spark, rows, **FEW))


@pytest.fixture
def large(monkeypatch):
    """The driver holds no cells: models read them from the checkpoint."""
    monkeypatch.setattr(distributed, "SMALL_MODEL", 0)


def test_a_directory_with_other_files_is_refused_and_not_changed(spark, rows, tmp_path):
    """One that holds the rows of the fit, and one that holds anything else."""
    note = tmp_path / "notes" / "a" / "note.txt"
    note.parent.mkdir(parents=True)
    note.write_text("mine")
    for path, first in ((rows, "0.parquet"), (str(tmp_path / "notes"), "note.txt")):
        with pytest.raises(InvalidParameter, match=f"has files of something else .first: .*{first}.*new directory"):
            fit(spark, rows, **FEW, checkpoint=path)
    assert note.read_text() == "mine"
    assert spark.read.parquet(rows).count() == 1200


def test_only_missing_and_damaged_cells_are_trained(spark, connect, rows, uninterrupted, large, tmp_path):
    first = fit(spark, rows, **FEW, checkpoint=str(tmp_path))
    assert bytes_of(first) == uninterrupted
    files = sorted(tmp_path.glob("fit-*/run-*/*.parquet"))
    assert coarse_cells_in(*files) == sorted(ends(first))
    lost = coarse_cells_in(files[0], files[1])
    files[0].unlink()
    files[1].write_bytes(files[1].read_bytes()[:1000])
    (files[1].parent / f".{files[1].name}.crc").unlink()

    second = fit(spark, rows, **FEW, checkpoint=str(tmp_path))
    assert bytes_of(second) == uninterrupted
    new = {*tmp_path.glob("fit-*/run-*/*.parquet")} - {*files}
    assert coarse_cells_in(*new) == lost
    assert {cell for cell, end in ends(second).items() if end != ends(first)[cell]} == {*lost}

    assert connect.run(ends_of_fit, rows, str(tmp_path)) == ends(second)
    assert {*tmp_path.glob("fit-*/run-*/*.parquet")} == {*files[1:], *new}


def test_cells_of_other_rows_are_not_taken(spark, rows, uninterrupted, tmp_path):
    """One row has another target, or another weight."""
    fit(spark, rows, **FEW, checkpoint=str(tmp_path))
    frame = spark.read.parquet(rows).withColumn("weight", F.lit(1.0))
    classifier = LocalSVMClassifier(**{**SETTINGS, **FEW}, featuresCol=FEATURES, weightCol="weight")
    for place, (column, change) in enumerate({"label": "IF(id = 7, -label, label)", "weight": "1 + id % 2"}.items()):
        other = frame.withColumn(column, F.expr(change))
        found = classifier.setParams(checkpoint=str(tmp_path)).fit(other)
        assert len([*tmp_path.glob("fit-*")]) == place + 2
        assert bytes_of(found) != uninterrupted


def test_the_same_fit_twice_at_the_same_time_gives_two_models(spark, rows, uninterrupted, large, tmp_path):
    with ThreadPoolExecutor(2) as pool:
        models = list(pool.map(lambda _: fit(spark, rows, **FEW, checkpoint=str(tmp_path)), range(2)))
    assert [bytes_of(model) for model in models] == [uninterrupted, uninterrupted]
    assert len([*tmp_path.glob("fit-*")]) == 1


def test_a_parallel_search_has_one_checkpoint(spark, rows, large, tmp_path):
    classifier = LocalSVMClassifier(featuresCol=FEATURES, **{**SETTINGS, **FEW}, checkpoint=str(tmp_path))
    grid = ParamGridBuilder().addGrid(classifier.cell_size, [100, 150]).build()
    search = CrossValidator(
        estimator=classifier, estimatorParamMaps=grid, evaluator=TprTnrEvaluator(), numFolds=2, parallelism=2, seed=0
    )
    found = search.fit(spark.read.parquet(rows))
    assert min(found.avgMetrics) > 0.1
    assert found.bestModel.toLocal().n_cells_ == found.bestModel.n_cells


def application_id(session):
    return session.sparkContext.applicationId


def fit_slowly(session, path, checkpoint):
    fit(session, path, checkpoint=checkpoint)


def test_a_fit_continues_when_its_driver_was_killed(cluster, spark, tmp_path):
    rows, checkpoint = write_toy(tmp_path / "rows", 3000), tmp_path / "cells"
    with SparkProcess(cluster.settings(), cluster.environment) as driver:
        application = driver.run(application_id)
        driver.begin(fit_slowly, rows, str(checkpoint))
        end = time.monotonic() + 300
        while not [*checkpoint.glob("fit-*/run-*/*.parquet")]:
            assert time.monotonic() < end, "no cells were written"
            time.sleep(0.02)
        driver.kill()
    cluster.wait_for_the_end_of(application)  # a task that was ending may write its file yet
    files = {*checkpoint.glob("fit-*/run-*/*.parquet")}
    kept = coarse_cells_in(*files)
    killed = time.time()

    model = fit(spark, rows, checkpoint=str(checkpoint))
    assert bytes_of(model) == bytes_of(fit(spark, rows))
    missing = sorted({*ends(model)} - {*kept})
    assert missing, "the training had ended"
    assert coarse_cells_in(*({*checkpoint.glob("fit-*/run-*/*.parquet")} - files)) == missing
    assert sorted(cell for cell, end in ends(model).items() if end < killed) == kept
