"""Plain values as JSON and arrays apart: what a record can hold.

Enters: None, numbers, text, bytes, lists, tuples, dicts of these, NumPy arrays and scalars. Leaves: a tree that JSON
can write, and the arrays. What JSON has no word for is an object with one key that begins with "$":

    {"$array": place}  {"$scalar": place}  {"$bytes": place}  {"$objects": [shape, [value, ...]]}
    {"$tuple": [value, ...]}  {"$dict": [[key, value], ...]}  {"$float": "nan" | "inf" | "-inf"}

Reading makes these values and nothing else: there is no name of a class or of a function in a record.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Booleans, numbers, text, bytes, times; little-endian. Nothing that holds Python objects.
_DTYPES = re.compile(r"\|[biu]1|<[iu][248]|<f[248]|<U[1-9]\d{0,8}|\|S[1-9]\d{0,8}|<[mM]8(\[\d{0,9}[A-Za-z]{1,2}\])?")
_MOST_DIMENSIONS = 32

Tree = Any
"""What `json` reads and writes."""


def to_tree(value: object, keep: Callable[[NDArray[Any]], Tree]) -> Tree:
    """Return a value as a tree; `keep` takes an array and returns its place."""

    def tree_of(value: object) -> Tree:
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"$float": str(value)}
        if isinstance(value, np.generic):
            return {"$scalar": keep(storable(np.asarray(value)))}
        if isinstance(value, np.ndarray):
            if value.dtype.kind == "O":
                return {"$objects": [list(value.shape), [tree_of(item) for item in value.ravel().tolist()]]}
            return {"$array": keep(storable(value))}
        if type(value) is bytes:
            return {"$bytes": keep(np.frombuffer(value, dtype=np.uint8))}
        if type(value) is list:
            return [tree_of(item) for item in value]
        if type(value) is tuple:
            return {"$tuple": [tree_of(item) for item in value]}
        if type(value) is dict:
            if all(type(key) is str and not key.startswith("$") for key in value):
                return {key: tree_of(item) for key, item in value.items()}
            return {"$dict": [[tree_of(key), tree_of(item)] for key, item in value.items()]}
        raise TypeError(f"{_shown(value)} of type {type(value).__name__} cannot be stored")

    return tree_of(value)


def storable(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array as a record holds it, contiguous and little-endian; refuse types that it cannot hold."""
    plain = np.asarray(array, order="C")
    if plain.dtype.itemsize == 0:  # text and bytes of no length
        plain = plain.astype(plain.dtype.kind + "1")
    plain = plain.astype(plain.dtype.newbyteorder("<"), copy=False)
    if not _DTYPES.fullmatch(plain.dtype.str):
        raise TypeError(f"an array of type {array.dtype} cannot be stored")
    return plain


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def from_tree(tree: Tree, array_at: Callable[[Tree], NDArray[Any]]) -> Any:
    """Return the value of a tree; `array_at` returns the array at a place. What is wrong raises some error."""

    def value_of(tree: Tree) -> Any:
        if isinstance(tree, list):
            return [value_of(item) for item in tree]
        if not isinstance(tree, dict):
            return tree
        tag = next(iter(tree), "")
        if tag.startswith("$"):
            (content,) = tree.values()
            return readers[tag](content)
        return {key: value_of(item) for key, item in tree.items()}

    readers: dict[str, Callable[[Tree], Any]] = {
        "$array": array_at,
        "$scalar": lambda place: array_at(place)[()],
        "$bytes": lambda place: array_at(place).tobytes(),
        "$objects": lambda content: _objects(content[0], value_of(content[1])),
        "$tuple": lambda items: tuple(value_of(items)),
        "$dict": lambda pairs: {value_of(key): value_of(item) for key, item in pairs},
        "$float": lambda text: {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[text],
    }
    return value_of(tree)


def _objects(shape: list[int], items: list[Any]) -> NDArray[Any]:
    flat = np.empty(len(items), dtype=object)
    for place, item in enumerate(items):  # one by one: an item that is a list stays one
        flat[place] = item
    return flat.reshape(checked_shape(shape))


def checked_shape(shape: Tree) -> tuple[int, ...]:
    """Return a shape; refuse what is none."""
    if not isinstance(shape, list) or len(shape) > _MOST_DIMENSIONS:
        raise ValueError(f"{_shown(shape)} is not a shape")
    if not all(type(size) is int and 0 <= size < 2**63 for size in shape):
        raise ValueError(f"{_shown(shape)} is not a shape")
    return tuple(shape)


def checked_dtype(name: Tree) -> np.dtype[Any]:
    """Return a type of numbers, text, bytes or times; refuse all others."""
    if not isinstance(name, str) or not _DTYPES.fullmatch(name):
        raise ValueError(f"{_shown(name)} is not a type of arrays in a record")
    return np.dtype(name)
