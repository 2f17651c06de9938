"""What the docstrings of all estimators share, written once.

Enters: a class whose docstring has marks like ``%(common_parameters)s``. Leaves: the class, with the text in
their place.
"""

from __future__ import annotations

from textwrap import indent
from typing import TypeVar

_Class = TypeVar("_Class", bound=type)

_PARAMETERS = """
cell_size : int or "auto", default="auto"
    Largest number of samples in a cell; only equal samples may be more. Larger cells err less and
    take longer, in proportion to their size. "auto" is 5000 for up to 50 000 samples, 2000 from
    125 000 on, and 250 000 000 over their number in between.
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
kernel : {"auto", "gauss", "laplace", "manhattan"}, default="auto"
    exp(-||x-x'||^2/width^2), exp(-||x-x'||/width), or the latter with the sum of the absolute
    differences in place of the norm, which suits features that matter one by one, as in trees. "auto" tries them on a
    pilot sample, and takes the first unless another errs less by more than noise; of less than
    1000 samples, the first.
relevance : "auto", None or array-like of shape (n_features,), default="auto"
    Weights that scaled features are multiplied with: the metric in which cells are found and
    distances measured. "auto" learns them on a pilot sample, from the slopes of machines that are
    trained there: a feature along which these are steep counts more. The weights that err least
    are taken, none unless they err less by more than noise. None weighs all alike, and so does
    "auto" with less than 1000 samples or a `partition` of your own.
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
refit : {"combine", "retrain", "blend"}
    What becomes of the grid: "combine" takes the solutions of the folds at its best width, each with
    the lam that is best on the samples it left out, weighted by their risks; "retrain" trains once
    more on all samples at the best point; "blend", for numbers, does so at up to ten points, whose
    mean errs least on samples left out. The default is "combine" for classes and "blend" for
    numbers: each errs less there.
max_memory : str or int, optional
    Bytes that training may take, or text like "8GB"; None is what the machine has. A fit that
    needs more is refused before it starts.
n_jobs : int, optional
    Number of threads; None and -1 are all cores, -2 all but one.
random_state : int, RandomState or None, default=None
    Seed of the folds; None is 0. Folds depend on the rows' content, not on their order.
verbose : int, default=0
    1 draws a bar on the standard error stream: cells done, rows per second, time left.
checkpoint : path-like, optional
    Directory that keeps every cell as soon as it is trained. A fit of the same settings to the same
    data, whatever stopped it, goes on from there and ends with the same model to the bit; other
    settings and other data are refused. None keeps nothing.
"""

_ATTRIBUTES = """
cells_ : list of dict
    One record per cell: size, radius, width, lam, cv_risk, support_vectors.
n_cells_ : int
    Number of cells.
feature_relevance_ : ndarray of shape (n_features,)
    The weights of the features, 1 on average; of categories and features with missing values, which
    have several columns in the model, the largest of theirs.
timings_ : dict
    Seconds in scaling, relevance, partition, kernel, solver, validation, selection (the last four summed
    over threads), calibration and in total.
model_ : LocalModel
    The fitted model; ``model_.cells[0].certificates`` has the duality gap of every solve.
columns_ : Encoding or None
    The medians and categories that were learned; None if X is numbers, none missing.
n_features_in_ : int
    Number of features seen in fit, those of a data frame before categories are encoded.
feature_names_in_ : ndarray of str
    Their names, if the training data has names.
"""

_NOTES = """
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
"""

_TEXTS = {"common_parameters": _PARAMETERS, "common_attributes": _ATTRIBUTES, "common_notes": _NOTES}


def with_common_docs(cls: _Class) -> _Class:
    """Fill in the marks of a class's docstring."""
    if cls.__doc__ is not None:  # None under python -OO
        for mark, text in _TEXTS.items():
            cls.__doc__ = cls.__doc__.replace(f"    %({mark})s", indent(text.strip(), "    "))
    return cls
