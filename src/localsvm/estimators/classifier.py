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
from localsvm.estimators.validation import (
    check_choice,
    check_class_weight,
    check_labels,
    check_magnitude,
    check_weights,
    class_weights,
)
from localsvm.losses import Hinge
from localsvm.training import OnProgress


class LocalSVC(ClassifierMixin, LocalEstimator):  # type: ignore[misc]
    """Support vector classification that tunes itself.

    The input space is cut into cells of bounded size. In every cell width and regularisation are
    chosen by cross-validation on a grid, and the solutions of the folds are combined into one
    decision function (Alg. 1 of the paper). A new sample is predicted from its own cell only.

    Parameters
    ----------
    cell_size : int, default=2000
        Largest number of samples in a cell; only equal samples may be more. Larger cells err less and
        take longer, in proportion to their size.
    partition : {"voronoi", "chunks", "radius", "overlap", "none"} or object, default="voronoi"
        How the input space is cut into cells.

        - "voronoi": each sample belongs to the nearest centre, and a new one is predicted from its cell;
        - "chunks": random chunks, all of which predict every sample; the mean counts;
        - "radius": as "voronoi", with cells of at most `cell_radius` instead of `cell_size`;
        - "overlap": as "voronoi" with half the size, but each cell trains on samples of its neighbours
          too, `cell_size` in all;
        - "none": one machine on all samples; its time and memory grow with the square of their number;
        - an object with ``centers`` (n_cells, n_features), ``radii`` (n_cells,) and ``assign(X)``, which
          returns the cell of every row. Rows come scaled; ``scaling=None`` leaves them as they are.
    cell_radius : float, optional
        Largest distance of a sample from the centre of its cell, after scaling, for
        ``partition="radius"``.
    n_folds : int, default=5
        Number of folds; with fewer distinct samples, every one is a fold. 1 is a single split: a fifth
        of the samples validates, the others train.
    grid : int or Grid, default=10
        The grid of widths and lams: steps in each direction, or a `Grid`.
    kernel : {"auto", "gauss", "laplace"}, default="auto"
        exp(-||x-x'||^2/width^2) or exp(-||x-x'||/width); "auto" is "gauss".
    relevance : None, default=None
        Feature weights; not available yet.
    search : {"full", "racing"}, default="full"
        Solve every grid point, or leave out points that cannot win any more (two standard errors
        behind).
    scaling : {"auto", "minmax", "standard", "quantile", None}, default="auto"
        Scaling of the features, part of the model. "auto" tries the three on a pilot sample and takes
        the one that errs least, the first of equally good ones.
    missing : {"error", "impute"}, default="error"
        What to do with missing values: refuse them, or impute them, in prediction as well. A missing
        number becomes the median of the training samples, and a feature that had missing values there
        gets another beside it that says where; a missing category is a category of its own, if it
        was one in training. Features without any value are left out. Infinite values are refused.
    refit : {"combine", "retrain"}, default="combine"
        Combine the solutions of the folds, weighted by their risks, or train once more on all
        samples.
    max_memory : str or int, optional
        Bytes that training may take, or text like "8GB"; None is what the machine has. A fit that
        needs more is refused before it starts.
    n_jobs : int, optional
        Number of threads; None and -1 are all cores, -2 all but one.
    random_state : int, RandomState or None, default=None
        Seed of the folds; None is 0. Folds depend on the rows' content, not on their order.
    verbose : int, default=0
        1 draws a bar on the standard error stream: cells done, rows per second, time left.
    checkpoint : None, default=None
        Directory for checkpoints; not available yet.
    class_weight : dict, "balanced" or None, default=None
        Factors on the weights of the classes.
    multiclass : {"ovo", "ovr"}, default="ovo"
        Reserved: two classes are supported.
    loss : {"hinge"}, default="hinge"
        The loss.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels.
    cells_ : list of dict
        One record per cell: size, radius, width, lam, cv_risk, support_vectors.
    n_cells_ : int
        Number of cells.
    timings_ : dict
        Seconds in scaling, partition, kernel, solver, validation, selection (the last four summed
        over threads) and in total.
    model_ : LocalModel
        The fitted model; ``model_.cells[0].certificates`` has the duality gap of every solve.
    columns_ : Columns or None
        The medians and categories that were learned; None if X is numbers, none missing.
    n_features_in_ : int
        Number of features seen in fit, those of a data frame before categories are encoded.
    feature_names_in_ : ndarray of str
        Their names, if the training data has names.

    Notes
    -----
    X may be an array, a data frame of pandas, polars or pyarrow, or a sparse matrix.

    Columns of a frame that are categories or text are encoded, one column for each of the 30 most
    frequent categories and one for all others; the order of categories does not matter. A category
    that was not seen in training is one of the others, or none if there were not that many. Two
    categories are 0.7 apart, where the scaled numbers of a column are at most 1 apart.

    Sparse matrices give the model of their dense copy. They are made dense a block or a cell at a time,
    but the support vectors of a model are dense: 4 bytes for every feature of each, which may be all
    samples.

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
        self.cell_size = cell_size
        self.partition = partition
        self.cell_radius = cell_radius
        self.n_folds = n_folds
        self.grid = grid
        self.kernel = kernel
        self.relevance = relevance
        self.search = search
        self.scaling = scaling
        self.missing = missing
        self.refit = refit
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.class_weight = class_weight
        self.multiclass = multiclass
        self.loss = loss

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what this estimator can do."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

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
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Labels of two classes, of any type.
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
        check_choice("loss", self.loss, ("hinge",))
        check_choice("multiclass", self.multiclass, ("ovo", "ovr"))
        check_class_weight(self.class_weight)
        settings = self._settings(Hinge())
        features = self._check_features(X, reset=True)
        labels = check_labels(y, len(features))
        weight = check_weights(sample_weight, len(labels))
        classes, index = _two_classes(labels, weight)
        factor = class_weights(self.class_weight, classes, index, weight)
        check_magnitude(weight * factor[index])
        settings = replace(settings, class_factor=(float(factor[0]), float(factor[1])))
        self._fit_model(features, np.where(index == 1, 1.0, -1.0), weight, settings, callback)
        self.classes_ = classes
        self._warn(settings)
        return self

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the decision values; positive ones speak for ``classes_[1]``.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Decision values.

        Examples
        --------
        >>> from localsvm import LocalSVC
        >>> clf = LocalSVC().fit([[0.0], [0.1], [1.0], [1.1]], [0, 0, 1, 1])
        >>> (clf.decision_function([[0.0], [1.2]]) > 0).tolist()
        [False, True]
        """
        return self._decision_values(X)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the predicted labels.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
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
        values = self._decision_values(X)
        return np.asarray(self.classes_[(values >= 0).astype(np.intp)])


def _two_classes(y: NDArray[Any], weight: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the sorted labels of samples with positive weight, and every sample's index into them.

    Samples of weight zero may have other labels; their index means nothing.
    """
    classes = np.unique(y[weight > 0])
    if len(classes) == 1:
        raise InvalidData(
            f"y has only one class, {classes.tolist()[0]!r}: there is nothing to tell apart. "
            "Give samples of two classes."
        )
    if len(classes) > 2:
        raise InvalidData(
            f"Only binary classification is supported. The type of the target is multiclass: y has "
            f"{len(classes)} classes, {classes.tolist()[:5]}."
        )
    index = np.searchsorted(classes, y)
    return classes, np.minimum(index, 1)
