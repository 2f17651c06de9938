"""Spark Connect: the same model and the same predictions as in classic mode and on one machine, saved and loaded."""

import numpy as np
import pytest
from spark_frames import frame_of, in_order
from spark_problems import PROBLEMS

from localsvm.spark import (
    LocalSVMClassificationModel,
    LocalSVMClassifier,
    LocalSVMRegressionModel,
    LocalSVMRegressor,
    TprTnrEvaluator,
)
from localsvm.storage.model_file import model_bytes

CLASSES, NUMBERS = PROBLEMS["two classes"], PROBLEMS["numbers"]
OUTPUTS = ("prediction", "rawPrediction", "probability")


def classify(session, path):
    """Fit, save, load and transform; return what is there to compare."""
    frame = frame_of(session, CLASSES.X, label=CLASSES.y)
    fitted = LocalSVMClassifier(**CLASSES.on_spark).fit(frame)
    fitted.save(path)
    model = LocalSVMClassificationModel.load(path)
    ways = {}
    for way in ("broadcast", "shuffle"):
        found = model.copy({model.transform_by: way}).transform(frame)
        ways[way] = in_order(found, *OUTPUTS)
    score = TprTnrEvaluator().evaluate(model.transform(frame))
    return fitted.coarse_cells, model.toLocal(), ways, score


def regress(session, path):
    frame = frame_of(session, NUMBERS.X, label=NUMBERS.y)
    LocalSVMRegressor(**NUMBERS.on_spark, checkpoint=path + "-cells").fit(frame).write().overwrite().save(path)
    model = LocalSVMRegressionModel.load(path)
    return model.coarse_cells, in_order(model.transform(frame), "prediction")[0]


def refuse(session):
    frame = session.createDataFrame([([1.0, float("nan")], 1.0)], "features array<double>, label double")
    LocalSVMClassifier().fit(frame)


def test_classes_are_told_apart_as_on_one_machine(connect, tmp_path):
    coarse, local, ways, score = connect.run(classify, str(tmp_path / "model"))
    twin = CLASSES.fit_on_one_machine(coarse)
    scores = twin.decision_function(CLASSES.X)
    expected = twin.predict(CLASSES.X), np.column_stack([-scores, scores]), twin.predict_proba(CLASSES.X)
    for found in ways.values():
        assert all(map(np.array_equal, found, expected))
    assert [len(cell.functions.sums) for cell in local.model_.cells] == [
        len(cell.functions.sums) for cell in twin.model_.cells
    ]
    right = expected[0] == CLASSES.y
    rates = [right[label == CLASSES.y].mean() for label in (-1, 1)]
    assert score == pytest.approx(np.prod(rates))
    assert model_bytes(local.model_)


def test_numbers_are_predicted_as_on_one_machine(connect, tmp_path):
    coarse, prediction = connect.run(regress, str(tmp_path / "model"))
    assert np.array_equal(prediction, NUMBERS.fit_on_one_machine(coarse).predict(NUMBERS.X))


def test_refusals_are_sentences_there_too(connect):
    with pytest.raises(RuntimeError, match="place 1 of column 'features' is null, NaN or infinite in 1 of 1 rows"):
        connect.run(refuse)
