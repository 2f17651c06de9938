"""The schema of files: what each field of a record may hold, and which object the fields make.

Enters: an object of this package, or the plain values of a record. Leaves: the other. Writing takes the attributes of
an object in the order in which the file has them. Reading checks every field (type, shape, range) and raises
`InvalidFile`, with a sentence that names the field, for anything that localsvm would not have written: a checksum
shows that the bytes are those that were written, a schema that they were written by localsvm.

    AFFINE = schema(AffineScaling, {
        "shift": array(np.float64, "n_features", within=FINITE),
        "factor": array(np.float64, "n_features", within=FINITE),
    })

Axes of arrays have a length, a name, or None (any length). A name stands for one length in all of a record: the one
that the caller gives, or that of the first array which has this axis.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import EllipsisType
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from localsvm.errors import InvalidFile, InvalidParameter
from localsvm.storage.record import Buffer, pack, unpack

T = TypeVar("T")

Values = dict[str, Any]
"""Plain values by key, as a record holds them."""
Axis = int | str | None | EllipsisType


# ---------------------------------------------------------------------------------------------- ranges


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`, both included; NaN only where it is allowed."""

    low: float
    high: float
    words: str
    nan: bool = False

    def holds(self, least: float, largest: float) -> bool:
        """Return whether numbers between these two are allowed; NaN is not."""
        return self.low <= least and largest <= self.high


_LARGEST, _LEAST = sys.float_info.max, math.ulp(0.0)

FINITE = Range(-_LARGEST, _LARGEST, "finite")
NOT_NEGATIVE = Range(0.0, _LARGEST, "finite and not negative")
POSITIVE = Range(_LEAST, _LARGEST, "finite and positive")
WIDTH = Range(float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max), "positive in single precision")
FRACTION = Range(0.0, 1.0, "between 0 and 1")
LEVEL = Range(_LEAST, 1.0 - sys.float_info.epsilon / 2, "above 0 and below 1")
ORDERED = Range(-math.inf, math.inf, "numbers")
RISK = Range(0.0, math.inf, "not negative", nan=True)
ANY = Range(-math.inf, math.inf, "numbers", nan=True)


# --------------------------------------------------------------------------------------- parts of records


class Fields:
    """The fields of a record or of a part of one, its name in errors, and the lengths of named axes."""

    def __init__(self, values: Any, what: str, sizes: Mapping[str, int] | None = None) -> None:
        self.what, self.sizes = what, dict(sizes or {})
        if type(values) is not dict or not all(type(key) is str for key in values):
            raise self.refuse("it is no table of fields")
        self._values: Values = values

    def refuse(self, why: str) -> InvalidFile:
        """Return the error for something that is wrong."""
        return InvalidFile(f"{self.what} makes no sense: {why}. It was not written by localsvm.")

    def has(self, name: str) -> bool:
        """Return whether there is a field of this name."""
        return name in self._values

    def value(self, name: str) -> Any:
        """Return a field as it is."""
        if name not in self._values:
            raise self.refuse(f"it has no {name!r}")
        return self._values[name]

    def typed(self, name: str, kind: type) -> Any:
        """Return a field of a Python type."""
        value = self.value(name)
        if type(value) is not kind:
            raise self.refuse(f"{name!r} is a {type(value).__name__}, not a {kind.__name__}")
        return value

    def read(self, name: str, kind: Kind | Schema[Any], **sizes: int) -> Any:
        """Return a field of some kind, checked; `sizes` are lengths of named axes."""
        return kind.read(Fields(self._values, self.what, {**self.sizes, **sizes}), name)

    def part(self, name: str) -> Fields:
        """Return the fields of a part."""
        return Fields(self.value(name), f"{name!r} of {self.what}", self.sizes)


@dataclass(frozen=True)
class Kind:
    """What a field may hold: how an attribute is written, and how it is read and checked."""

    write: Callable[[Any], Any]
    read: Callable[[Fields, str], Any]


# --------------------------------------------------------------------------------------- kinds of fields


def text(*words: str) -> Kind:
    """Return the kind of text, or of one of a few words."""

    def read(fields: Fields, name: str) -> Any:
        found = fields.typed(name, str)
        if words and found not in words:
            raise fields.refuse(f"its {name} is {found!r}")
        return found

    return Kind(str, read)


def flag() -> Kind:
    """Return the kind of True and False."""
    return Kind(bool, lambda fields, name: fields.typed(name, bool))


