"""Groups and times on Spark: the model of a fit without Spark, to the bit, whatever the type of their column."""

import numpy as np
import pytest
from pyspark.sql import functions as F
from spark_frames import frame_of, without_seconds
from spark_problems import PROBLEMS, two_classes

from localsvm import LocalSVC
from localsvm.errors import InvalidData, InvalidParameter
from localsvm.spark import LocalSVMClassificationModel, LocalSVMClassifier, LocalSVMRegressor

RATES, NUMBERS = PROBLEMS["weights, duplicates, rates"], PROBLEMS["numbers"]
GROUPS = {
    "text": lambda column: F.concat(F.lit("person "), column.cast("string")),
    "integers": lambda column: column,
    "numbers": lambda column: F.when(column == 0, F.lit(-0.0)).otherwise(column / 7),
    "dates": lambda column: F.date_add(F.lit("2024-01-01").cast("date"), column.cast("int")),
}
TIMES = {
    "integers": lambda column: column + F.lit(2**62),
    "numbers": lambda column: (column - 20) / 7,
    "dates": GROUPS["dates"],
    "timestamps": lambda column: F.timestamp_seconds(column * 1800 + 1729989000),
    # Half hours of a night in which clocks are put forward: as instants, some would change places.
    "local times": lambda _: F.expr("timestamp_ntz'2024-03-30 16:15:00' + make_dt_interval(0, 0, int(number) * 30)"),
}


@pytest.fixture
def berlin(spark):
    name = "spark.sql.session.timeZone"
    before = spark.conf.get(name)
    spark.conf.set(name, "Europe/Berlin")
    yield
    spark.conf.set(name, before)


def ties_of(problem, seed=0):
    return np.random.default_rng(seed).integers(0, 40, len(problem.y))


def frame(session, problem, number, convert):
    columns = {"label": problem.y, "number": number}
    if problem.weight is not None:
        columns["weight"] = problem.weight
    return frame_of(session, problem.X, **columns).withColumn("tie", convert(F.col("number")))


@pytest.mark.parametrize("kind", GROUPS)
def test_groups_make_the_model_of_a_fit_without_spark(spark, kind):
    number = ties_of(RATES)
    rows = frame(spark, RATES, number, GROUPS[kind])
    model = LocalSVMClassifier(**RATES.on_spark, weightCol="weight", groupsCol="tie").fit(rows)
    twin = RATES.fit_without_spark(model.coarse_cells, groups=number)
    assert len(model.coarse_cells) > 1
    assert without_seconds(model.toLocal().model_) == without_seconds(twin.model_)
    plain = RATES.fit_without_spark(model.coarse_cells)
    assert without_seconds(plain.model_) != without_seconds(twin.model_)


@pytest.mark.parametrize("kind", TIMES)
def test_times_make_the_model_of_a_fit_without_spark(spark, berlin, kind):
    number = ties_of(NUMBERS)
    rows = frame(spark, NUMBERS, number, TIMES[kind])
    model = LocalSVMRegressor(**NUMBERS.on_spark, timeCol="tie").fit(rows)
    twin = NUMBERS.fit_without_spark(model.coarse_cells, time=number)
    assert without_seconds(model.toLocal().model_) == without_seconds(twin.model_)


def test_what_a_sample_chooses_is_chosen_for_groups(spark):
    X, y = two_classes(3000)
    groups = np.random.default_rng(0).integers(0, 100, 3000)
    rows = frame_of(spark, X, label=y, tie=groups)
    settings = {"cell_size": 400, "n_folds": 2, "grid": 2}  # and kernel, weights of features, scaling
    model = LocalSVMClassifier(**settings, groupsCol="tie").fit(rows)
    twin = LocalSVC(**settings, members=1, n_jobs=1).fit(X, y, groups=groups)
    assert without_seconds(model.toLocal().model_) == without_seconds(twin.model_)


def classify_by_groups(session, path):
    number = ties_of(RATES)
    rows = frame(session, RATES, number, GROUPS["text"])
    settings = {**RATES.on_spark, "weightCol": "weight", "groupsCol": "tie", "checkpoint": path + "-cells"}
    LocalSVMClassifier(**settings).fit(rows).save(path)
    model = LocalSVMClassificationModel.load(path)
    return model.coarse_cells, without_seconds(model.toLocal().model_), model.getOrDefault(model.groupsCol)


def test_groups_in_connect_mode_make_the_same_model(connect, tmp_path):
    coarse, found, column = connect.run(classify_by_groups, str(tmp_path / "model"))
    twin = RATES.fit_without_spark(coarse, groups=ties_of(RATES))
    assert found == without_seconds(twin.model_)
    assert column == "tie"


def test_a_checkpoint_has_the_cells_of_its_groups_only(spark, tmp_path):
    estimator = LocalSVMRegressor(**NUMBERS.on_spark, checkpoint=str(tmp_path))
    rows = frame(spark, NUMBERS, ties_of(NUMBERS), TIMES["integers"]).withColumn("other", F.col("number") % 7)
    by = [{}, {"timeCol": "tie"}, {"groupsCol": "tie"}, {"groupsCol": "other"}, {"timeCol": "tie"}]
    models = [estimator.copy().setParams(**columns).fit(rows) for columns in by]
    found = [without_seconds(model.toLocal().model_) for model in models]
    assert len(set(found)) == 4
    assert found[1] == found[4]
    assert len(list(tmp_path.glob("fit-*"))) == 4


NAN = float("nan")


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        (
            {"groupsCol": "gap"},
            InvalidData,
            "column 'gap' is null, NaN or infinite in 1 of 3 rows, but every row needs",
        ),
        ({"groupsCol": "number"}, InvalidData, "column 'number' is null, NaN or infinite in 1 of 3 rows"),
        ({"timeCol": "number"}, InvalidData, "column 'number' is null, NaN or infinite in 2 of 3 rows"),
        ({"groupsCol": "same"}, InvalidData, "column 'same' has a single group: at least two are needed"),
        ({"timeCol": "day"}, InvalidData, "column 'day' has a single time: at least two are needed"),
        ({"timeCol": "same"}, InvalidData, "column 'same' has type string, but timeCol needs numbers, dates or"),
        ({"groupsCol": "nobody"}, InvalidParameter, "groupsCol='nobody', but the columns are 'features', 'label'"),
        ({"groupsCol": "same", "timeCol": "day"}, InvalidParameter, "groupsCol='same' and timeCol='day' are both set"),
    ],
)
def test_groups_and_times_that_say_nothing_are_refused(spark, parameters, error, message):
    schema = "features array<double>, label double, gap string, number double, same string, day int"
    rows = [([0.0], 1.0, "a", NAN, "x", 3), ([1.0], 2.0, None, 1.0, "x", 3), ([2.0], 3.0, "b", np.inf, "x", 3)]
    with pytest.raises(error, match=message):
        LocalSVMRegressor(**parameters).fit(spark.createDataFrame(rows, schema))
