"""`LocalSVC`: classification by local support vector machines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

from localsvm.cell.grid import Grid
from localsvm.errors import InvalidData
from localsvm.estimators.base import LocalEstimator
from localsvm.estimators.docs import with_common_docs
from localsvm.estimators.validation import (
    check_choice,
    check_class_weight,
    check_labels,
    check_magnitude,
    check_weights,
    class_weights,
)
from localsvm.losses import Hinge, Loss, SquaredMargin
from localsvm.reduction import Binary, OneVsOne, OneVsRest, Reduction
from localsvm.training import OnProgress

_LOSSES: dict[str, Loss] = {"hinge": Hinge(), "squared": SquaredMargin()}
_REDUCTIONS: dict[str, type[OneVsOne] | type[OneVsRest]] = {"ovo": OneVsOne, "ovr": OneVsRest}


@with_common_docs
class LocalSVC(ClassifierMixin, LocalEstimator):  # type: ignore[misc]
    """Support vector classification that tunes itself.

    The input space is cut into cells of bounded size. In every cell width and regularisation are
    chosen by cross-validation on a grid, and the solutions of the folds are combined into one
    decision function (Alg. 1 of the paper). A new sample is predicted from its own cell only.

    Parameters
    ----------
    %(common_parameters)s
    class_weight : dict, "balanced" or None, default=None
        Factors on the weights of the classes.
    multiclass : {"ovo", "ovr"}, default="ovo"
        More than two classes: a machine for each pair of classes, or for each class against the rest.
        Pairs are faster, and usually err less. They share distances and kernels of a cell. A cell
        that misses some classes predicts from those it has seen.
    loss : {"hinge", "squared"}, default="hinge"
        The loss of the machines; width and lam are chosen by classification error.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    %(common_attributes)s

    Examples
    --------
    >>> from localsvm import LocalSVC
    >>> from localsvm.data import toy_mixture
    >>> X, y = toy_mixture(600, 2, random_state=0)
    >>> clf = LocalSVC().fit(X[:300], y[:300])
    >>> bool(clf.score(X[300:], y[300:]) > 0.8)
    True
    """

    classes_: NDArray[Any]

    def __init__(
        self,
        *,
        cell_size: int = 2000,
        partition: Any = "voronoi",
        cell_radius: float | None = None,
        n_folds: int = 5,
        grid: int | Grid = 10,
        kernel: str = "auto",
        relevance: None = None,
        search: str = "full",
        scaling: str | None = "auto",
        missing: str = "error",
        refit: str = "combine",
        max_memory: str | int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        checkpoint: None = None,
        class_weight: Any = None,
        multiclass: str = "ovo",
        loss: str = "hinge",
    ) -> None:
        super().__init__(
            cell_size=cell_size,
            partition=partition,
            cell_radius=cell_radius,
            n_folds=n_folds,
            grid=grid,
            kernel=kernel,
            relevance=relevance,
            search=search,
            scaling=scaling,
            missing=missing,
            refit=refit,
            max_memory=max_memory,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            checkpoint=checkpoint,
        )
        self.class_weight = class_weight
        self.multiclass = multiclass
        self.loss = loss

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        callback: OnProgress | None = None,
    ) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Labels of two classes or more, of any type.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples: 0 is as if absent, an integer as if repeated. The grid of lams
            reaches the further down the more samples there are, so weights should sum to about
            their number, not to one.
        callback : callable, optional
            Called about ten times a second with a `Progress`: cells_done, n_cells, samples_done,
            n_samples, seconds, rate, seconds_left. What it raises stops the fit.

        Returns
        -------
        LocalSVC
            The fitted estimator.

        Examples
        --------
        >>> from localsvm import LocalSVC
        >>> clf = LocalSVC().fit([[0.0], [0.1], [1.0], [1.1]], ["a", "a", "b", "b"])
        >>> clf.predict([[0.0], [1.2]])
        array(['a', 'b'], dtype='<U1')
        """
        check_choice("loss", self.loss, tuple(_LOSSES))
        check_choice("multiclass", self.multiclass, tuple(_REDUCTIONS))
        check_class_weight(self.class_weight)
        settings = self._settings(Binary())
        features = self._check_features(X, reset=True)
        labels = check_labels(y, len(features))
        weight = check_weights(sample_weight, len(labels))
        classes, index = _classes(labels, weight)
        factor = class_weights(self.class_weight, classes, index, weight)
        check_magnitude(weight * factor[index])
        settings = replace(
            settings,
            cell=replace(settings.cell, reduction=self._reduction(len(classes))),
            class_factor=tuple(factor.tolist()),
        )
        target = np.where(index == 1, 1.0, -1.0) if len(classes) == 2 else index.astype(np.float64)
        self._fit_model(features, target, weight, settings, callback)
        self.classes_ = classes
        self._warn(settings)
        return self

    def _reduction(self, n_classes: int) -> Reduction:
        loss = _LOSSES[self.loss]
        return Binary(loss) if n_classes == 2 else _REDUCTIONS[self.multiclass](n_classes, loss)

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the decision values: positive ones speak for ``classes_[1]``, of several classes the largest wins.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Decision values, in the order of ``classes_``.

        Examples
        --------
        >>> from localsvm import LocalSVC
        >>> clf = LocalSVC().fit([[0.0], [0.1], [1.0], [1.1]], [0, 0, 1, 1])
        >>> (clf.decision_function([[0.0], [1.2]]) > 0).tolist()
        [False, True]
        """
        scores = self._scores(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the predicted labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.

        Examples
        --------
        >>> from localsvm import LocalSVC
        >>> clf = LocalSVC().fit([[0.0], [0.1], [1.0], [1.1]], [0, 0, 1, 1])
        >>> clf.predict([[0.0], [1.2]])
        array([0, 1])
        """
        scores = self._scores(X)
        best = (scores[:, 0] >= 0).astype(np.intp) if len(self.classes_) == 2 else scores.argmax(axis=1)
        return np.asarray(self.classes_[best])


def _classes(y: NDArray[Any], weight: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the sorted labels of samples with positive weight, and every sample's index into them.

    Samples of weight zero may have other labels; their index means nothing.
    """
    classes = np.unique(y[weight > 0])
    if len(classes) == 1:
        raise InvalidData(
            f"y has only one class, {classes.tolist()[0]!r}: there is nothing to tell apart. "
            "Give samples of two classes or more."
        )
    index = np.searchsorted(classes, y)
    return classes, np.minimum(index, len(classes) - 1)
