"""The comparison of probabilities and ranking: measures, noise, splits, and the reserve."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from benchmarks.accuracy.comparison import AHEAD, BEHIND, WITHIN, compared, last_runs
from benchmarks.accuracy.measures import PARTS, calibration_error, measured
from benchmarks.accuracy.programs import BETTER_LIGHTGBM, LAYOUT, run
from benchmarks.accuracy.sets import SETS, read_split
from benchmarks.accuracy.tables import tables
from sklearn.metrics import log_loss, roc_auc_score


def _runs(set_name, program, values, measure="auc", noise=0.0):
    """Return one run per value, with parts around it."""
    spread = noise * np.linspace(-1, 1, PARTS)
    lines = [
        dict(zip(LAYOUT.keys, (set_name, SETS[set_name].kind, 100, 25, split, program), strict=True))
        | {measure: value}
        | {f"{measure}_{part}": value + spread[part] for part in range(PARTS)}
        for split, value in enumerate(values)
    ]
    return pd.DataFrame(lines, columns=LAYOUT.columns)


def test_the_calibration_error_is_the_offset_of_the_probabilities():
    random = np.random.default_rng(0)
    truth = random.uniform(0.2, 0.7, 200_000)
    y = (random.random(len(truth)) < truth).astype(int)
    for offset in (0.0, 0.1, 0.2):
        claimed = truth + offset
        assert calibration_error(y, np.column_stack([1 - claimed, claimed])) == pytest.approx(offset, abs=0.01)


def test_measures_are_those_of_scikit_learn():
    random = np.random.default_rng(1)
    y, p = random.integers(0, 2, 500), random.random(500)
    figures = measured("binary", y, np.column_stack([1 - p, p]))
    assert figures["auc"] == pytest.approx(roc_auc_score(y, p))
    assert figures["log_loss"] == pytest.approx(log_loss(y, p))
    assert figures["log_loss"] == pytest.approx(np.mean([figures[f"log_loss_{part}"] for part in range(PARTS)]), 0.01)


def test_every_part_of_the_test_rows_has_both_classes():
    y = np.r_[np.ones(PARTS, dtype=int), np.zeros(500, dtype=int)]
    p = np.random.default_rng(2).random(len(y))
    figures = measured("binary", y, np.column_stack([1 - p, p]))
    assert all(f"auc_{part}" in figures for part in range(PARTS))


@pytest.mark.parametrize(
    ("name", "measure", "ours", "noise", "verdict"),
    [
        ("adult", "auc", 0.92, 0.0, AHEAD),
        ("adult", "auc", 0.88, 0.0, BEHIND),
        ("adult", "auc", 0.92, 0.3, WITHIN),
        ("kc_house", "rmse", 0.88, 0.0, AHEAD),
        ("kc_house", "rmse", 0.92, 0.0, BEHIND),
    ],
)
def test_a_difference_counts_if_it_exceeds_two_standard_errors(name, measure, ours, noise, verdict):
    runs = pd.concat(
        [_runs(name, "localsvm", [ours], measure, noise), _runs(name, "CatBoost", [0.9], measure)], ignore_index=True
    )
    assert compared(runs, "localsvm", "CatBoost", measure).verdict == verdict


def test_differences_between_splits_are_noise_even_if_parts_agree():
    runs = pd.concat([_runs("adult", "localsvm", [0.9, 0.95, 0.88]), _runs("adult", "CatBoost", [0.9, 0.9, 0.9])])
    assert compared(runs, "localsvm", "CatBoost", "auc").verdict == WITHIN


def test_of_lightgbm_the_better_setting_counts_by_split_and_by_measure():
    small = _runs("adult", "LightGBM", [0.9, 0.8]).assign(log_loss=0.3, processor_seconds=1.0)
    large = _runs("adult", "LightGBM 500 x 255", [0.7, 0.85]).assign(log_loss=0.6, processor_seconds=10.0)
    runs = last_runs(pd.concat([small, large]))
    better = runs[runs["program"] == BETTER_LIGHTGBM]
    assert list(better["auc"]) == [0.9, 0.85]
    assert list(better["log_loss"]) == [0.3, 0.3]
    assert list(better["processor_seconds"]) == [1.0, 10.0]


def test_a_split_is_the_random_order_of_its_number():
    chosen = SETS["breast_cancer"]
    frame, split = chosen.read(), read_split(chosen, 1)
    order = np.random.default_rng(1).permutation(len(frame))
    n_train = len(frame) * 4 // 5
    assert np.array_equal(split.train["x0"], frame["x0"].to_numpy()[order[:n_train]])
    assert np.array_equal(split.test["x0"], frame["x0"].to_numpy()[order[n_train:]])


def test_a_run_reports_measures_time_and_memory():
    chosen = SETS["breast_cancer"]
    figures = run("localsvm", chosen, read_split(chosen, 0, 200), limit=600)
    assert figures["auc"] > 0.9
    assert min(figures[name] for name in ("processor_seconds", "seconds", "predict_microseconds", "peak")) > 0


def test_a_run_that_exceeds_its_processor_seconds_reports_the_limit():
    chosen = SETS["digits"]  # 45 pairs of classes
    assert run("localsvm", chosen, read_split(chosen, 0), limit=1) == {"limit": 1}


def test_localsvm_is_not_run_on_the_reserve_by_accident():
    command = [sys.executable, "-m", "benchmarks.accuracy", "--sets", "attrition", "--programs", "localsvm"]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "--reserve" in refused.stderr


@pytest.mark.parametrize("reserve", [False, True])
def test_results_of_localsvm_on_the_reserve_are_shown_on_request_only(reserve):
    runs = pd.concat([_runs("attrition", "localsvm", [0.9]), _runs("attrition", "CatBoost", [0.8])], ignore_index=True)
    shown = {cell for table in tables(runs, reserve=reserve) for line in table.lines for cell in line}
    assert "0.8000" in shown
    assert ("0.9000" in shown) == reserve
