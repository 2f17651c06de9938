"""Prediction and evaluation of files, batch by batch, in memory independent of the number of rows.

Enters: a fitted estimator and a `TableFile`. Leaves: batches of predictions in the order of the rows, or an evaluation.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from localsvm.data.files import CategoryCodes, TableFile, match_columns, number_type, to_numbers
from localsvm.data.files.loading import OnRows
from localsvm.data.files.numbers import check_target, check_weight
from localsvm.data.files.reading import read_ahead
from localsvm.data.files.table import Kind
from localsvm.data.table import Table
from localsvm.errors import InvalidData
from localsvm.estimators.base import LocalEstimator
from localsvm.estimators.classifier import LocalSVC
from localsvm.estimators.regressors import LevelRegressor
from localsvm.estimators.rows import member_rows
from localsvm.evaluation import Evaluation, Evaluator
from localsvm.model.ensemble import MemberRows

BATCH_ROWS = 1 << 18
"""Rows per prediction: large enough that most cells have some of them."""
_READ_ROWS = 1 << 16  # rows per read: small enough that the allocator reuses their memory


@dataclass(frozen=True)
class Features:
    """The columns of a file that are the features of an estimator."""

    names: tuple[str, ...]
    categories: frozenset[str]
    dates: frozenset[str]
    labels: tuple[str, ...] | None
    dtype: np.dtype[Any]

    @classmethod
    def find(cls, estimator: LocalEstimator, file: TableFile, ignored: Sequence[str] = ()) -> Features:
        """Match columns by name, or by position if the file or the estimator has no names."""
        labels = getattr(estimator, "feature_names_in_", None)
        known = estimator.n_features_in_ if labels is None else labels.tolist()
        of_feature: list[Kind] = ["number"] * estimator.n_features_in_
        if estimator.columns_ is not None:
            of_feature = ["number" if kind == "empty" else kind for kind in estimator.columns_.kinds]
        named = [] if labels is None else labels.tolist()
        kinds = dict(zip(named, of_feature, strict=False))
        names = match_columns(known, file.schema, file=file.name, kinds=kinds, ignored=ignored)
        categories, dates = (
            frozenset(name for name, found in zip(names, of_feature, strict=True) if found == kind)
            for kind in ("category", "date")
        )
        dtype = np.dtype(np.float64) if categories or dates else number_type(file.schema, names)
        return cls(names, categories, dates, tuple(named) or None, dtype)

    def buffer(self, n_rows: int) -> NDArray[Any]:
        """Return an uninitialized array for rows."""
        return np.empty((n_rows, len(self.names)), dtype=self.dtype)

    def table(self, batches: Sequence[Any], X: NDArray[Any], first_row: int) -> Table:
        """Fill X with the rows of batches and return it as a table; `first_row` is the number of its first row."""
        codes = {name: CategoryCodes(name) for name in self.categories}
        begin = 0
        for batch in batches:
            begin += len(to_numbers(batch, self.names, codes=codes, dates=self.dates, out=X[begin:]))
        lists = {j: codes[name].names for j, name in enumerate(self.names) if name in codes}
        days = frozenset(j for j, name in enumerate(self.names) if name in self.dates)
        return Table(X, lists, days, self.labels, self.names, first_row)


def predict_batches(
    estimator: LocalEstimator,
    file: TableFile,
    *,
    keep: Sequence[str] = (),
    probabilities: bool = False,
    target: str | None = None,
    rows: int = BATCH_ROWS,
) -> Iterator[Any]:
    """Predict the rows of a file.

    Parameters
    ----------
    estimator : LocalSVC, LocalSVR, LocalQuantileRegressor or LocalExpectileRegressor
        Fitted estimator.
    file : TableFile
        Open file.
    keep : sequence of str
        Columns of the file to copy to the output, before the predictions.
    probabilities : bool
        Whether to add a column with the probability of each class.
    target : str, optional
        Target column, which is skipped if columns are matched by position and the file has it.
    rows : int
        Rows per batch.

    Yields
    ------
    pyarrow.RecordBatch
        In the order of the file.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from localsvm import LocalSVC
    >>> from localsvm.data.files import open_file
    >>> from localsvm.evaluation.streaming import predict_batches
    >>> clf = LocalSVC().fit([[0.0], [0.1], [1.0], [1.1]], ["a", "a", "b", "b"])
    >>> file = open_file(pa.table({"size": [0.0, 1.2]}))
    >>> [batch.to_pydict() for batch in predict_batches(clf, file, keep=["size"])]
    [{'size': [0.0, 1.2], 'prediction': ['a', 'b']}]
    """
    has_target = target in file.schema and len(file.schema.names) > estimator.n_features_in_
    features = Features.find(estimator, file, [target] if target is not None and has_target else ())
    file.schema.require(keep, file.name)
    taken = {name for name, _ in _predicted(estimator, None, probabilities)} & set(keep)
    if taken:
        raise InvalidData(
            f"column {min(taken)!r} of {file.name} has the name of a prediction. Rename it, or do not keep it."
        )
    # Predict the next batch while the caller writes this one.
    return read_ahead(_predict_batches(estimator, file, features, tuple(keep), probabilities, rows), 1)


def _predict_batches(
    estimator: LocalEstimator,
    file: TableFile,
    features: Features,
    keep: tuple[str, ...],
    probabilities: bool,
    rows: int,
) -> Generator[Any, None, None]:
    # Read the next batch while this one is predicted.
    for batch, prepared in read_ahead(_with_rows(estimator, file, features, keep, rows), 1):
        kept = [(name, batch.column(name)) for name in keep]
        columns = kept + _predicted(estimator, prepared, probabilities)
        yield pa.RecordBatch.from_arrays([pa.array(values) for _, values in columns], [name for name, _ in columns])


def _with_rows(
    estimator: LocalEstimator, file: TableFile, features: Features, keep: tuple[str, ...], rows: int
) -> Generator[tuple[Any, MemberRows], None, None]:
    """Yield the columns to keep, and scaled rows. Two buffers alternate: allocating takes longer than filling."""
    used: deque[Any] = deque([None, None], maxlen=2)
    first_row = 1
    parts = file.batches((*keep, *features.names), min(rows, _READ_ROWS))
    while batches := list(islice(parts, max(1, rows // _READ_ROWS))):
        n_rows = sum(batch.num_rows for batch in batches)
        buffer = used[0] if used[0] is not None and len(used[0]) >= n_rows else features.buffer(n_rows)
        used.append(buffer)
        checked = member_rows(estimator, features.table(batches, buffer[:n_rows], first_row))
        first_row += n_rows
        kept = pa.concat_batches([batch.select(keep) for batch in batches])
        yield kept, checked.scaled(estimator.members_)


def _predicted(
    estimator: LocalEstimator, rows: MemberRows | None, probabilities: bool
) -> list[tuple[str, NDArray[Any] | None]]:
    """Return the columns of predictions, with None as values if there are no rows."""
    if isinstance(estimator, LocalSVC):
        if not probabilities:
            return [("prediction", None if rows is None else estimator.predict(rows))]
        names = [f"probability_{label}" for label in estimator.classes_.tolist()]
        if rows is None:
            return [("prediction", None), *((name, None) for name in names)]
        found = estimator.predict_proba(rows)
        # As in `predict`: the most probable class, and the second of two equally probable ones.
        best = (found[:, 1] >= 0.5).astype(np.intp) if len(names) == 2 else found.argmax(axis=1)
        return [("prediction", estimator.classes_[best]), *zip(names, found.T, strict=True)]
    names = _value_names(estimator)
    if rows is None:
        return [(name, None) for name in names]
    values = estimator.predict(rows)
    return list(zip(names, values.reshape(len(values), -1).T, strict=True))


def _value_names(estimator: Any) -> list[str]:
    if isinstance(estimator, LevelRegressor):
        levels = np.atleast_1d(getattr(estimator, estimator.level_name))
        return [f"{estimator.level_name}_{level:g}" for level in levels]
    n_targets = estimator.model_.reduction.n_scores
    return ["prediction"] if n_targets == 1 else [f"prediction_{j}" for j in range(n_targets)]


def evaluate_file(
    estimator: LocalEstimator,
    file: TableFile,
    target: str,
    weight: str | None = None,
    *,
    rows: int = BATCH_ROWS,
    on_rows: OnRows | None = None,
) -> Evaluation:
    """Evaluate an estimator on the rows of a file.

    Parameters
    ----------
    estimator : LocalSVC, LocalSVR, LocalQuantileRegressor or LocalExpectileRegressor
        Fitted estimator.
    file : TableFile
        Open file.
    target : str
        Target column.
    weight : str, optional
        Column with sample weights.
    rows : int
        Rows per batch.
    on_rows : callable, optional
        Called after every batch with the number of rows so far, and that of the file if known.

    Returns
    -------
    Evaluation
        Measures with confidence intervals, and the worst cells.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from localsvm import LocalSVC
    >>> from localsvm.data.files import open_file
    >>> from localsvm.evaluation.streaming import evaluate_file
    >>> clf = LocalSVC().fit([[0.0], [0.1], [1.0], [1.1]], ["a", "a", "b", "b"])
    >>> file = open_file(pa.table({"size": [0.0, 1.2], "kind": ["a", "a"]}))
    >>> evaluate_file(clf, file, "kind").headline.value
    0.5
    """
    others = [target, *([weight] if weight else [])]
    file.schema.require(others, file.name)
    features = Features.find(estimator, file, ignored=others)
    evaluator = Evaluator(estimator)
    done = 0
    for batch, prepared in read_ahead(_with_rows(estimator, file, features, tuple(others), rows), 1):
        mass = None if weight is None else to_numbers(batch, [weight])[:, 0]
        if mass is not None:
            check_weight(mass, str(weight), file.name, done + 1)
        check_target(batch.column(target), target, file.name, done + 1)
        evaluator.add(prepared, _truth(estimator, batch.column(target), target), mass)
        done += batch.num_rows
        if on_rows is not None:
            on_rows(done, file.n_rows)
    return evaluator.result()


def _truth(estimator: LocalEstimator, column: Any, name: str) -> NDArray[Any]:
    """Return a target column, as text if the classes of the estimator are text."""
    if isinstance(estimator, LocalSVC) and estimator.classes_.dtype.kind in "UO":
        codes = CategoryCodes(name)
        places = codes.encode(column)
        return np.array(codes.names)[places.astype(np.intp)]
    return np.asarray(column.to_numpy(zero_copy_only=False))
