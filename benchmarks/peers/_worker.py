"""Runs inside a peer's environment: fits on arrays from a file, predicts, and saves the predictions.

Reads a JSON object from the standard input: "file", an .npz with X, y and X_test, "predictions", where they go,
"task" (classes, mean, quantiles), "program", "levels" of quantiles, and its "parameters".
Answers with a line of JSON: seconds and peak memory.

Settings are those that the peers' own documentation recommends: support vector machines work on standardised
features, with C and gamma found by cross-validation on a sample; boosted trees stop when a tenth of the rows, left
out, says so; the others have their defaults.
"""

from __future__ import annotations

import json
import sys
import time
import warnings

import numpy as np

N_TUNING = 2000
N_SUBSAMPLE = 10_000
N_COMPONENTS = 1000
CS = (0.3, 1.0, 10.0, 100.0)
GAMMAS = (0.03, 0.1, 0.3, 1.0, 3.0)  # over the number of features; 1 is scikit-learn's "scale" for standardised ones
LINEAR_CS = (1.0, 10.0)
ALPHAS = (1e-6, 1e-4, 1e-2)
N_TREES, LEARNING_RATE, PATIENCE, LEFT_OUT = 3000, 0.05, 50, 0.1


class Tuned:
    """Standardised features, a grid searched on a sample, then a fit on at most so many rows."""

    def __init__(self, machine, grid, most_rows=None, n_jobs=-1):
        self.machine, self.grid, self.most_rows, self.n_jobs = machine, grid, most_rows, n_jobs

    def fit(self, X, y):
        from joblib import parallel_config
        from sklearn.model_selection import GridSearchCV
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
        from threadpoolctl import threadpool_limits

        order = np.random.default_rng(0).permutation(len(y))
        pipeline = make_pipeline(StandardScaler(), *self.machine)
        sample = order[:N_TUNING]
        # Threads: the solvers leave Python's lock, and the memory is that of one process. With one for every core,
        # those of linear algebra would be in their way.
        limit = 1 if self.n_jobs == -1 else None
        with parallel_config(backend="threading", n_jobs=self.n_jobs), threadpool_limits(limit):
            search = GridSearchCV(pipeline, self.grid(X.shape[1]), cv=3, refit=False).fit(X[sample], y[sample])
        rows = order[: self.most_rows]
        self.model = pipeline.set_params(**search.best_params_).fit(X[rows], y[rows])

    def predict(self, X):
        return self.model.predict(X)


def _svm(module, task, most_rows=None):
    kind = module.SVC if task == "classes" else module.SVR
    name = kind.__name__.lower()
    is_thunder = module.__name__ == "thundersvm"  # has threads of its own, and does not bear others
    options = {} if is_thunder else {"cache_size": 1000}

    def grid(n_features):
        return {f"{name}__C": CS, f"{name}__gamma": [gamma / n_features for gamma in GAMMAS]}

    return Tuned([kind(**options)], grid, most_rows, n_jobs=1 if is_thunder else -1)


def svc(task, levels):
    from sklearn import svm

    return _svm(svm, task)


def svc_on_a_subsample(task, levels):
    from sklearn import svm

    return _svm(svm, task, N_SUBSAMPLE)


def svc_intelex(task, levels):
    from sklearnex import svm

    return _svm(svm, task)


def thundersvm(task, levels):
    import thundersvm as module

    return _svm(module, task)


