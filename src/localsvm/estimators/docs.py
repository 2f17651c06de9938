"""Parameter, attribute and note texts that the docstrings of all estimators share.

Enters: a class whose docstring has placeholders like ``%(common_parameters)s``. Leaves: the class, with the texts
filled in.
"""

from __future__ import annotations

from textwrap import indent
from typing import TypeVar

_Class = TypeVar("_Class", bound=type)

_PARAMETERS = """
effort : {"fast", "default", "best"}, default="default"
    How much work a fit of the logistic or the squared loss may take; it decides `members` and `grid`
    where these are None. "fast": one model on 5 widths and 9 lams; "default": four on the same grid, one
    for more than 100 classes; "best": eight on 10 widths and 17 lams.
members : int, optional
    Number of models that predict together. They differ in partition, folds, feature weights and
    scaling, and the mean of their scores is weighted by out-of-fold losses; those without a
    weight are dropped. 1 is the single model of the paper.
cell_size : int or "auto", default="auto"
    Maximal number of samples in a cell; only duplicates of one sample may exceed it. Larger cells
    usually have a lower error, and time is proportional to the size. "auto" is 5000 for up to
    50 000 samples, 2000 from 125 000 samples on, and 250 000 000 / n_samples in between.
partition : {"voronoi", "chunks", "radius", "overlap", "none"} or object, default="voronoi"
    How the input space is partitioned into cells.

    - "voronoi": each sample belongs to the nearest center, and is predicted by the model of its cell;
    - "chunks": random chunks; every sample is predicted by the mean over all of them;
    - "radius": as "voronoi", with cells bounded by `cell_radius` instead of `cell_size`;
    - "overlap": as "voronoi" with cells of half the size, but each cell is trained on samples of its
      neighbors, too, `cell_size` in all;
    - "none": a single SVM on all samples; time and memory are quadratic in their number;
    - an object with ``centers`` (n_cells, n_features), ``radii`` (n_cells,) and ``assign(X)``, which
      returns the cell of every row. Rows are passed scaled; use ``scaling=None`` to get them unscaled.
cell_radius : float, optional
    Maximal distance of a sample from the center of its cell, after scaling, for
    ``partition="radius"``.
n_folds : int, default=5
    Number of folds. With fewer distinct samples than folds, each is a fold. 1 is a single split: a
    fifth of the samples is used for validation, the others for training.
grid : int or Grid, optional
    Grid of widths and lams: the number of values of each, or a `Grid`. None is decided by `effort`; with
    losses other than the logistic and the squared one, 10 and 10.
kernel : {"auto", "gauss", "laplace", "manhattan"}, default="auto"
    exp(-||x-x'||^2/width^2), exp(-||x-x'||/width), or the latter with the sum of absolute
    differences in place of the Euclidean norm, which suits features with separate effects, as trees
    do. "auto" selects the kernel on a pilot sample: "gauss" unless another has a lower risk by more
    than noise, and always "gauss" with fewer than 1000 samples.
relevance : "auto", None or array-like of shape (n_features,), default="auto"
    Weights by which the scaled features are multiplied. They define the metric of the partition and
    of the kernel. "auto" learns them on a pilot sample from the gradients of models that are trained
    there: a feature with large derivatives gets a large weight. Weights stay equal if learned ones do
    not lower the risk by more than noise, with fewer than 1000 samples, or if `partition` is an
    object. None weights all features equally.
search : {"auto", "full", "racing"}, default="auto"
    "full" solves all grid points. With "auto" the lams of a width, from the largest on, end where two in
    a row do not lower the risk, if the loss is squared or logistic. "racing" drops points that are two
    standard errors behind the best, which saves no time on most data.
scaling : {"auto", "minmax", "standard", "quantile", None}, default="auto"
    Scaling of the numeric features, which is part of the model. "auto" compares the three on a pilot
    sample and selects the first that is within one standard error of the best; with fewer than 1000
    samples, "minmax". With categories, dates or missing values, whose columns have unit variance,
    "standard" comes first.
missing : {"error", "impute"}, default="error"
    Treatment of missing values, in training and prediction: raise an error, or impute. A missing
    number or date is replaced by the median of the training samples, and a feature with missing
    values in training gets a missing-value indicator column. A missing category is a category of its
    own, if it occurs in training. Features without any value are dropped. Infinite values raise an
    error.
categorical_features : sequence of str or int, optional
    Names or numbers of columns that are categories although their values are numbers: codes of towns, of
    products. Text is a category anyway. Default: by the types of the columns.
refit : {"combine", "retrain", "blend"}
    How a cell's model is obtained from the grid. "combine" averages the solutions of the folds at the
    best width, each with the lam that is best on its validation fold, weighted by their risks.
    "retrain" trains on all samples of the cell at the best grid point. "blend", for regression,
    does so at up to ten grid points, and averages them with weights selected by the out-of-fold
    loss. The default is "combine" for classification and "blend" for regression: each has the
    lowest error there.
max_memory : str or int, optional
    Bytes that training may use, or a text like "8GB"; None is the available memory. A fit that needs
    more raises an error before it starts.
n_jobs : int, optional
    Number of threads; None and -1 are all cores, -2 all but one.
random_state : int, RandomState or None, default=None
    Seed of the pilot sample, the partition and the folds; None is 0. They depend on the content of
    the rows, not on their order.
verbose : int, default=0
    1 shows a progress bar on standard error: finished cells, rows per second, time left.
checkpoint : path-like, optional
    Directory in which every cell is saved as soon as it is trained. If a fit is interrupted, fitting
    the same data with the same settings continues from there and gives the same model, to the bit.
    Other data or settings raise an error. None saves nothing.
"""