def integer(least: int = 0, *, below: str | None = None, most: float = 2**63 - 1) -> Kind:
    """Return the kind of integers from `least` to `most`, and below the length of an axis, if that is named."""

    def read(fields: Fields, name: str) -> Any:
        number = fields.typed(name, int)
        if not least <= number <= most or (below is not None and number >= fields.sizes[below]):
            raise fields.refuse(f"{name!r} is {number}")
        return number

    return Kind(int, read)


def real(within: Range = FINITE) -> Kind:
    """Return the kind of numbers within a range."""

    def read(fields: Fields, name: str) -> Any:
        number = fields.typed(name, float)
        if not (within.holds(number, number) or (within.nan and math.isnan(number))):
            raise fields.refuse(f"{name!r} is {number}, but must be {within.words}")
        return number

    return Kind(float, read)


def items(kind: Kind, least: int = 0) -> Kind:
    """Return the kind of tuples of numbers or texts, with at least so many items."""

    def read(fields: Fields, name: str) -> Any:
        found = fields.typed(name, tuple)
        if len(found) < least:
            raise fields.refuse(f"{name!r} has {len(found)} items")
        item = f"an item of {name}"
        return tuple(kind.read(Fields({item: value}, fields.what, fields.sizes), item) for value in found)

    return Kind(lambda value: tuple(kind.write(item) for item in value), read)


def array(dtype: DTypeLike | None, *shape: Axis, within: Range = ANY, below: str | None = None) -> Kind:
    """Return the kind of arrays of a type and a shape, with numbers within a range, below the length of an axis.

    A last axis `...` stands for any further axes; a type of None is any.
    """

    def read(fields: Fields, name: str) -> Any:
        found = fields.typed(name, np.ndarray)
        if (dtype is not None and found.dtype != dtype) or not _has_shape(found, shape, fields.sizes):
            due = _due(dtype, shape, fields.sizes)
            raise fields.refuse(f"{name!r} has type {found.dtype} and shape {found.shape} instead of {due}")
        if within is not ANY and found.size:
            ends = _ends(found, within)
            if not within.holds(*ends) or (below is not None and ends[1] >= fields.sizes[below]):
                limit = "" if below is None else f" and below {fields.sizes[below]}"
                raise fields.refuse(f"{name!r} must be {within.words}{limit}, but is between {ends[0]} and {ends[1]}")
        return found

    return Kind(lambda value: np.asarray(value, dtype=dtype), read)


def _has_shape(found: NDArray[Any], shape: tuple[Axis, ...], sizes: dict[str, int]) -> bool:
    """Return whether an array has a shape; names without a length get that of their axis."""
    axes = shape[:-1] if shape[-1:] == (...,) else shape
    lengths = found.shape[: len(axes)]
    if len(lengths) < len(axes) or (axes == shape and found.ndim > len(axes)):
        return False
    for axis, length in zip(axes, lengths, strict=True):
        due = sizes.setdefault(axis, length) if isinstance(axis, str) else axis
        if due is not None and due != length:
            return False
    return True


def _due(dtype: DTypeLike | None, shape: tuple[Axis, ...], sizes: dict[str, int]) -> str:
    words: dict[Axis, str] = {None: "any", ...: "..."}
    lengths = (sizes.get(axis, axis) if isinstance(axis, str) else words.get(axis, str(axis)) for axis in shape)
    return f"{'any' if dtype is None else np.dtype(dtype)} and ({', '.join(map(str, lengths))})"


def _ends(found: NDArray[Any], within: Range) -> tuple[float, float]:
    """Return the least and the largest number; NaN counts only where it is not allowed."""
    least, largest = (np.fmin, np.fmax) if within.nan else (np.minimum, np.maximum)
    ends = float(least.reduce(found, axis=None)), float(largest.reduce(found, axis=None))
    return (within.low, within.low) if within.nan and math.isnan(ends[0]) else ends


def names(axis: Axis) -> Kind:
    """Return the kind of arrays of text."""
    objects = array(object, axis)

    def read(fields: Fields, name: str) -> Any:
        found = objects.read(fields, name)
        if not all(type(item) is str for item in found.tolist()):
            raise fields.refuse(f"{name!r} has items that are not text")
        return found

    return Kind(objects.write, read)


def texts() -> Kind:
    """Return the kind of tuples of text that may be long: the bytes of all of them, and where each ends."""

    def write(value: Any) -> Any:
        parts = [item.encode("utf-8", "surrogatepass") for item in value]
        return {"bytes": b"".join(parts), "ends": np.cumsum([len(part) for part in parts], dtype=np.int64)}

    def read(fields: Fields, name: str) -> Any:
        part = fields.part(name)
        found, ends = part.typed("bytes", bytes), array(np.int64, None).read(part, "ends")
        begins = np.concatenate([[0], ends[:-1]])
        if (ends < begins).any() or (ends[-1] if len(ends) else 0) != len(found):
            raise part.refuse(f"its items do not end at {len(found)}")
        try:
            pairs = zip(begins.tolist(), ends.tolist(), strict=True)
            return tuple(found[begin:end].decode("utf-8", "surrogatepass") for begin, end in pairs)
        except UnicodeDecodeError as error:
            raise part.refuse("its bytes are not text") from error

    return Kind(write, read)


