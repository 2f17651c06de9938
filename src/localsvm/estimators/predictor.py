"""Predictions with little overhead, for servers: of arrays, by position of their columns.

Enters: a fitted estimator, and arrays of the right type and width without NaN and infinity; anything else is refused
with a sentence. Leaves: the predictions of the estimator, to the bit. Threads may share a predictor; a call runs in
the thread that makes it.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from localsvm.data.source import all_finite
from localsvm.data.table import Table
from localsvm.data.types import FloatArray
from localsvm.errors import InvalidData
from localsvm.estimators.features import FLOATS, check_finite
from localsvm.estimators.rows import checked_rows, member_rows
from localsvm.model.ensemble import MemberRows

if TYPE_CHECKING:
    from localsvm.estimators.base import LocalEstimator


class Predictor:
    """What `predictor()` of a fitted estimator returns.

    Examples
    --------
    >>> import numpy as np
    >>> from localsvm import LocalSVR
    >>> model = LocalSVR(grid=3).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0])
    >>> model.predictor().predict(np.array([[0.5], [2.5]])).shape
    (2,)
    """

    def __init__(self, estimator: LocalEstimator) -> None:
        # A copy keeps its fitted attributes when the estimator is fitted again.
        self._estimator, self._ensemble = copy(estimator), estimator._ensemble
        self._n_features = estimator.n_features_in_
        known = estimator.columns_
        self._takes_arrays = known is None or known.has_only_numbers

    def predict(self, X: NDArray[np.floating]) -> NDArray[Any]:
        """Return the predictions.

        Parameters
        ----------
        X : ndarray of float32 or float64 of shape (n_samples, n_features)
            Samples; a data frame if the model was trained with categories or dates.

        Returns
        -------
        ndarray
            What `predict` of the estimator returns.

        Examples
        --------
        >>> import numpy as np
        >>> from localsvm import LocalSVC
        >>> predictor = LocalSVC().fit([[0.0], [0.1], [1.0], [1.1]], [0, 0, 1, 1]).predictor()
        >>> predictor.predict(np.array([[0.0], [1.2]]))
        array([0, 1])
        """
        return self._estimator._predicted_of(self._scores(X))

    def _scores(self, X: Any) -> FloatArray:
        return self._ensemble.scores(self._rows(X))

    def _rows(self, X: Any) -> MemberRows:
        estimator = self._estimator
        if not self._takes_arrays:
            return member_rows(estimator, X)
        is_right = isinstance(X, np.ndarray) and X.dtype in FLOATS and X.ndim == 2 and X.shape[1] == self._n_features
        if not is_right:
            given = f"{X.dtype} of shape {X.shape}" if isinstance(X, np.ndarray) else type(X).__name__
            raise InvalidData(
                f"a predictor takes arrays of float32 or float64 of shape (n_samples, {self._n_features}), but X is "
                f"{given}. Convert it, or use predict of the estimator."
            )
        table = Table(X)
        if not all_finite(X):
            imputes = estimator.columns_ is not None and estimator.columns_.imputes
            check_finite(table, getattr(estimator, "feature_names_in_", None), impute=imputes)
        return checked_rows(estimator, table)


class ClassPredictor(Predictor):
    """What `predictor()` of a fitted classifier returns.

    Examples
    --------
    >>> import numpy as np
    >>> from localsvm import LocalSVC
    >>> predictor = LocalSVC().fit([[0.0], [0.1], [1.0], [1.1]], [0, 0, 1, 1]).predictor()
    >>> predictor.predict_proba(np.array([[0.0]])).shape
    (1, 2)
    """

    def predict_proba(self, X: NDArray[np.floating]) -> FloatArray:
        """Return the probabilities of the classes.

        Parameters
        ----------
        X : ndarray of float32 or float64 of shape (n_samples, n_features)
            Samples; a data frame if the model was trained with categories or dates.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            What `predict_proba` of the estimator returns.

        Examples
        --------
        >>> import numpy as np
        >>> from localsvm import LocalSVC
        >>> predictor = LocalSVC().fit([[0.0], [0.1], [1.0], [1.1]], [0, 0, 1, 1]).predictor()
        >>> bool(predictor.predict_proba(np.array([[0.0]]))[0, 0] > 0.5)
        True
        """
        return self._ensemble.probabilities(self._rows(X))

    def decision_function(self, X: NDArray[np.floating]) -> FloatArray:
        """Return the decision values.

        Parameters
        ----------
        X : ndarray of float32 or float64 of shape (n_samples, n_features)
            Samples; a data frame if the model was trained with categories or dates.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            What `decision_function` of the estimator returns.

        Examples
        --------
        >>> import numpy as np
        >>> from localsvm import LocalSVC
        >>> predictor = LocalSVC().fit([[0.0], [0.1], [1.0], [1.1]], [0, 0, 1, 1]).predictor()
        >>> bool(predictor.decision_function(np.array([[1.2]]))[0] > 0)
        True
        """
        return self._estimator._shown_of(self._scores(X))
