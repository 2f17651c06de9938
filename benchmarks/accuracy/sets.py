"""The data sets as frames, and their splits into training and test rows.

A column of text is a category, a null is a missing value, and the column `target` is the target. Development sets are
read from $LOCALSVM_DATA and from packages; `reserve` has those that are kept for a final comparison.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
import pandas as pd

from benchmarks.accuracy.reserve import SOURCES, read_reserve
from benchmarks.sets import POSITIVE, data_folder, read

MOST_ROWS, MOST_TRAIN = 100_000, 80_000  # of a larger set: 80 000 training rows and the next 20 000 for testing
FEW_ROWS, SPLITS_OF_FEW = 50_000, 3  # with fewer training rows, differences between splits matter


@dataclass(frozen=True)
class DataSet:
    """A data set: its name, what is predicted, and its number of rows."""

    name: str
    kind: str
    """`binary`, `multiclass` or `regression`."""
    n_rows: int
    read: Callable[[], pd.DataFrame]
    mixed: bool
    reserve: bool = False

    @property
    def n_train(self) -> int:
        return MOST_TRAIN if self.n_rows > MOST_ROWS else self.n_rows * 4 // 5

    def sizes(self, most_train: int | None = None) -> tuple[int, int]:
        """Return the numbers of training and test rows, with at most so many for training."""
        n_test = min(self.n_rows, MOST_ROWS) - self.n_train
        if most_train and most_train < self.n_train:
            return most_train, max(1, n_test * most_train // self.n_train)
        return self.n_train, n_test

    @property
    def n_splits(self) -> int:
        return SPLITS_OF_FEW if self.n_train < FEW_ROWS else 1


@dataclass(frozen=True)
class Split:
    """Training and test rows; classes are coded 0, 1, ..., numbers standardized on the training rows."""

    train: pd.DataFrame
    test: pd.DataFrame
    n_classes: int


@lru_cache(maxsize=1)
def read_split(chosen: DataSet, number: int, most_train: int | None = None) -> Split:
    """Return a split: the first rows of a random order train, the next ones test."""
    frame = chosen.read()
    if len(frame) != chosen.n_rows:
        raise SystemExit(f"{chosen.name} has {len(frame)} rows; the comparison is made for {chosen.n_rows}.")
    n_train, n_test = chosen.sizes(most_train)
    order = np.random.default_rng(number).permutation(len(frame))[: n_train + n_test]
    n_classes = 0
    if chosen.kind == "regression":
        y = frame["target"].to_numpy(dtype=np.float64)
        trained = y[order[:n_train]]
        frame["target"] = (y - trained.mean()) / trained.std()
    else:
        classes, frame["target"] = np.unique(frame["target"].to_numpy(), return_inverse=True)
        n_classes = len(classes)
    rows = frame.iloc[order].reset_index(drop=True)
    return Split(rows.iloc[:n_train], rows.iloc[n_train:].reset_index(drop=True), n_classes)


def _read_mixed(name: str, folder: str) -> pd.DataFrame:
    return pd.read_parquet(data_folder() / folder / f"{name}.parquet")


def _read_numbers(name: str) -> pd.DataFrame:
    X, y = read(_FILES.get(name, name))
    frame = pd.DataFrame(X, columns=[f"x{column}" for column in range(X.shape[1])])
    return frame.assign(target=y == POSITIVE[name] if name in POSITIVE else y)


_FILES = {"kin40k": "reg_kin40k", "protein": "reg_protein", "bike": "bike_sharing_hour"}
_OWN_FOLDER = ("adult", "census_income", "flights", "metro_traffic")
_MIXED = {
    "binary": {
        **{"adult": 48_842, "census_income": 200_000, "flights": 120_000, "hotel_cancellation": 60_000},
        **{"stroke": 43_400, "bird_strikes": 19_300, "hr_job_change": 19_158, "nhanes_diabetes": 11_769},
        **{"telco_churn": 7043},
    },
    "multiclass": {"houston_crime": 60_000, "rodent_species": 34_666, "chile_vote": 2532},
    "regression": {
        **{"metro_traffic": 40_575, "gss_wages": 37_887, "kc_house": 21_613, "video_game_sales": 16_717},
        **{"ames_housing": 2930},
    },
}
_NUMERIC = {
    "binary": {
        **{"covtype": 581_012, "cod-rna": 331_152, "skin": 245_057, "ijcnn1": 49_990, "higgs_26k": 25_970},
        **{"susy_10k": 10_000, "magic": 19_020, "phoneme": 5404, "spambase": 4597, "breast_cancer": 569},
    },
    "multiclass": {
        **{"gas_drift_partial": 6697, "letter-recognition": 20_000, "penbased": 10_992, "satimage": 6435},
        **{"optdigits": 5620, "texture": 5500, "digits": 1797},
    },
    "regression": {"protein": 45_730, "kin40k": 40_000, "bike": 17_379, "diamonds": 53_940, "diabetes": 442},
}


def _sets() -> list[DataSet]:
    mixed = [
        DataSet(name, kind, n_rows, partial(_read_mixed, name, name if name in _OWN_FOLDER else "mixed"), mixed=True)
        for kind, sizes in _MIXED.items()
        for name, n_rows in sizes.items()
    ]
    numeric = [
        DataSet(name, kind, n_rows, partial(_read_numbers, name), mixed=False)
        for kind, sizes in _NUMERIC.items()
        for name, n_rows in sizes.items()
    ]
    reserve = [
        DataSet(name, source.kind, source.n_rows, partial(read_reserve, name), source.mixed, reserve=True)
        for name, source in SOURCES.items()
    ]
    return mixed + numeric + reserve


SETS = {chosen.name: chosen for chosen in _sets()}
