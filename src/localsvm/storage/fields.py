"""What a record says, checked as it is read: a number where a number is due, an array of the right type and shape.

Enters: the value of a record. Leaves: its parts, or an `InvalidFile` that names the one that is wrong. A checksum
tells that bytes are as they were written; this tells that they were written by someone who knew the format.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from localsvm.errors import InvalidFile


class Fields:
    """A dict of a record and its name in errors."""

    def __init__(self, values: Any, what: str) -> None:
        if not isinstance(values, dict):
            raise InvalidFile(f"{what} makes no sense: it is no table of fields. It was not written by localsvm.")
        self._values, self.what = values, what

    def refuse(self, why: str) -> InvalidFile:
        """Return the error for something else that is wrong."""
        return InvalidFile(f"{self.what} makes no sense: {why}. It was not written by localsvm.")

    def has(self, name: str) -> bool:
        """Return whether there is a field of this name."""
        return name in self._values

    def value(self, name: str) -> Any:
        """Return a field of any kind."""
        if name not in self._values:
            raise self.refuse(f"it has no {name!r}")
        return self._values[name]

    def table(self, name: str) -> dict[str, Any]:
        """Return a dict of any content."""
        return dict(self._of_type(name, dict))

    def part(self, name: str) -> Fields:
        """Return a dict inside of this one."""
        return Fields(self.value(name), f"{name!r} of {self.what}")

    def optional(self, name: str) -> Fields | None:
        """Return a dict inside of this one, or None where that is what it has."""
        return None if self.value(name) is None else self.part(name)

    def parts(self, name: str) -> list[Fields]:
        """Return a list of dicts."""
        parts = self._of_type(name, list)
        return [Fields(part, f"{name!r} {number} of {self.what}") for number, part in enumerate(parts)]

    def text(self, name: str) -> str:
        """Return text."""
        return str(self._of_type(name, str))

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a tuple of text."""
        return self._items(name, str)

    def flag(self, name: str) -> bool:
        """Return True or False."""
        return bool(self._of_type(name, bool))

    def integer(self, name: str, least: int = 0) -> int:
        """Return an integer that is not too small."""
        number = int(self._of_type(name, int))
        if number < least:
            raise self.refuse(f"{name!r} is {number}")
        return number

    def integers(self, name: str, below: int) -> tuple[int, ...]:
        """Return a tuple of integers from 0 on."""
        numbers = self._items(name, int)
        if not all(0 <= number < below for number in numbers):
            raise self.refuse(f"{name!r} has numbers that are not between 0 and {below - 1}")
        return numbers

    def real(self, name: str) -> float:
        """Return a number, which may be NaN or infinite."""
        return float(self._of_type(name, float))

    def reals(self, name: str) -> tuple[float, ...]:
        """Return a tuple of numbers."""
        return self._items(name, float)

    def positive(self, name: str) -> float:
        """Return a positive, finite number."""
        number = self.real(name)
        if not 0 < number < math.inf:
            raise self.refuse(f"{name!r} is {number}")
        return number

    def array(self, name: str, dtype: DTypeLike, *shape: int | None) -> NDArray[Any]:
        """Return an array of a type and a shape; None is any size."""
        array = self._of_type(name, np.ndarray)
        fits = array.ndim == len(shape) and all(
            due is None or size == due for size, due in zip(array.shape, shape, strict=True)
        )
        if array.dtype != dtype or not fits:
            sizes = ", ".join("any" if due is None else str(due) for due in shape)
            raise self.refuse(
                f"{name!r} has type {array.dtype} and shape {array.shape} instead of {np.dtype(dtype)} and ({sizes})"
            )
        return np.asarray(array)

    def is_none(self, name: str) -> bool:
        """Return whether a field is there and empty."""
        return self.value(name) is None

    def _of_type(self, name: str, kind: type) -> Any:
        value = self.value(name)
        if type(value) is not kind:
            raise self.refuse(f"{name!r} is a {type(value).__name__}, not a {kind.__name__}")
        return value

    def _items(self, name: str, kind: type) -> tuple[Any, ...]:
        items: tuple[Any, ...] = self._of_type(name, tuple)
        if not all(type(item) is kind for item in items):
            raise self.refuse(f"{name!r} has items that are not of type {kind.__name__}")
        return items
