"""The features that users give, as a table: numbers or a data frame, in the training's columns, NaN only if imputed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, validate_data

from localsvm.data.dates import is_date
from localsvm.data.encoding import Encoding
from localsvm.data.encoding.encoding import Kind
from localsvm.data.frames import category_codes, frame_numbers, has_durations, has_only_numbers, is_frame, read_frame
from localsvm.data.source import RowSource, all_finite, read_blocks
from localsvm.data.sparse import SparseRows
from localsvm.data.table import Table
from localsvm.errors import InvalidData, InvalidParameter

FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
_FEW_NUMBERS = 1 << 16  # so few that a copy costs nothing
_NOT_DATES = tuple(f"real number, not {kind!r}" for kind in ("Timestamp", "datetime.datetime", "datetime.date"))
"""How Python's refusal to make a number of a date ends."""


def check_features(estimator: BaseEstimator, X: Any, *, reset: bool) -> Table:
    """Return X as a table of the right shape, without infinity, and without NaN unless it is imputed.

    With `reset` the estimator remembers the number of features and their names; else they have to be those it knows.
    """
    plain = None if reset else _plain_numbers(estimator, X)
    if plain is not None:
        return Table(plain)
    known: Encoding | None = None if reset else estimator.columns_
    _check_names(X)
    declared = estimator.categorical_features is not None
    if isinstance(X, Table):
        table = _take_table(estimator, X, reset=reset)
    elif declared and not is_frame(X) and (reset or known):
        table = _read_declared(estimator, X, known)
    elif (known and not known.has_only_numbers) or (
        (reset or known) and is_frame(X) and (declared or not has_only_numbers(X))
    ):
        table = _read_frame(estimator, X, None if known is None else known.kinds)
    elif not reset and is_frame(X) and has_durations(X):
        table = _read_frame(estimator, X, ("number",) * X.shape[1])
    else:
        table = Table(_read_numbers(estimator, X, reset=reset))
    imputes = estimator.missing == "impute" if reset else known is not None and known.imputes
    names = getattr(estimator, "feature_names_in_", None) if table.shown is None else table.shown
    check_finite(table, names, impute=imputes)
    return table


def _check_names(X: Any) -> None:
    names = list(map(str, getattr(X, "columns", ()))) if is_frame(X) and hasattr(X, "iloc") else []
    if len(set(names)) < len(names):
        first = next(name for name in names if names.count(name) > 1)
        raise InvalidData(f"{names.count(first)} columns of the data frame have the name {first!r}: rename them.")


def _plain_numbers(estimator: BaseEstimator, X: Any) -> NDArray[np.floating] | None:
    """Return rows to predict as an array if they are clearly right: what the full check returns, in less time.

    They are an array, or a frame of the columns known by name, of finite numbers.
    """
    known: Encoding | None = estimator.columns_
    if estimator.categorical_features is not None or not (known is None or known.has_only_numbers):
        return None
    names = estimator.__dict__.get("feature_names_in_")
    if names is not None:
        X = frame_numbers(X, names)
    is_plain = (
        type(X) is np.ndarray
        and X.dtype in FLOATS
        and X.ndim == 2
        and X.shape[1] == estimator.n_features_in_
        and len(X) > 0
        and (X.flags.c_contiguous or X.size <= _FEW_NUMBERS)
    )
    if not is_plain:
        return None
    X = np.ascontiguousarray(X)
    return X if all_finite(X) else None


def _take_table(estimator: BaseEstimator, table: Table, *, reset: bool) -> Table:
    """Remember the columns of a table, or compare them with those of the training data."""
    names = None if table.labels is None else np.array(table.labels, dtype=object)
    n_features = table.X.shape[1]
    if reset:
        estimator.n_features_in_ = n_features
        estimator.__dict__.pop("feature_names_in_", None)
        if names is not None:
            estimator.feature_names_in_ = names
    elif n_features != estimator.n_features_in_:
        raise InvalidData(f"the table has {n_features} columns, but the training data had {estimator.n_features_in_}.")
    elif names is not None and not np.array_equal(names, getattr(estimator, "feature_names_in_", names)):
        raise InvalidData("the columns of the table are not those of the training data, or in another order.")
    return table


def _read_frame(estimator: BaseEstimator, X: Any, kinds: Sequence[Kind] | None) -> Table:
    if not is_frame(X):
        raise InvalidData(
            "the training data was a data frame with categories or dates: give a data frame with its columns."
        )
    try:
        validate_data(estimator, X, reset=kinds is None, skip_check_array=True)
    except ValueError as error:
        raise InvalidData(str(error)) from None
    names = getattr(estimator, "feature_names_in_", None)
    declared = _declared_columns(estimator) if kinds is None else ()
    table = read_frame(X, range(X.shape[1]) if names is None else names, kinds, declared)
    check_array(table.X, ensure_all_finite=False)
    return table


