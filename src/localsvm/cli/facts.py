"""What a model is worth and what it has chosen, for `train` and `inspect`: as keys, and in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from localsvm.cli.output import amount
from localsvm.estimators.base import LocalEstimator
from localsvm.estimators.facts import CV_NAMES

_MOST_FEATURES = 5


def model_facts(estimator: LocalEstimator) -> dict[str, Any]:
    """Return cross-validated measures, kernel, scaling, sizes and the most relevant features."""
    classes = getattr(estimator, "classes_", None)
    return {
        "cv": dict(getattr(estimator, "_cv", {})),
        **({} if classes is None else {"classes": [str(label) for label in classes.tolist()]}),
        "kernel": estimator.kernel_,
        "scaling": estimator.scaling_,
        "features": estimator.n_features_in_,
        "most relevant": estimator.most_relevant(_MOST_FEATURES),
        "models": len(estimator.members_),
        "cells": estimator.n_cells_,
    }


def found_in_words(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values to show: measures in words, in the place of "cv"; nothing that is one by default."""
    shown: dict[str, Any] = {}
    for name, value in values.items():
        if name == "cv":
            shown |= _measures(value, values.get("target"))
        elif name == "bytes":
            shown["size"] = amount(value)
        elif not (name == "models" and value == 1):
            shown[name] = tuple(dict.fromkeys(value)) if name in ("kernel", "scaling") and _several(value) else value
    return shown


def _measures(cv: Mapping[str, float], target: str | None) -> dict[str, str]:
    if "accuracy" in cv:
        loss = f", log-loss {cv['log_loss']:.4g}" if "log_loss" in cv else ""
        return {"CV error": f"{100 * (1 - cv['accuracy']):.2f} %{loss} (out of fold)"}
    if "rmse" in cv:
        unit = "" if target is None else f" in the units of {target}"
        return {"CV RMSE": f"{cv['rmse']:,.4g}{unit}, R2 {cv['r2']:.3f} (out of fold)"}
    return {f"CV {CV_NAMES[name]}": f"{value:.4g} (out of fold)" for name, value in cv.items()}


def _several(value: Any) -> bool:
    return isinstance(value, tuple)
