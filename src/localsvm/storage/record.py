"""A record: a plain value in bytes that verify themselves, with arrays that are used where they lie.

Enters: a plain value (see `plain`), or the bytes of one. Leaves: the other. The bytes are

    magic (8) | crc32 of all that follows (4) | bytes of the header (4) | bytes of the record (8)
    header: the value as JSON, arrays as [type, shape, offset]
    data: the arrays, each from a multiple of 64 bytes on, offsets counted from the first

padded with zeros to a multiple of 64 bytes. Reading checks all of it before anything is used, copies nothing and
executes nothing: arrays are read-only views of the given bytes, which may be a file in memory.
"""

from __future__ import annotations

import json
import math
import struct
from typing import Any, NoReturn
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from localsvm.errors import InvalidFile
from localsvm.storage.plain import Tree, checked_dtype, checked_shape, from_tree, to_tree

ALIGNMENT = 64
"""Records, and arrays in them, begin at multiples of this many bytes."""

_MAGIC = b"\x93lsvmrec"
_HEAD = struct.Struct("<8sIIQ")
_CHECKED = 12
"""Where the bytes begin that the checksum is of."""
_LARGEST_HEADER = 1 << 24
"""JSON takes some twenty times its size in memory. Headers are small: what is large are arrays."""

_FLAWS = (ValueError, TypeError, LookupError, ArithmeticError, RecursionError)
"""What reading a header that makes no sense can raise."""

Buffer = bytes | memoryview


def pack(value: object) -> list[Buffer]:
    """Return the record of a value, in pieces to be written one after the other; arrays are not copied.

    `plain` says what a value may be. The record has a multiple of 64 bytes.
    """
    data = _Data()
    header = json.dumps(to_tree(value, data.keep), allow_nan=False, separators=(",", ":")).encode("ascii")
    if len(header) > _LARGEST_HEADER:
        raise ValueError(f"names and numbers outside of arrays take {len(header)} bytes, more than {_LARGEST_HEADER}")
    size = _data_begin(len(header)) + data.size
    padding = bytes(_data_begin(len(header)) - _HEAD.size - len(header))
    checked = struct.pack("<IQ", len(header), size)
    pieces: list[Buffer] = [checked, header, padding, *data.pieces]
    checksum = 0
    for piece in pieces:
        checksum = crc32(piece, checksum)
    return [_MAGIC + struct.pack("<I", checksum), *pieces]


class _Data:
    """Arrays one after the other, each from a multiple of 64 bytes on."""

    def __init__(self) -> None:
        self.pieces: list[Buffer] = []
        self.size = 0

    def keep(self, array: NDArray[Any]) -> Tree:
        place = [array.dtype.str, list(array.shape), self.size]
        self.pieces += [array.reshape(-1).view(np.uint8).data, bytes(_aligned(array.nbytes) - array.nbytes)]
        self.size += _aligned(array.nbytes)
        return place


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _data_begin(header_size: int) -> int:
    return _aligned(_HEAD.size + header_size)


def unpack(buffer: Buffer, what: str) -> Any:
    """Return the value of a record, all of which is checked; its arrays are views of the buffer.

    `what` is its name in errors.
    """
    view = memoryview(buffer)
    header_size = _checked_head(view, what)
    begin = _data_begin(header_size)
    data = view[begin:]

    def array_at(place: Tree) -> NDArray[Any]:
        name, shape, offset = place
        dtype, shape = checked_dtype(name), checked_shape(shape)
        size = dtype.itemsize * math.prod(shape)
        if type(offset) is not int or not 0 <= offset <= len(data) - size or offset % ALIGNMENT:
            raise ValueError(f"an array of {size} bytes at {offset} is not within the record's {len(data)}")
        # An array without elements may lie at the very end, where there is nothing to view.
        return np.ndarray(shape, dtype, buffer=data, offset=offset) if size else np.empty(shape, dtype)

    try:
        header = json.loads(bytes(view[_HEAD.size : _HEAD.size + header_size]), parse_constant=_refuse_constant)
        return from_tree(header, array_at)
    except _FLAWS as error:
        raise InvalidFile(f"{what} makes no sense: {error}. It was not written by localsvm.") from error


def _checked_head(view: memoryview, what: str) -> int:
    """Return the size of the header; refuse bytes that are not a whole record."""
    if len(view) < _HEAD.size:
        raise _damaged(what, f"it has {len(view)} bytes, too few for a record")
    magic, checksum, header_size, size = _HEAD.unpack(view[: _HEAD.size])
    if magic != _MAGIC:
        raise _damaged(what, "no record begins there")
    if size != len(view):
        raise _damaged(what, f"it has {len(view)} bytes instead of {size}")
    if crc32(view[_CHECKED:]) != checksum:
        raise _damaged(what, "its checksum is wrong")
    if header_size > _LARGEST_HEADER or _data_begin(header_size) > size:
        raise InvalidFile(f"{what} makes no sense: its header has {header_size} bytes. It was not written by localsvm.")
    return int(header_size)


def _damaged(what: str, why: str) -> InvalidFile:
    return InvalidFile(f"{what} is damaged: {why}. Copy the file again, or make it again.")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
