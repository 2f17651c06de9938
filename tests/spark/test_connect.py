"""Spark Connect: models and predictions, also of saved models, are those of a fit without Spark."""

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
    outputs = {}
    for by in ("broadcast", "shuffle"):
        found = model.copy({model.transform_by: by}).transform(frame)
        outputs[by] = in_order(found, *OUTPUTS)
    score = TprTnrEvaluator().evaluate(model.transform(frame))
    return fitted.coarse_cells, model.toLocal(), outputs, score


def regress(session, path):
    frame = frame_of(session, NUMBERS.X, label=NUMBERS.y)
    LocalSVMRegressor(**NUMBERS.on_spark, checkpoint=path + "-cells").fit(frame).write().overwrite().save(path)
    model = LocalSVMRegressionModel.load(path)
    return model.coarse_cells, in_order(model.transform(frame), "prediction")[0]


def fit_invalid_rows(session):
    frame = session.createDataFrame([([1.0, float("nan")], 1.0)], "features array<double>, label double")
    LocalSVMClassifier().fit(frame)


def test_a_classification_is_that_of_a_fit_without_spark(connect, tmp_path):
    coarse, local, outputs, score = connect.run(classify, str(tmp_path / "model"))
    twin = CLASSES.fit_without_spark(coarse)
    scores = twin.decision_function(CLASSES.X)
    expected = twin.predict(CLASSES.X), np.column_stack([-scores, scores]), twin.predict_proba(CLASSES.X)
    for found in outputs.values():
        assert all(map(np.array_equal, found, expected))
    assert [len(cell.functions.sums) for cell in local.model_.cells] == [
        len(cell.functions.sums) for cell in twin.model_.cells
    ]
    right = expected[0] == CLASSES.y
    rates = [right[label == CLASSES.y].mean() for label in (-1, 1)]
    assert score == pytest.approx(np.prod(rates))
    assert model_bytes(local.model_)


def test_a_regression_is_that_of_a_fit_without_spark(connect, tmp_path):
    coarse, prediction = connect.run(regress, str(tmp_path / "model"))
    assert np.array_equal(prediction, NUMBERS.fit_without_spark(coarse).predict(NUMBERS.X))


def test_invalid_rows_raise_the_same_message(connect):
    with pytest.raises(RuntimeError, match="element 1 of column 'features' is null, NaN or infinite in 1 of 1 rows"):
        connect.run(fit_invalid_rows)
