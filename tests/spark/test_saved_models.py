"""Models are saved as tables, loaded by other sessions, and converted to model files."""

import numpy as np
import pytest
from spark_frames import frame_of, in_order
from spark_problems import PROBLEMS

import localsvm
from localsvm.errors import InvalidFile
from localsvm.spark import (
    LocalSVMClassificationModel,
    LocalSVMClassifier,
    LocalSVMRegressionModel,
    LocalSVMRegressor,
    TprTnrEvaluator,
)

PROBLEM = PROBLEMS["two classes"]
OUTPUTS = ("prediction", "rawPrediction", "probability")


def fit_and_save(session, path):
    frame = frame_of(session, PROBLEM.X, label=PROBLEM.y)
    model = LocalSVMClassifier(**PROBLEM.on_spark, class_weight={-1: 2, 1: 1}).fit(frame)
    model.save(path)
    return in_order(model.transform(frame), *OUTPUTS)


def load_and_transform(session, path, by):
    model = LocalSVMClassificationModel.load(path)
    model.set(model.transform_by, by)
    return in_order(model.transform(frame_of(session, PROBLEM.X, 2)), *OUTPUTS)


def test_a_saved_model_predicts_the_same_in_another_session(spark, connect, tmp_path):
    """The sessions are of different processes, applications and modes: each loads the model of the other."""
    classic, remote = str(tmp_path / "classic"), str(tmp_path / "remote")
    expected = fit_and_save(spark, classic)
    assert all(map(np.array_equal, connect.run(fit_and_save, remote), expected))
    for by in ("broadcast", "shuffle"):
        assert all(map(np.array_equal, connect.run(load_and_transform, classic, by), expected))
        assert all(map(np.array_equal, load_and_transform(spark, remote, by), expected))


@pytest.fixture(scope="module")
def model(spark):
    return LocalSVMClassifier(**PROBLEM.on_spark).fit(frame_of(spark, PROBLEM.X, label=PROBLEM.y))


def test_a_loaded_model_has_all_that_was_saved(model, tmp_path):
    path = str(tmp_path / "model")
    model.save(path)
    again = LocalSVMClassificationModel.load(path)
    assert again.uid == model.uid
    assert again.extractParamMap().values() and again.getOrDefault("grid") == model.getOrDefault("grid")
    assert again.task_report == model.task_report
    assert again.timings == model.timings
    assert np.array_equal(again.classes, model.classes)
    assert again.n_cells == model.n_cells == again.cells.count()
    assert len(again.coarse_cells) == len(model.coarse_cells)


def test_an_existing_directory_is_replaced_only_by_overwrite(model, tmp_path):
    path = str(tmp_path / "model")
    model.save(path)
    with pytest.raises(Exception, match="PATH_ALREADY_EXISTS"):
        model.save(path)
    model.write().overwrite().save(path)
    assert LocalSVMClassificationModel.load(path).n_cells == model.n_cells


def test_loading_a_model_of_another_class_raises(model, tmp_path):
    path = str(tmp_path / "model")
    model.save(path)
    with pytest.raises(InvalidFile, match="LocalSVMClassificationModel, not a"):
        LocalSVMRegressionModel.load(path)


def test_a_model_with_missing_cells_raises(model, tmp_path):
    path = str(tmp_path / "model")
    model.save(path)
    again = LocalSVMClassificationModel.load(path)
    fewer = again.cells.where("cell > 0").toArrow()
    again.cells.sparkSession.createDataFrame(fewer).write.mode("overwrite").parquet(path + "/fewer")
    (tmp_path / "model" / "cells").rename(tmp_path / "all")
    (tmp_path / "model" / "fewer").rename(tmp_path / "model" / "cells")
    with pytest.raises(InvalidFile, match=f"has {model.n_cells - 1} of its {model.n_cells} cells"):
        LocalSVMClassificationModel.load(path).toLocal()


def test_a_model_is_converted_to_a_model_file(model, tmp_path):
    model.toLocal().save(tmp_path / "local.lsvm")
    local = localsvm.load(tmp_path / "local.lsvm")
    twin = PROBLEM.fit_without_spark(model.coarse_cells)
    assert np.array_equal(local.predict_proba(PROBLEM.X), twin.predict_proba(PROBLEM.X))


def test_trained_cells_are_written_to_a_checkpoint(spark, model, tmp_path):
    frame = frame_of(spark, PROBLEM.X, label=PROBLEM.y)
    kept = LocalSVMClassifier(**PROBLEM.on_spark, checkpoint=str(tmp_path / "cells")).fit(frame)
    assert spark.read.parquet(str(tmp_path / "cells")).count() == kept.n_cells
    assert all(
        map(np.array_equal, in_order(kept.transform(frame), *OUTPUTS), in_order(model.transform(frame), *OUTPUTS))
    )


def test_estimators_and_evaluators_are_saved_with_their_parameters(spark, tmp_path):
    saved = [
        LocalSVMClassifier(**PROBLEM.on_spark, class_weight={0: 2}, weightCol=None),
        LocalSVMRegressor(loss="quantile", level=0.25),
        TprTnrEvaluator(positive=3.0),
    ]
    for place, estimator in enumerate(saved):
        estimator.write().session(spark).save(str(tmp_path / str(place)))
        again = type(estimator).load(str(tmp_path / str(place)))
        assert {p.name: v for p, v in again.extractParamMap().items()} == {
            p.name: v for p, v in estimator.extractParamMap().items()
        }
