"""How far rows are from what a model was trained on: what a service should watch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from localsvm.data.types import FloatArray
from localsvm.estimators.facts import FittedFacts
from localsvm.estimators.features import check_features
from localsvm.estimators.parameters import count_threads
from localsvm.estimators.rows import RowsLike, check_rows
from localsvm.model.predict import cell_distances

if TYPE_CHECKING:
    from localsvm.estimators.base import LocalEstimator


class Monitored(FittedFacts):
    """Measures of the distance between new rows and those of training."""

    n_jobs: int | None

    def cell_distance(self, X: RowsLike) -> FloatArray:
        """Return the distance of every sample from the center of its cell, in radii of the cell.

        No training sample is farther than 1. Values above 1 are extrapolation: the farther, the less the model knows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Distances in the scaled and weighted features of the first model.

        Examples
        --------
        >>> from localsvm import LocalSVR
        >>> model = LocalSVR(grid=3).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0])
        >>> (model.cell_distance([[1.5], [30.0]]) <= 1).tolist()
        [True, False]
        """
        estimator = cast("LocalEstimator", self)
        estimator._require_fitted()
        return cell_distances(estimator.model_, check_rows(estimator, X), count_threads(self.n_jobs))

    def unseen_categories(self, X: Any) -> dict[str, float]:
        """Return the share of samples whose category was not in the training data, for every categorical feature.

        Parameters
        ----------
        X : data frame of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        dict of float
            Shares between 0 and 1, by the name of the feature; a missing value is not unseen. Empty if the model has
            no categories.

        Examples
        --------
        >>> import pandas as pd
        >>> from localsvm import LocalSVC
        >>> rows = pd.DataFrame({"colour": ["red", "blue"] * 20, "size": range(40)})
        >>> clf = LocalSVC(grid=3).fit(rows, rows.colour == "red")
        >>> clf.unseen_categories(pd.DataFrame({"colour": ["red", "green"], "size": [1, 2]}))
        {'colour': 0.5}
        """
        estimator = cast("LocalEstimator", self)
        estimator._require_fitted()
        features = check_features(estimator, X, reset=False)
        if estimator.columns_ is None:
            return {}
        names = getattr(estimator, "feature_names_in_", None)
        shares = estimator.columns_.unseen(features).items()
        return {f"x{column}" if names is None else str(names[column]): share for column, share in shares}
