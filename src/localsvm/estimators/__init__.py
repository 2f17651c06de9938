"""The scikit-learn face: parameters, validation, delegation."""

from localsvm.estimators.classifier import LocalSVC
from localsvm.estimators.regressors import LocalExpectileRegressor, LocalQuantileRegressor, LocalSVR
from localsvm.estimators.stored import load

__all__ = ["LocalExpectileRegressor", "LocalQuantileRegressor", "LocalSVC", "LocalSVR", "load"]
