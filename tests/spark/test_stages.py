"""The estimators work in pipelines, cross-validation and evaluators of Spark."""

import numpy as np
import pytest
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.feature import VectorAssembler
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder
from pyspark.sql import functions as F
from sklearn.metrics import recall_score
from spark_frames import columns_of, frame_of, in_order
from spark_problems import two_classes

from localsvm.spark import LocalSVMClassifier, TprTnrEvaluator

X, Y = two_classes(400)
LABEL = (Y > 0).astype(float)
FEW = {"grid": 2, "n_folds": 2, "cell_size": 100, "coarse_size": 300, "scaling": "minmax"}


@pytest.fixture(scope="module")
def frame(spark):
    return frame_of(spark, X, label=LABEL).drop("features").cache()


@pytest.fixture(scope="module")
def pipeline(frame):
    stages = [VectorAssembler(inputCols=columns_of(X), outputCol="all"), LocalSVMClassifier(featuresCol="all", **FEW)]
    return Pipeline(stages=stages).fit(frame)


def test_a_pipeline_is_saved_and_loaded(pipeline, frame, tmp_path):
    pipeline.save(str(tmp_path / "pipeline"))
    again = PipelineModel.load(str(tmp_path / "pipeline"))
    found, expected = (in_order(model.transform(frame), "prediction", "probability") for model in (again, pipeline))
    assert all(map(np.array_equal, found, expected))


def test_the_product_of_the_rates_agrees_with_scikit_learn(pipeline, frame):
    found = pipeline.transform(frame).cache()
    (prediction,) = in_order(found, "prediction")
    tpr, tnr = recall_score(LABEL, prediction), recall_score(LABEL, prediction, pos_label=0)
    assert TprTnrEvaluator().evaluate(found) == pytest.approx(tpr * tnr)


def test_weights_count_in_the_product_of_the_rates(spark):
    rows = [(1.0, 1.0, 3.0), (1.0, 0.0, 1.0), (0.0, 0.0, 1.0), (0.0, 1.0, 1.0), (2.0, 0.0, 2.0)]
    frame = spark.createDataFrame(rows, "label double, prediction double, weight double")
    assert TprTnrEvaluator(weightCol="weight").evaluate(frame) == pytest.approx(3 / 4 * 3 / 4)
    assert TprTnrEvaluator(positive=0.0).evaluate(frame) == pytest.approx(1 / 2 * 1 / 3)
    assert TprTnrEvaluator().isLargerBetter()


def test_cross_validation_selects_the_better_grid(frame):
    classifier = LocalSVMClassifier(featuresCol=columns_of(X), **FEW)
    # The first width is too small to generalize.
    grids = ParamGridBuilder().addGrid(classifier.grid, [{"widths": (1e-4,), "lams": (0.1,)}, 2]).build()
    search = CrossValidator(
        estimator=classifier, estimatorParamMaps=grids, evaluator=TprTnrEvaluator(), numFolds=2, seed=1
    )
    found = search.fit(frame)
    assert found.bestModel.getOrDefault("grid") == 2
    assert found.avgMetrics[0] < found.avgMetrics[1]


def test_output_columns_have_the_given_names(frame):
    classifier = LocalSVMClassifier(**FEW, featuresCol=columns_of(X), predictionCol="predicted", rawPredictionCol="")
    model = classifier.setProbabilityCol("probabilities").fit(frame)
    for by in ("broadcast", "shuffle"):
        found = model.copy({model.transform_by: by}).transform(frame)
        assert found.columns == [*frame.columns, "predicted", "probabilities"]


def test_all_kinds_of_columns_pass_through(pipeline, frame):
    kinds = {
        "text": F.lit("one"),
        "day": F.current_date(),
        "time": F.current_timestamp(),
        "list": F.array("x0", F.lit(None)),
        "record": F.struct("x0", F.lit("a").alias("b")),
        "map": F.create_map(F.lit("k"), F.col("x1")),
        "money": F.lit("1.50").cast("decimal(10, 2)"),
        "nothing": F.lit(None).cast("long"),
        "a.dot": F.col("x2"),
    }
    rows = frame.limit(20).withColumns(kinds).cache()
    for by in ("broadcast", "shuffle"):
        stages = [stage.copy() for stage in pipeline.stages]
        stages[1].set(stages[1].transform_by, by)
        found = PipelineModel(stages).transform(rows).select(*(f"`{name}`" for name in rows.columns))
        assert sorted(found.collect(), key=lambda row: row["row"]) == sorted(rows.collect(), key=lambda row: row["row"])
        assert found.schema.simpleString() == rows.schema.simpleString()
