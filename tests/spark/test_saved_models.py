"""Models are saved as tables, loaded by other sessions, and converted to model files."""

import os
import shutil
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.ml import PipelineModel, Transformer
from spark_frames import frame_of, in_order, without_seconds
from spark_problems import PROBLEMS

import localsvm
from localsvm.errors import InvalidFile, InvalidParameter
from localsvm.spark import (
    LocalSVMClassificationModel,
    LocalSVMClassifier,
    LocalSVMRegressionModel,
    LocalSVMRegressor,
    TprTnrEvaluator,
    distributed,
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
    with pytest.raises(InvalidParameter, match="has files already"):
        model.save(path)
    model.write().overwrite().save(path)
    assert LocalSVMClassificationModel.load(path).n_cells == model.n_cells
    LocalSVMClassifier().write().overwrite().save(path)
    LocalSVMClassifier.load(path)
    assert os.listdir(path) == ["metadata"]


def test_loading_a_model_of_another_class_raises(model, tmp_path):
    path = str(tmp_path / "model")
    model.save(path)
    with pytest.raises(InvalidFile, match="LocalSVMClassificationModel, not a"):
        LocalSVMRegressionModel.load(path)


def test_a_model_with_missing_cells_raises(model, tmp_path):
    path = str(tmp_path / "model")
    model.save(path)
    (cells,) = tmp_path.glob("model/version-*/cells")
    fewer = pq.read_table(cells).slice(1)
    shutil.rmtree(cells)
    cells.mkdir()
    pq.write_table(fewer, cells / "part.parquet")
    with pytest.raises(InvalidFile, match=f"has {model.n_cells - 1} of its {model.n_cells} cells"):
        LocalSVMClassificationModel.load(path)


def save_over_itself(session, path, saved, bytes_on_driver):
    """Load what was saved, alone or in a pipeline, and save it to the same place; return predictions of both."""
    distributed.SMALL_MODEL, before = bytes_on_driver, distributed.SMALL_MODEL
    try:
        frame = frame_of(session, PROBLEM.X, 2)
        loaded = saved.load(path)
        loaded.write().overwrite().save(path)
        return [in_order(found.transform(frame), *OUTPUTS) for found in (loaded, saved.load(path))]
    finally:
        distributed.SMALL_MODEL = before


@pytest.mark.parametrize(
    ("mode", "bytes_on_driver"),
    [("classic", distributed.SMALL_MODEL), ("classic", 0), ("connect", 0)],
    ids=["small", "large", "large, connect"],
)
@pytest.mark.parametrize("saved", [LocalSVMClassificationModel, PipelineModel])
def test_a_model_saved_over_itself_predicts_and_loads(spark, connect, model, tmp_path, saved, mode, bytes_on_driver):
    path = str(tmp_path / "model")
    (model if saved is LocalSVMClassificationModel else PipelineModel([model])).save(path)
    if mode == "classic":
        found = save_over_itself(spark, path, saved, bytes_on_driver)
    else:
        found = connect.run(save_over_itself, path, saved, bytes_on_driver)
    expected = in_order(model.transform(frame_of(spark, PROBLEM.X, 2)), *OUTPUTS)
    assert all(np.array_equal(*pair) for outputs in found for pair in zip(outputs, expected, strict=True))
    assert len(versions_in(tmp_path)) == 1


def versions_in(folder):
    """Return the versions of saved models that have files."""
    return {file.parts[-3] for file in folder.rglob("version-*/*/*.parquet")}


def test_the_old_model_outlives_a_save_that_fails(model, tmp_path):
    path = str(tmp_path / "model")
    model.save(path)

    def fail(batches):
        yield next(iter(batches))
        raise OSError("no space")

    broken = model.copy()
    broken._distributed = replace(model._distributed, frame=model.cells.mapInArrow(fail, model.cells.schema))
    with pytest.raises(Exception, match="no space"):
        broken.write().overwrite().save(path)
    found = LocalSVMClassificationModel.load(path)
    assert without_seconds(found.toLocal().model_) == without_seconds(model.toLocal().model_)
    found.write().overwrite().save(path)
    assert len(versions_in(tmp_path)) == 1


def test_of_two_saves_to_a_path_at_the_same_time_one_is_kept_whole(model, tmp_path, monkeypatch):
    """The second begins when the first has its cells, and deletes them with what it found there."""
    path = str(tmp_path / "model")
    model.save(path)
    first, second = (LocalSVMClassificationModel.load(path) for _ in range(2))
    check_cells = first._parts.check_cells

    def check_and_save_the_second(numbers):
        check_cells(numbers)
        second.write().overwrite().save(path)

    monkeypatch.setattr(first._parts, "check_cells", check_and_save_the_second)
    with pytest.raises(InvalidFile, match="another program has saved to the directory"):
        first.write().overwrite().save(path)
    assert len(versions_in(tmp_path)) == 1
    again = LocalSVMClassificationModel.load(path)
    assert without_seconds(again.toLocal().model_) == without_seconds(model.toLocal().model_)


def test_a_version_without_cells_does_not_hide_a_complete_one(model, tmp_path):
    model.save(str(tmp_path))
    (complete,) = versions_in(tmp_path)
    (headline,) = pq.read_table(tmp_path / complete / "headline").to_pylist()
    later = {**headline, "number": headline["number"] + 1, "version": "version-0123456789abcdef"}
    folder = tmp_path / later["version"] / "headline"
    folder.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist([later]), folder / "part.parquet")
    assert LocalSVMClassificationModel.load(str(tmp_path)).n_cells == model.n_cells


class Unsaved(Transformer):
    """A stage of a pipeline that cannot be saved."""

    def _transform(self, dataset):
        return dataset


@pytest.mark.parametrize("by", ["broadcast", "shuffle"])
def test_a_model_outlives_a_save_of_its_pipeline_that_fails(spark, model, tmp_path, monkeypatch, by):
    """Spark deletes the directory, and then finds that a stage cannot be saved."""
    monkeypatch.setattr(distributed, "SMALL_MODEL", 0)
    path, frame = str(tmp_path / "pipeline"), frame_of(spark, PROBLEM.X, 2)
    PipelineModel([model]).save(path)
    (loaded,) = PipelineModel.load(path).stages
    with pytest.raises(ValueError, match="Pipeline write will fail"):
        PipelineModel([loaded, Unsaved()]).write().overwrite().save(path)
    assert not versions_in(tmp_path)
    loaded.set(loaded.transform_by, by)
    expected = in_order(model.transform(frame), *OUTPUTS)
    assert all(map(np.array_equal, in_order(loaded.transform(frame), *OUTPUTS), expected))
    PipelineModel([loaded]).save(path)
    assert all(map(np.array_equal, in_order(PipelineModel.load(path).transform(frame), *OUTPUTS), expected))


def test_a_model_loads_when_it_was_overwritten_but_for_the_metadata_of_spark(model, tmp_path):
    path = str(tmp_path / "model")
    model.save(path)
    shutil.rmtree(tmp_path / "model" / "metadata")
    assert LocalSVMClassificationModel.load(path).uid == model.uid


def test_a_model_is_converted_to_a_model_file(model, tmp_path):
    model.toLocal().save(tmp_path / "local.lsvm")
    local = localsvm.load(tmp_path / "local.lsvm")
    twin = PROBLEM.fit_without_spark(model.coarse_cells)
    assert np.array_equal(local.predict_proba(PROBLEM.X), twin.predict_proba(PROBLEM.X))


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
