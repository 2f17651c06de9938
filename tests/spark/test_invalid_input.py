"""Invalid rows and parameters raise errors that name the column and count the rows, before any training."""

import numpy as np
import pytest
from pyspark.ml.linalg import Vectors, VectorUDT
from pyspark.sql.types import StructField, StructType
from spark_frames import frame_of, in_order
from spark_problems import PROBLEMS, two_classes

from localsvm.errors import InvalidData, InvalidParameter, LocalSVMError
from localsvm.spark import LocalSVMClassifier, LocalSVMRegressor, TprTnrEvaluator

NAN = float("nan")


def rows_of(session, *rows, schema="features array<double>, label double, weight double"):
    return session.createDataFrame(list(rows), schema)


GOOD = ([0.0, 1.0], 0.0, 1.0)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([GOOD, (None, 1.0, 1.0)], "column 'features' is null in 1 of 2 rows"),
        ([GOOD, ([1.0], 1.0, 1.0)], "column 'features' has different numbers of features: 1 in 1 rows, 2 in 1 rows"),
        ([GOOD, ([], 1.0, 1.0)], "different numbers of features: 0 in 1 rows, 2 in 1 rows"),
        ([([], 0.0, 1.0), ([], 1.0, 1.0)], "vectors of size 0 in 2 rows"),
        ([GOOD, ([0.0, NAN], 1.0, 1.0)], "element 1 of column 'features' is null, NaN or infinite in 1 of 2 rows"),
        ([GOOD, ([None, 1.0], 1.0, 1.0)], "element 0 of column 'features' is null, NaN or infinite in 1 of 2 rows"),
        ([GOOD, ([np.inf, NAN], 1.0, 1.0)], r"in 1 of 2 rows \(and 1 more such feature\)"),
        ([GOOD, ([1.0, 1.0], None, 1.0)], "column 'label' is null, NaN or infinite in 1 of 2 rows"),
        ([GOOD, ([1.0, 1.0], NAN, 1.0)], "column 'label' is null, NaN or infinite in 1 of 2 rows"),
        ([GOOD, ([1.0, 1.0], 1.0, -1.0)], "column 'weight' is null, NaN, infinite or negative in 1 of 2 rows"),
        ([GOOD, ([1.0, 1.0], 1.0, None)], "column 'weight' is null, NaN, infinite or negative in 1 of 2 rows"),
        ([([1.0, 1.0], 1.0, 0.0)] * 3, "column 'weight' is 0 in all 3 rows"),
        ([GOOD, ([1.0, 1.0], 1.0, 0.0)], r"column 'label' contains only one class \(0\) in 1 rows"),
        ([([float(i), 0.0], i + 0.5, 1.0) for i in range(1001)], "more than 1000 classes in 1001 rows"),
        ([], "the data frame has 0 rows"),
    ],
)
def test_invalid_rows_raise_with_column_and_count(spark, rows, message):
    with pytest.raises(InvalidData, match=message):
        LocalSVMClassifier(weightCol="weight").fit(rows_of(spark, *rows))


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        (
            {"featuresCol": "feature"},
            InvalidParameter,
            "featuresCol='feature', but the columns are 'features', 'label'",
        ),
        ({"featuresCol": ["label", "y"]}, InvalidParameter, "featuresCol='y', but the columns are"),
        ({"featuresCol": []}, InvalidParameter, "names no columns"),
        ({"labelCol": "y"}, InvalidParameter, "labelCol='y', but the columns are"),
        ({"weightCol": "w"}, InvalidParameter, "weightCol='w', but the columns are"),
        (
            {"labelCol": "name"},
            InvalidData,
            "column 'name' has type string, but labelCol needs numbers. Convert text with StringIndexer",
        ),
        ({"featuresCol": "name"}, InvalidData, "column 'name' has type string: give a column of vectors"),
        ({"cell_size": 0}, InvalidParameter, "cell_size=0: give .auto. or an integer of at least 1"),
        ({"coarse_size": 0}, InvalidParameter, "coarse_size=0: an integer of at least 1"),
        ({"objective": "speed"}, InvalidParameter, "objective='speed' is not available"),
        ({"class_weight": {3: 1.0}}, InvalidParameter, r"class_weight names 3.0, but the classes are \[0.0, 1.0\]"),
        ({"scaling": "log"}, InvalidParameter, "scaling='log' is not available"),
    ],
)
def test_invalid_parameters_raise(spark, parameters, error, message):
    frame = rows_of(
        spark, ([0.0], 0.0, "a"), ([1.0], 1.0, "b"), schema="features array<double>, label double, name string"
    )
    with pytest.raises(error, match=message):
        LocalSVMClassifier(**parameters).fit(frame)


def test_unknown_parameters_raise_in_the_constructor():
    with pytest.raises(InvalidParameter, match="LocalSVMRegressor has no parameter 'cells'"):
        LocalSVMRegressor(cells=3)


def test_empty_partitions_change_nothing(spark):
    frame = rows_of(spark, ([0.0], 0.0, 1.0), ([0.1], 0.0, 1.0), ([1.0], 1.0, 1.0), ([1.1], 1.0, 1.0)).repartition(9)
    model = LocalSVMClassifier(grid=2, n_folds=2).fit(frame)
    assert model.task_report[0]["rows"] == 4
    assert model.transform(frame).count() == 4
    assert model.transform(frame.limit(0)).count() == 0


@pytest.mark.parametrize("by", ["broadcast", "shuffle"])
@pytest.mark.parametrize(
    ("features", "message"),
    [
        (None, "is null or does not have 2 features, as in training, in 1 of the 1 rows"),
        (Vectors.dense([1.0]), "is null or does not have 2 features"),
        (Vectors.dense([1.0, NAN]), "has null, NaN or infinite features in 1 of the 1 rows"),
    ],
)
def test_invalid_rows_raise_in_transform(small_model, spark, by, features, message):
    frame = spark.createDataFrame([(features,)], StructType([StructField("features", VectorUDT())]))
    with pytest.raises(Exception, match=f"column 'features' {message}"):
        small_model.copy({small_model.transform_by: by}).transform(frame).collect()


@pytest.fixture(scope="module")
def small_model(spark):
    X, y = two_classes(200)
    return LocalSVMClassifier(grid=2, n_folds=2, cell_size=60, coarse_size=100).fit(frame_of(spark, X[:, :2], label=y))


def test_an_unknown_transform_by_raises(small_model, spark):
    with pytest.raises(InvalidParameter, match="transform_by='fast' is not available"):
        small_model.copy({small_model.transform_by: "fast"}).transform(spark.range(1))


def test_sparse_and_dense_vectors_are_equivalent(small_model, spark):
    rows = [(0, Vectors.dense([0.0, 0.5])), (1, Vectors.sparse(2, [1], [0.5]))]
    frame = spark.createDataFrame(rows, ["row", "features"])
    (probability,) = in_order(small_model.transform(frame), "probability")
    assert np.array_equal(probability[0], probability[1])


def test_tpr_tnr_needs_rows_of_both_classes(spark):
    frame = spark.createDataFrame([(1.0, 1.0)], "label double, prediction double")
    with pytest.raises(LocalSVMError, match="column 'label' has no rows with label 1, or only such rows"):
        TprTnrEvaluator().evaluate(frame)


def test_a_level_outside_of_0_and_1_raises(spark):
    problem = PROBLEMS["numbers"]
    with pytest.raises(InvalidParameter, match=r"level=1\.5: a number between 0 and 1"):
        LocalSVMRegressor(loss="quantile", level=1.5).fit(frame_of(spark, problem.X, label=problem.y))
