"""Estimators with a single model: a classifier of decisions by the hinge loss, and a regressor."""

from localsvm import LocalSVC, LocalSVR


def svc(**parameters):
    """One member, which minimizes the classification error; parameters as of `LocalSVC`."""
    return LocalSVC(**{"members": 1, "objective": "accuracy", **parameters})


def svr(**parameters):
    """One member; parameters as of `LocalSVR`."""
    return LocalSVR(**{"members": 1, **parameters})
