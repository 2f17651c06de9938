"""Fitted estimators from model files.

Enters: the path of a file that `save` wrote. Leaves: the estimator, fitted; its cells stay in the file until
prediction asks for them.
"""

from __future__ import annotations

import os
from typing import Any

from localsvm.errors import InvalidParameter
from localsvm.estimators.base import LocalEstimator
from localsvm.estimators.classifier import LocalSVC
from localsvm.estimators.parameters import count_threads
from localsvm.estimators.regressors import LocalExpectileRegressor, LocalQuantileRegressor, LocalSVR
from localsvm.estimators.state import read_parameters
from localsvm.storage.model_file import StoredModel, open_model
from localsvm.storage.schema import Fields, table, text

_KINDS: dict[str, type[LocalEstimator]] = {
    kind.__name__: kind for kind in (LocalSVC, LocalSVR, LocalQuantileRegressor, LocalExpectileRegressor)
}


def load(path: str | os.PathLike[str]) -> LocalEstimator:
    """Open a model file and return the fitted estimator that was saved in it.

    A file of many gigabytes opens at once: it is mapped into memory, and prediction reads the cells that it needs. The
    file may be replaced or deleted meanwhile. Nothing in it is executed: there is no pickle.

    Parameters
    ----------
    path : path-like
        A file that the method `save` of an estimator wrote.

    Returns
    -------
    LocalSVC, LocalSVR, LocalQuantileRegressor or LocalExpectileRegressor
        The estimator, whose predictions are those of the saved one to the bit.

    Raises
    ------
    InvalidFile
        If it is not a model file, not all of it, damaged, or of a later format.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import localsvm
    >>> clf = localsvm.LocalSVC(grid=3).fit([[0.0], [0.1], [1.0], [1.1]], ["no", "no", "yes", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     clf.save(pathlib.Path(folder) / "model.lsvm")
    ...     again = localsvm.load(pathlib.Path(folder) / "model.lsvm")
    >>> again.predict([[0.0], [1.2]])
    array(['no', 'yes'], dtype='<U3')
    """
    stored = open_model(path)
    return estimator_of(stored, repr(os.fspath(path)))


def estimator_of(stored: StoredModel, what: str) -> LocalEstimator:
    """Return the estimator of a model file that is open; `what` is its name in errors."""
    fields = Fields(stored.info, what).part("estimator")
    kind = _KINDS[fields.read("name", text(*_KINDS))]
    estimator = kind(**read_parameters(fields, kind._get_param_names(), stored.model))
    try:
        count_threads(estimator.n_jobs)  # the one parameter that prediction needs
    except InvalidParameter as error:
        raise fields.refuse(str(error)) from error
    estimator._restore(stored, fields.part("fitted"))
    return estimator


def user_info(stored: StoredModel) -> dict[str, Any]:
    """Return what the caller of `save` wanted to keep with the model."""
    return dict(Fields(stored.info, "the model file").read("user", table()))