def maybe(kind: Kind | Schema[Any]) -> Kind:
    """Return the kind of what may be None."""
    return Kind(
        lambda value: None if value is None else kind.write(value),
        lambda fields, name: None if fields.value(name) is None else kind.read(fields, name),
    )


def added(kind: Kind, before: Any) -> Kind:
    """Return the kind of a field that older files do not have; they mean `before`."""
    return Kind(kind.write, lambda fields, name: kind.read(fields, name) if fields.has(name) else before)


def table(kind: Kind | None = None) -> Kind:
    """Return the kind of dicts with values of one kind, or of any."""

    def read(fields: Fields, name: str) -> Any:
        found = fields.typed(name, dict)
        if kind is None:
            return dict(found)
        part = fields.part(name)
        return {key: kind.read(part, key) for key in found}

    return Kind(lambda value: {name: kind.write(item) if kind else item for name, item in value.items()}, read)


def several(kind: Schema[Any], least: int = 0) -> Kind:
    """Return the kind of lists of parts, which become a tuple of objects."""

    def read(fields: Fields, name: str) -> Any:
        parts = fields.typed(name, list)
        if len(parts) < least:
            raise fields.refuse(f"{name!r} has {len(parts)} parts")
        return tuple(
            kind.make(Fields(part, f"{name!r} {number} of {fields.what}", fields.sizes))
            for number, part in enumerate(parts)
        )

    return Kind(lambda value: [kind.write(item) for item in value], read)


# --------------------------------------------------------------------------------------------- objects


@dataclass(frozen=True)
class Schema(Generic[T]):
    """How an object becomes the fields of a record, or of a part of one, and how it is made of them."""

    write: Callable[[T], Values]
    make: Callable[[Fields], T]

    def read(self, fields: Fields, name: str) -> T:
        """Return the object of a part of a record."""
        return self.make(fields.part(name))

    def pack(self, value: T) -> list[Buffer]:
        """Return an object as the pieces of a record."""
        return pack(self.write(value))

    def unpack(self, buffer: Buffer, what: str, **sizes: int) -> T:
        """Return the object of a record; `what` is its name in errors, `sizes` are the lengths of named axes."""
        return self.make(Fields(unpack(buffer, what), what, sizes))


def schema(
    build: Callable[..., T],
    kinds: Mapping[str, Kind | Schema[Any]],
    *,
    attributes: Mapping[str, str] | None = None,
    flatten: Callable[[T], Mapping[str, Any]] | None = None,
    check: Callable[[Values, Mapping[str, int]], str | None] | None = None,
) -> Schema[T]:
    """Return the schema of a class, whose objects `build` makes of their fields; `kinds` are in the order of the file.

    `attributes` has the names of attributes where keys differ, `flatten` the values by attribute of an object that the
    file has in another form. `check` says what is wrong with values that are right one by one, or returns None.
    """
    attribute = {key: (attributes or {}).get(key, key) for key in kinds}

    def write(value: T) -> Values:
        found = flatten(value) if flatten else {name: getattr(value, name) for name in attribute.values()}
        return {key: kind.write(found[attribute[key]]) for key, kind in kinds.items()}

    def make(fields: Fields) -> T:
        values = {attribute[key]: kind.read(fields, key) for key, kind in kinds.items()}
        wrong = check(values, fields.sizes) if check else None
        if wrong:
            raise fields.refuse(wrong)
        return build(**values)

    return Schema(write, make)


def tagged(tag: str, kinds: Mapping[str, tuple[type, Schema[Any]]], what: str) -> Schema[Any]:
    """Return the schema of several classes, told apart by a word in the field `tag`: a file never names a class."""

    def write(value: Any) -> Values:
        for word, (kind, of_kind) in kinds.items():
            if type(value) is kind:
                return {tag: word, **of_kind.write(value)}
        raise InvalidParameter(
            f"a {type(value).__name__} is a {what} of your own: a model file can hold those of localsvm only. Pickle "
            "the estimator instead."
        )

    def make(fields: Fields) -> Any:
        return kinds[text(*kinds).read(fields, tag)][1].make(fields)

    return Schema(write, make)
