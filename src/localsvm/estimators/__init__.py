"""The scikit-learn face: parameters, validation, delegation."""

from localsvm.estimators.classifier import LocalSVC

__all__ = ["LocalSVC"]