def nystroem(task, levels):
    """Nystroem features, then a linear machine: hinge loss for classes, least squares for means."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import Ridge
    from sklearn.svm import LinearSVC

    if task == "classes":
        last, values = LinearSVC(), {"linearsvc__C": LINEAR_CS}
    else:
        last, values = Ridge(), {"ridge__alpha": ALPHAS}

    def grid(n_features):
        return {"nystroem__gamma": [gamma / n_features for gamma in GAMMAS]} | values

    return Tuned([Nystroem(n_components=N_COMPONENTS, random_state=0), last], grid)


class Split:
    """A model that takes some of the rows to validate on."""

    def __init__(self, fit, share=LEFT_OUT):
        self._fit, self._share = fit, share

    def fit(self, X, y):
        order = np.random.default_rng(0).permutation(len(y))
        left_out, rest = np.split(order, [max(1, int(self._share * len(y)))])
        self._predict = self._fit(X[rest], y[rest], X[left_out], y[left_out])

    def predict(self, X):
        return self._predict(X)


class Levels:
    """A model for each quantile."""

    def __init__(self, models):
        self.models = models

    def fit(self, X, y):
        for model in self.models:
            model.fit(X, y)

    def predict(self, X):
        return np.column_stack([model.predict(X) for model in self.models])


def lightgbm(task, levels):
    from lightgbm import LGBMClassifier, LGBMRegressor, early_stopping

    common = {"n_estimators": N_TREES, "learning_rate": LEARNING_RATE, "verbose": -1, "random_state": 0}

    def one(**options):
        kind = LGBMClassifier if task == "classes" else LGBMRegressor

        def fit(X, y, X_val, y_val):
            stop = [early_stopping(PATIENCE, verbose=False)]
            return kind(**common, **options).fit(X, y, eval_set=[(X_val, y_val)], callbacks=stop).predict

        return Split(fit)

    return one() if task != "quantiles" else Levels([one(objective="quantile", alpha=level) for level in levels])


def lightgbm_of_a_size(task, levels, **size):
    """As many trees and leaves as it is told, grown on all rows."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    return (LGBMClassifier if task == "classes" else LGBMRegressor)(verbose=-1, random_state=0, **size)


def xgboost(task, levels):
    from xgboost import XGBClassifier, XGBRegressor

    options = {"objective": "reg:quantileerror", "quantile_alpha": levels} if task == "quantiles" else {}
    options |= {"n_estimators": N_TREES, "learning_rate": LEARNING_RATE, "early_stopping_rounds": PATIENCE}

    def fit(X, y, X_val, y_val):
        kind = XGBClassifier if task == "classes" else XGBRegressor
        return kind(random_state=0, **options).fit(X, y, eval_set=[(X_val, y_val)], verbose=False).predict

    return Split(fit)


def histogram_boosting(task, levels):
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    common = {"max_iter": N_TREES, "learning_rate": LEARNING_RATE, "early_stopping": True, "random_state": 0}
    common |= {"validation_fraction": LEFT_OUT, "n_iter_no_change": PATIENCE}
    if task == "classes":
        return HistGradientBoostingClassifier(**common)
    if task == "mean":
        return HistGradientBoostingRegressor(**common)
    return Levels([HistGradientBoostingRegressor(loss="quantile", quantile=level, **common) for level in levels])


def xrfm(task, levels):
    """Its own defaults, with standardised features and a fifth of the rows to validate on, as its examples have it."""
    import torch
    from sklearn.preprocessing import StandardScaler
    from xrfm import xRFM

    torch.manual_seed(0)

    def fit(X, y, X_val, y_val):
        scaler = StandardScaler().fit(X)
        target = np.int64 if task == "classes" else np.float32
        model = xRFM(device=torch.device("cpu"), random_state=0, verbose=False)
        model.fit(scaler.transform(X), y.astype(target), scaler.transform(X_val), y_val.astype(target))
        return lambda rows: model.predict(scaler.transform(rows))

    return Split(fit, share=0.2)


PROGRAMS = {
    "SVC": svc,
    "SVC on 10 000 rows": svc_on_a_subsample,
    "SVC, intelex": svc_intelex,
    "ThunderSVM": thundersvm,
    "Nystroem + linear": nystroem,
    "xRFM": xrfm,
    "LightGBM": lightgbm,
    "LightGBM of a size": lightgbm_of_a_size,
    "XGBoost": xgboost,
    "HistGradientBoosting": histogram_boosting,
}


def _peak_bytes():
    with open("/proc/self/status") as status:
        return 1024 * int(status.read().partition("VmHWM:")[2].split()[0])


def _measure(task):
    with np.load(task["file"]) as arrays:
        X, y, X_test = arrays["X"], arrays["y"], arrays["X_test"]
    model = PROGRAMS[task["program"]](task["task"], task["levels"], **task["parameters"])
    begin = time.perf_counter()
    model.fit(X, y)
    fitted = time.perf_counter()
    predictions = model.predict(X_test)
    predicted = time.perf_counter()
    np.save(task["predictions"], np.asarray(predictions).reshape(len(X_test), -1))
    return {"train": fitted - begin, "predict": predicted - fitted, "peak": _peak_bytes()}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(_measure(json.loads(sys.stdin.readline()))))
