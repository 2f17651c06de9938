"""Cyclic parts of dates are those of the calendar."""

import numpy as np
import pandas as pd
import pytest
from encoded import encoded

from localsvm.data.dates import days_of
from localsvm.data.encoding.cycles import phase_waves
from localsvm.data.table import Table

HOURS = pd.Series(pd.date_range("1896-02-27 01:30", "2104-03-05", periods=5000)).dt.floor("min")


@pytest.mark.parametrize(
    ("part", "phase"),
    [
        ("hour", (HOURS.dt.hour + HOURS.dt.minute / 60) / 24),
        ("weekday", HOURS.dt.day_of_week / 7),
        ("day of year", (HOURS.dt.day_of_year - 1) / 366),
    ],
)
def test_phases_are_those_of_pandas(part, phase):
    waves = phase_waves(days_of(HOURS.to_numpy(), "when"), part)
    angle = 2 * np.pi * phase.to_numpy()
    np.testing.assert_allclose(waves, np.column_stack([np.sin(angle), np.cos(angle)]), atol=1e-7)


def parts_of(dates):
    days = days_of(pd.Series(dates).to_numpy(), "when")
    view, found, _ = encoded(Table(days[:, None], dates=frozenset([0])), np.zeros((len(days), 1)))
    return {column.text.partition(",")[0][2:] for column in view.columns if column.kind == "cycle"}, found


@pytest.mark.parametrize(
    ("dates", "expected"),
    [
        (pd.date_range("2020-01-01", periods=900, freq="D"), {"weekday", "day of year"}),
        (pd.date_range("2020-01-01", periods=2000, freq="6h"), {"hour", "weekday", "day of year"}),
        (pd.date_range("2020-01-01", periods=90, freq="D"), {"weekday"}),
        (pd.date_range("2020-01-06", periods=200, freq="7D"), {"day of year"}),
        (pd.date_range("2020-01-01", periods=5, freq="D"), set()),
        (pd.date_range("2020-01-01", periods=20, freq="h"), {"hour"}),
    ],
)
def test_parts_are_used_where_they_vary_and_are_more_than_the_trend(dates, expected):
    assert parts_of(dates)[0] == expected


def test_a_date_is_its_days_and_waves_of_unit_variance():
    _, found = parts_of(pd.date_range("2020-01-01", periods=3000, freq="7h"))
    assert found[0, 0] == 18262.0 and np.diff(found[:, 0]) == pytest.approx(7 / 24)
    np.testing.assert_allclose(found[:, 1:].std(axis=0), 1.0, atol=0.06)


def test_a_missing_date_is_in_the_center_of_every_circle():
    _, found = parts_of([pd.NaT, *pd.date_range("2020-01-01", periods=3000, freq="7h")])
    assert found[0, 0] == np.median(found[1:, 0])
    assert (found[0] == 0).sum() == 6 and found[0, 1] > 0
