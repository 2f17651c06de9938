"""Prediction and evaluation of files, a few batches at a time, in order."""

import threading
from dataclasses import replace
from itertools import count, islice

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from localsvm import InvalidData, LocalSVC
from localsvm.data.files import Schema, TableFile, open_file
from localsvm.evaluation.streaming import evaluate_file, predict_batches

ROWS = 50


@pytest.fixture(scope="module")
def clf():
    return LocalSVC(grid=2).fit([[0.0], [0.1], [1.0], [1.1]], ["a", "a", "b", "b"])


def batch(number):
    return pa.record_batch({"id": np.full(ROWS, number), "x": np.linspace(0.0, 1.2, ROWS)})


def table_file(batches):
    """A file of these batches, which are made when they are read."""
    schema = Schema.of(batch(0).schema, "made up")
    return TableFile("made up", schema, None, lambda names, rows: (found.select(names) for found in batches))


def test_an_endless_file_is_read_only_a_few_batches_ahead(clf):
    read = []

    def endless():
        for number in count():
            read.append(number)
            yield batch(number)

    expected = clf.predict(batch(0).column("x").to_numpy()[:, None]).tolist()
    predictions = predict_batches(clf, table_file(endless()), keep=["id"], target="id", rows=ROWS)
    for number, found in enumerate(islice(predictions, 20)):
        assert found.to_pydict() == {"id": [number] * ROWS, "prediction": expected}
        assert len(read) <= number + 12
    predictions.close()


def test_stopping_early_leaves_no_threads(clf):
    before = threading.active_count()
    predictions = predict_batches(clf, table_file(map(batch, range(100))), target="id", rows=ROWS)
    next(predictions)
    predictions.close()
    assert threading.active_count() == before


def test_an_error_of_a_later_batch_is_raised_after_the_predictions_of_earlier_ones(clf):
    def damaged():
        yield from map(batch, range(9))
        raise OSError("the disk is gone")

    found = []
    with pytest.raises(InvalidData, match="made up cannot be read: the disk is gone"):
        for predicted in predict_batches(clf, table_file(damaged()), keep=["id"], target="id", rows=ROWS):
            found += predicted["id"].unique().to_pylist()
    assert found == list(range(8))  # the last one waits for rows to be joined with


def test_dates_and_categories_are_predicted_as_those_of_a_data_frame():
    rng = np.random.default_rng(0)
    when = pd.Timestamp("2021-03-01") + pd.to_timedelta(rng.integers(0, 9000, 300), unit="h")
    frame = pd.DataFrame({"when": when, "town": rng.choice(["Aachen", "Bonn", "Calw"], 300)})
    clf = LocalSVC(grid=2).fit(frame, when.hour > 11)
    expected = clf.predict(frame).tolist()
    for table in (
        pa.Table.from_pandas(frame),
        pa.table({"when": when.strftime("%Y-%m-%d %H:%M"), "town": frame["town"]}),
    ):
        file = open_file(table)
        if file.schema["when"].kind == "category":  # as csv files have it
            columns = tuple(
                replace(column, kind="date") if column.name == "when" else column for column in file.schema.columns
            )
            file = replace(file, schema=Schema(columns))
        found = [value for batch in predict_batches(clf, file, rows=70) for value in batch["prediction"].to_pylist()]
        assert found == expected
    with pytest.raises(InvalidData, match=r"column 'when' of .* has type int64, but it was a date in training"):
        predict_batches(clf, open_file(pa.table({"when": [1], "town": ["Bonn"]})))


@pytest.mark.parametrize("rows", [1, 7, 100])
def test_batches_of_any_size_give_the_same_evaluation(clf, rows):
    x = np.linspace(0.0, 1.2, 40)
    truth, weight = np.where(x > 0.4, "b", "a"), np.arange(40) % 3 + 1.0
    file = open_file(pa.table({"x": x, "kind": truth, "w": weight}))
    told = []
    found = evaluate_file(clf, file, "kind", "w", rows=rows, on_rows=lambda done, _: told.append(done))
    error = np.average(clf.predict(x[:, None]) != truth, weights=weight)
    assert found.headline.value == pytest.approx(error)
    assert told[-1] == found.n_rows == 40