_ATTRIBUTES = """
cells_ : list of dict
    One record per cell: size, radius, width, lam, cv_risk, support_vectors.
n_cells_ : int
    Number of cells.
feature_relevance_ : ndarray of shape (n_features,)
    Weights of the features, with mean 1. A categorical feature or one with missing values has several
    columns in the model; its weight is the largest of theirs.
timings_ : dict
    Seconds of scaling, relevance, partition, kernel, solver, validation, selection (the last four
    summed over threads), calibration, and the total.
members_ : tuple of Member
    The models that predict together, each with its `weight`, the largest first.
model_ : LocalModel
    The model of the first of them; ``model_.cells[0].certificates`` has the duality gap of every
    solve. `cells_`, `n_cells_`, `apply` and the report describe this model.
encoding_ : list of dict
    What became of each feature: its name, its type ("number", "category", "date" or "dropped"), its
    encoding in words, and its number of columns in the model.

    >>> import pandas as pd
    >>> from localsvm import LocalSVC
    >>> rows = pd.DataFrame({"age": range(36), "town": ["Bonn", "Calw", "Calw"] * 12})
    >>> LocalSVC(grid=3).fit(rows, rows["age"] > 20).encoding_[1]
    {'name': 'town', 'type': 'category', 'encoding': "indicator of 'Bonn', one of two levels", 'columns': 1}

columns_ : Encoding or None
    The learned encoding; None if X is numeric and ``missing="error"``.
cv_score_ : float
    Score of out-of-fold predictions of the training samples, in the units of `score`.
kernel_, scaling_ : str
    The kernel and the scaling that were chosen; of members that differ, a tuple with those of each.
feature_importances_ : ndarray of shape (n_features,)
    `feature_relevance_`, so that the sum is one.
n_features_in_ : int
    Number of features seen during fit; of a data frame, before categories are encoded.
feature_names_in_ : ndarray of str
    Names of the features, if the training data have names.
"""

_NOTES = """
Notes
-----
X may be an array, a data frame of pandas, polars or pyarrow, or a sparse matrix. Prediction needs
the columns of the training data, in the same order.

Categorical and text columns of a data frame are encoded by target means and indicators. A level has
the mean of its targets, shrunk to the overall mean the less is known about it; a training sample has
the mean of the other folds, so that its own target has no part in it. For several classes there is
a mean for each of the ten most frequent ones. Levels with at least 1 % of the weight have an indicator
column, too; a category of two levels has a single indicator column. Levels that do not occur in
training have the overall mean. The names and the order of levels do not matter. Dates have a trend
and, where they vary, the hour, the weekday and the day of the year as sine and cosine. Truth values
are 0 and 1, durations are seconds. Where there are categories, dates or missing values, a value that
fills more than a fifth of a numeric column has an indicator column.

Sparse matrices give the model of their dense copy. They are converted one block or one cell at a
time, but support vectors are dense: 4 bytes per feature for each, and all samples may be support
vectors.
"""

_TEXTS = {"common_parameters": _PARAMETERS, "common_attributes": _ATTRIBUTES, "common_notes": _NOTES}


def with_common_docs(cls: _Class) -> _Class:
    """Replace the placeholders in a class's docstring."""
    if cls.__doc__ is not None:  # None under python -OO
        for name, text in _TEXTS.items():
            cls.__doc__ = cls.__doc__.replace(f"    %({name})s", indent(text.strip(), "    "))
    return cls