def _read_declared(estimator: BaseEstimator, X: Any, known: Encoding | None) -> Table:
    """Read an array of numbers, some columns of which are declared to be categories."""
    numbers = _read_numbers(estimator, X, reset=known is None)
    if isinstance(numbers, SparseRows):
        raise InvalidParameter("categorical_features: X is sparse, and has numbers only. Give an array or a frame.")
    if known is None:
        columns = _declared_columns(estimator)
    else:
        columns = tuple(j for j, kind in enumerate(known.kinds) if kind == "category")
    coded, names = numbers.astype(np.float64), {}
    for j in columns:
        coded[:, j], names[j] = category_codes(numbers[:, j].tolist(), j)
    return Table(coded, names)


def _declared_columns(estimator: BaseEstimator) -> tuple[int, ...]:
    """Return the numbers of the columns in `categorical_features`."""
    given = estimator.categorical_features
    names = [str(name) for name in getattr(estimator, "feature_names_in_", ())]
    found = []
    for item in () if given is None else given:
        place = names.index(item) if isinstance(item, str) and item in names else item
        if isinstance(place, str) or not 0 <= place < estimator.n_features_in_:
            columns = f"{', '.join(map(repr, names[:12]))}" if names else f"0 to {estimator.n_features_in_ - 1}"
            raise InvalidParameter(f"categorical_features has {item!r}, but the columns are {columns}.")
        found.append(int(place))
    return tuple(dict.fromkeys(found))


def _read_numbers(estimator: BaseEstimator, X: Any, *, reset: bool) -> NDArray[np.floating] | SparseRows:
    try:
        checked = validate_data(estimator, X, reset=reset, accept_sparse="csr", dtype=FLOATS, ensure_all_finite=False)
    except (TypeError, ValueError) as error:
        explained = _explain_refusal(error, X)
        if explained is error:
            raise
        raise explained from None
    return SparseRows.of(checked) if issparse(checked) else np.asarray(checked)


def check_finite(table: Table, names: Sequence[str] | None, *, impute: bool) -> None:
    """Refuse infinity, and NaN if it is not to be imputed, saying where the first ones are and how many."""
    numbers = [table.X.stored] if isinstance(table.X, SparseRows) else read_blocks(table.X)
    if all(all_finite(np.atleast_2d(block)) for block in numbers):
        return
    if not impute:
        advice = 'Drop these rows, or pass missing="impute".'
        _refuse_values(table, np.isnan, names, "missing values (NaN or None; first", advice)
    _refuse_values(table, np.isinf, names, "infinite values (inf; first", "Drop these rows, or give finite numbers.")


def _refuse_values(
    table: Table,
    test: Callable[[NDArray[Any]], NDArray[np.bool_]],
    names: Sequence[str] | None,
    what: str,
    advice: str,
) -> None:
    X = table.X
    rows, columns = X.where(test) if isinstance(X, SparseRows) else _where(X, test)
    if len(rows) == 0:
        return
    column = int(columns.min())
    rows = rows[columns == column]
    others = _and_others(len(np.unique(columns)) - 1)
    row = table.first_row + int(rows.min())
    raise InvalidData(f"column {_label(names, column)} has {len(rows)} {what} at row {row}){others}. {advice}")


def _where(
    X: RowSource, test: Callable[[NDArray[Any]], NDArray[np.bool_]]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return rows and columns of the numbers that the test finds."""
    found, begin = [], 0
    for block in read_blocks(X):
        rows, columns = np.nonzero(test(block))
        found.append((begin + rows, columns))
        begin += len(block)
    rows, columns = (np.concatenate(part) for part in zip(*found, strict=True))
    return rows, columns


def _label(names: Sequence[str] | None, column: int) -> str:
    return repr(str(names[column])) if names is not None else str(column)


def _and_others(count: int) -> str:
    if count == 0:
        return ""
    return f", and so has {count} other column" if count == 1 else f", and so have {count} others"


def _explain_refusal(error: Exception, X: Any) -> Exception:
    """Return a better error than scikit-learn's for features that are not numbers, or not those of training."""
    message = str(error)
    if message.startswith("Complex data not supported"):
        return InvalidData(
            "Complex data not supported: X has complex numbers. Give real ones, for example the "
            "real and the imaginary part as two columns."
        )
    if message.startswith("The feature names should match"):
        return InvalidData(message)
    text = isinstance(error, ValueError) and message.startswith("could not convert string")
    dates = isinstance(error, TypeError) and message.endswith(_NOT_DATES)
    if text or dates or isinstance(error, np.exceptions.DTypePromotionError):
        return _first_non_number(X) or error
    return error


def _first_non_number(X: Any) -> InvalidData | None:
    names = getattr(X, "columns", None)
    for column, values in enumerate(np.asarray(X, dtype=object).T):
        for row, value in enumerate(values):
            try:
                float(value)
            except (TypeError, ValueError):
                return InvalidData(
                    f"column {_label(names, column)} has values that are not numbers (first at row "
                    f"{row}: {value!r}). {_advice(X, value)}"
                )
    return None


def _advice(X: Any, value: object) -> str:
    kind = "dates" if is_date(value) else "text"
    if is_frame(X):  # at fit it is read as it is
        return f"In training it was numbers: give numbers, or train with the {kind}."
    columns = "dates are understood" if kind == "dates" else "text columns are categories"
    return f"Give a data frame, whose {columns}, or drop it."
