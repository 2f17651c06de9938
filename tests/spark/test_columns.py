"""Columns of the caller's frame: none is lost or replaced, whatever their names, types and order."""

import pytest
from pyspark.mllib.linalg import Vectors as OldVectors
from pyspark.sql import functions as F

from localsvm.errors import InvalidData, InvalidParameter
from localsvm.spark import LocalSVMClassifier

WAYS = ["broadcast", "shuffle"]
every_way = pytest.mark.parametrize("way", WAYS)


@pytest.fixture(scope="module")
def rows(spark):
    """Rows of two classes: `features`, `label`, `id`."""
    values = [([float(i), float(i % 7)], float(i > 30), i) for i in range(60)]
    return spark.createDataFrame(values, "features array<double>, label double, id int").cache()


@pytest.fixture(scope="module")
def model(rows):
    return LocalSVMClassifier(grid=2, n_folds=2).fit(rows)


def by(model, way, **names):
    found = model.copy({model.transform_by: way})
    for name, value in names.items():
        found.set(getattr(found, name), value)
    return found


@every_way
@pytest.mark.parametrize("name", ["label", "LABEL", "Features"])
def test_predictions_do_not_replace_a_column_of_the_frame(rows, model, way, name):
    with pytest.raises(InvalidParameter, match=f"predictionCol='{name}', but the data frame has a column"):
        by(model, way, predictionCol=name).transform(rows)


@every_way
def test_a_column_that_differs_in_case_from_that_of_features_is_found(rows, model, way):
    found = by(model, way, featuresCol="FEATURES").transform(rows)
    assert found.columns[:3] == rows.columns
    assert found.count() == rows.count()


def test_names_that_differ_in_case_are_found_in_training_as_in_spark(rows):
    assert LocalSVMClassifier(featuresCol="FEATURES", labelCol="Label", grid=2, n_folds=2).fit(rows).n_cells == 1


def test_case_matters_where_the_session_says_so(spark, rows):
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        with pytest.raises(InvalidParameter, match="featuresCol='FEATURES', but the columns are"):
            LocalSVMClassifier(featuresCol="FEATURES").fit(rows)
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


def test_whether_case_matters_is_asked_once_per_call(spark, model, monkeypatch):
    """In Connect mode every question is a round trip to the server."""
    asked, configuration = [], type(spark.conf)
    get = configuration.get
    monkeypatch.setattr(configuration, "get", lambda conf, key, *default: asked.append(key) or get(conf, key, *default))
    wide = spark.range(3).selectExpr(*(f"double(id) AS x{j}" for j in range(20)))
    found = by(model, "broadcast", featuresCol=[f"X{j}" for j in range(20)]).transform(wide)
    assert len(found.columns) == 23
    assert asked.count("spark.sql.caseSensitive") == 1


@every_way
def test_columns_of_the_same_name_stay_both(rows, model, way):
    twice = rows.select("features", "id", (F.col("id") * 2).alias("id"), F.col("id").alias("c0"))
    found = by(model, way).transform(twice)
    assert found.columns[:4] == ["features", "id", "id", "c0"]
    assert all(row[2] == 2 * row[1] and row[3] == row[1] for row in found.collect())


NOT_IN_ARROW = {
    "make_interval(0, 1)": "calendar intervals",
    "map(id, array(make_interval(0, 1)))": "calendar intervals",
    "struct(INTERVAL '1-2' YEAR TO MONTH AS every)": "calendar intervals",
    "array(struct(id AS a, id AS a))": "structs with a name twice",
}


@pytest.mark.parametrize("column", NOT_IN_ARROW)
def test_what_arrow_does_not_transfer_goes_with_a_broadcast_and_is_refused_by_shuffle(rows, model, monkeypatch, column):
    more = rows.withColumn("more", F.expr(column))
    with pytest.raises(InvalidParameter, match=rf"column 'more' has {NOT_IN_ARROW[column]}.*transform_by='broadcast'"):
        by(model, "shuffle").transform(more)
    monkeypatch.setattr("localsvm.spark.predict.BROADCAST_BYTES", 0)  # "auto" would shuffle other rows
    found = by(model, "auto").transform(more)
    assert found.select("more", "prediction").where("more IS NOT NULL").count() == 60
    assert found.schema["more"] == more.schema["more"]


def test_a_stream_is_predicted_by_broadcast_and_refused_by_shuffle(spark, rows, model, tmp_path, monkeypatch):
    rows.write.parquet(str(tmp_path / "rows"))
    stream = spark.readStream.schema(rows.schema).parquet(str(tmp_path / "rows"))
    with pytest.raises(InvalidParameter, match=r"rows of a stream cannot be shuffled.*Use transform_by='broadcast'"):
        by(model, "shuffle").transform(stream)
    monkeypatch.setattr("localsvm.spark.predict.BROADCAST_BYTES", 0)  # "auto" would shuffle rows that are no stream
    found = by(model, "auto").transform(stream).select("id", "prediction")
    query = found.writeStream.format("memory").queryName("predicted").trigger(availableNow=True).start()
    query.awaitTermination(120)
    expected = {(row["id"], row["prediction"]) for row in model.transform(rows).collect()}
    assert {tuple(row) for row in spark.table("predicted").collect()} == expected


def test_vectors_of_the_old_package_are_told_apart(spark):
    frame = spark.createDataFrame(
        [(OldVectors.dense([0.0]), 0.0), (OldVectors.dense([1.0]), 1.0)], ["features", "label"]
    )
    with pytest.raises(InvalidData, match=r"old package pyspark\.mllib: convert them with MLUtils"):
        LocalSVMClassifier().fit(frame)
