"""Makes tests/storage/golden/format-N: model files of the present format N, and what their models predict.

    python tools/make_golden_models.py

Files of a format that was released are never made again: they are what users have. So this runs once for every format,
and refuses to run where the folder is there.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from localsvm import Grid, LocalExpectileRegressor, LocalQuantileRegressor, LocalSVC, LocalSVR
from localsvm.data import toy_mixture
from localsvm.storage.model_file import FORMAT_VERSION

TARGET = Path(__file__).parents[1] / "tests" / "storage" / "golden" / f"format-{FORMAT_VERSION}"
N_ROWS = 60
# Large lams make small coefficients, so that sums round to about the same on every processor.
SMALL = {"grid": Grid(n_widths=2, lams=(0.1, 0.01)), "n_folds": 2, "cell_size": 20, "n_jobs": 1}


def frame_of(X):
    """Two columns of numbers, of which one has gaps, and one of text."""
    colour = np.array(["blue", "green", "red"])[np.digitize(X[:, 1], [-0.5, 0.5])]
    return pd.DataFrame({"size": X[:, 0], "colour": colour, "age": np.where(X[:, 1] > 1, np.nan, X[:, 1])})


def models():
    """By name: an estimator, its rows and targets."""
    X, y = toy_mixture(N_ROWS, 2, random_state=0)
    three = np.array(["one", "three", "two"])[np.digitize(X[:, 0], [0.0, 0.7])]
    wave = np.sin(3 * X[:, 0]) + X[:, 1]
    text = {**SMALL, "missing": "impute", "positive_weights": [0.5, 2.0], "class_weight": {-1: 1.0, 1: 2.0}}
    return {
        "machines": (LocalSVC(**text), frame_of(X), y.astype(int)),
        "pairs": (LocalSVC(**SMALL, partition="chunks", scaling="standard"), X, three),
        "rest": (LocalSVC(**SMALL, multiclass="ovr", loss="squared", partition="none", kernel="laplace"), X, three),
        "targets": (LocalSVR(**SMALL, partition="overlap", scaling="quantile"), X, np.column_stack([wave, -wave])),
        "tube": (LocalSVR(**SMALL, loss="epsilon_insensitive", refit="combine", search="racing"), X, wave),
        "quantiles": (LocalQuantileRegressor(**SMALL, quantile=[0.9, 0.1], scaling=None), X, wave),
        "expectile": (LocalExpectileRegressor(**SMALL, expectile=0.3, partition="radius", cell_radius=0.4), X, wave),
    }


def main() -> None:
    """Fit, save, predict, write."""
    TARGET.mkdir(parents=True)
    points, _ = toy_mixture(25, 2, random_state=1)
    for name, (estimator, X, y) in models().items():
        rows = frame_of(points) if isinstance(X, pd.DataFrame) else points
        estimator.fit(X, y).save(TARGET / f"{name}.lsvm", info={"name": name})
        methods = ("predict", "decision_function", "predict_proba")
        expected = {method: getattr(estimator, method)(rows) for method in methods if hasattr(estimator, method)}
        np.savez_compressed(TARGET / f"{name}.npz", points=points, **expected)
    print(f"{TARGET}: {sum(file.stat().st_size for file in TARGET.iterdir()) / 1000:.0f} kB")


if __name__ == "__main__":
    main()
