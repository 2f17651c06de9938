"""Categories numbered as they turn up in a file, batch after batch.

Enters: columns of Arrow. Leaves: their codes, and at the end the places of the codes in the sorted list of names, as
`localsvm.data.columns.Table` has it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from localsvm.data.files.schema import is_text
from localsvm.data.frames import category_name, is_missing
from localsvm.errors import InvalidData

MOST_NAMES = 1_000_000
"""A column with more different values tells rows apart, not kinds of rows, and its names would fill the memory."""


@dataclass
class CategoryCodes:
    """The categories of one column; every new one gets the next number.

    Parameters
    ----------
    label : str
        Name of the column, for errors.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from localsvm.data.files import CategoryCodes
    >>> colours = CategoryCodes("colour")
    >>> colours.encode(pa.array(["red", None, "blue"])).tolist(), colours.encode(pa.array(["blue", "green"])).tolist()
    ([0.0, nan, 1.0], [1.0, 2.0])
    >>> colours.names, colours.sorted_names, colours.places.tolist()
    (('red', 'blue', 'green'), ('blue', 'green', 'red'), [2, 0, 1])
    """

    label: str
    _numbers: dict[str, int] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Names in the order of their codes."""
        return tuple(self._numbers)

    @property
    def sorted_names(self) -> tuple[str, ...]:
        """Names in their own order."""
        return tuple(sorted(self._numbers))

    @property
    def places(self) -> NDArray[np.intp]:
        """For every code the place of its name among the sorted names."""
        place = {name: number for number, name in enumerate(self.sorted_names)}
        return np.array([place[name] for name in self._numbers], dtype=np.intp)

    def encode(self, column: Any) -> NDArray[np.float64]:
        """Return the codes of the values of a `pyarrow.Array`; NaN is missing."""
        encoded = _as_dictionary(column)
        codes = [self._code(value) for value in encoded.dictionary.to_pylist()]
        missing = len(codes)
        places = encoded.indices.fill_null(missing).to_numpy(zero_copy_only=False)
        return np.asarray(np.array([*codes, np.nan])[places])

    def _code(self, value: object) -> float:
        if is_missing(value):
            return np.nan
        code = self._numbers.setdefault(category_name(value), len(self._numbers))
        if code >= MOST_NAMES:
            raise InvalidData(
                f"column {self.label!r} has more than {MOST_NAMES} different values: too many for categories. Leave "
                "it out, or make it numbers."
            )
        return float(code)


def _as_dictionary(column: Any) -> Any:
    """Return a column with a list of its values, and for every row a place in it."""
    if not pa.types.is_dictionary(column.type):
        if pa.types.is_float16(column.type):
            column = column.cast(pa.float32())
        elif not _has_plain_values(column.type):
            column = column.cast(pa.string())
        column = column.dictionary_encode()
    # Places may be 8-bit numbers, among which the one of "missing" would have no room.
    return pa.DictionaryArray.from_arrays(column.indices.cast(pa.int64()), column.dictionary)


def _has_plain_values(kind: Any) -> bool:
    """Return whether values of a type are text, numbers or truth values of Python, too."""
    is_view = pa.types.is_string_view(kind)
    tests = (is_text, pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_null)
    return not is_view and any(test(kind) for test in tests)
