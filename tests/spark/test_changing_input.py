"""A data frame whose rows change between two passes is refused: its rows would not be those that were counted."""

import numpy as np
import pytest
from pyspark.sql import functions as F
from spark_frames import frame_of, in_order
from spark_problems import two_classes

from localsvm.errors import InvalidData
from localsvm.spark import LocalSVMClassifier, LocalSVMRegressor

X, Y = two_classes(600)
FEW = {"grid": 2, "n_folds": 2, "cell_size": 100, "scaling": "minmax", "relevance": None, "kernel": "gauss"}
CHANGED, OTHER_VALUES = "changed between two passes over its rows:", ".* some of them have other values"


def random_numbers():
    def number(_):
        import numpy  # that of the worker, without a seed

        return numpy.random.default_rng().uniform()

    return F.udf(number, "double").asNondeterministic()("x0")


def changing_rows(session):
    return frame_of(session, X, label=Y).where(random_numbers() < 0.9)


def changing_values(session):
    return frame_of(session, X, label=Y).withColumn("features", F.array("x1", random_numbers()))


def changing_labels(session):
    return frame_of(session, X, label=Y).withColumn("label", F.signum(random_numbers() - 0.5))


@pytest.mark.parametrize("coarse_size", [200, 1000], ids=["coarse cells are counted", "one task"])
@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (changing_rows, rf"{CHANGED} (.* had \d+ rows at first, and \d+ later|{OTHER_VALUES})"),  # by chance as many
        (changing_values, f"{CHANGED} {OTHER_VALUES}"),
        (changing_labels, f"{CHANGED} {OTHER_VALUES}"),
    ],
    ids=["rows", "values", "labels"],
)
def test_rows_that_change_between_two_passes_raise(spark, frame, message, coarse_size):
    with pytest.raises(InvalidData, match=f"{message}.*checkpoint"):
        LocalSVMClassifier(**FEW, coarse_size=coarse_size).fit(frame(spark))


def test_a_label_that_only_a_later_pass_sees_raises(spark):
    label = F.when(F.col("row") < 5, F.floor(1e9 * random_numbers())).otherwise(F.col("label"))
    with pytest.raises(InvalidData, match=r"changed between two passes over its rows: label \S+ is new"):
        LocalSVMClassifier(**FEW).fit(frame_of(spark, X, label=Y).withColumn("label", label))


def test_files_that_are_gone_raise(spark, tmp_path):
    frame_of(spark, X, label=Y).drop("features").write.parquet(str(tmp_path / "rows"))
    frame = spark.read.parquet(str(tmp_path / "rows"))
    for file in (tmp_path / "rows").glob("*.parquet"):
        file.unlink()
    with pytest.raises(InvalidData, match=r"changed between two passes over its rows: .*part-\S+\.parquet' is gone"):
        LocalSVMClassifier(**FEW, featuresCol=["x0", "x1"]).fit(frame)


def fit_changing_rows(session):
    LocalSVMClassifier(**FEW).fit(changing_rows(session))


def test_rows_that_change_raise_in_connect_mode(connect):
    with pytest.raises(RuntimeError, match=r"localsvm\.errors\.InvalidData: the data frame changed between two passes"):
        connect.run(fit_changing_rows)


def test_a_checkpointed_frame_trains(spark):
    frame = changing_rows(spark).localCheckpoint()
    model = LocalSVMClassifier(**FEW, coarse_size=200).fit(frame)
    assert sum(task["rows"] for task in model.task_report) == frame.count()


def test_neither_order_nor_partitions_are_a_change(spark):
    """Weights, duplicates and zeros of both signs, in another order in every pass."""
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.normal(size=(200, 2)).round(1), 2, axis=0)
    target, weight = rng.choice([-0.0, 0.0, 1.5], size=400), rng.choice([0.0, 1.0, 2.5], size=400)
    frame = frame_of(spark, rows, label=target, weight=weight).orderBy(random_numbers())
    regressor = LocalSVMRegressor(grid=2, n_folds=2, cell_size=50, coarse_size=100, weightCol="weight")
    (prediction,) = in_order(regressor.fit(frame).transform(frame), "prediction")
    assert np.isfinite(prediction).all()
