"""Records give back what was packed, to the bit, and refuse everything else."""

import json
import math
import tracemalloc
from zlib import crc32

import numpy as np
import pytest
from files import array_of, header_of, record_of
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from localsvm import InvalidFile
from localsvm.storage.record import ALIGNMENT, pack, unpack

DTYPES = [
    "?",
    "<i1",
    ">i2",
    "<i4",
    "<i8",
    "<u1",
    "<u2",
    ">u8",
    "<f2",
    "<f4",
    ">f8",
    "<U1",
    ">U4",
    "S3",
    "<M8[us]",
    "<m8[D]",
]
ARRAYS = st.sampled_from(DTYPES).flatmap(
    lambda name: npst.arrays(name, npst.array_shapes(min_dims=0, min_side=0, max_side=4))
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
KEYS = st.text() | st.sampled_from(["$array", "$dict", "$"]) | st.integers() | st.tuples(st.integers(), st.text())
VALUES = st.recursive(
    SCALARS | ARRAYS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.lists(inner, max_size=4).map(tuple) | st.dictionaries(KEYS, inner, max_size=4)
    ),
    max_leaves=12,
)


def packed(value):
    return b"".join(pack(value))


def same(a, b):
    """Equal in type and to the bit; byte order aside."""
    if isinstance(a, np.ndarray | np.generic):
        assert type(a) is type(b) and np.shape(a) == np.shape(b)
        assert a.dtype.newbyteorder("<") == b.dtype or a.dtype.itemsize == 0
        plain = a.astype(b.dtype)
        assert plain.tobytes() == b.tobytes()
        return
    assert type(a) is type(b)
    if isinstance(a, dict):
        assert list(a) == list(b)
        same(list(a.values()), list(b.values()))
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for left, right in zip(a, b, strict=True):
            same(left, right)
    elif isinstance(a, float):
        assert math.copysign(1, a) == math.copysign(1, b) or math.isnan(a)
        assert a == b or (math.isnan(a) and math.isnan(b))
    else:
        assert a == b


# ------------------------------------------------------------------------------------------ round trips


@given(VALUES)
@settings(deadline=None)
def test_what_was_packed_comes_back_to_the_bit(value):
    record = packed(value)
    assert len(record) % ALIGNMENT == 0
    same(value, unpack(record, "a record"))


@pytest.mark.parametrize(
    "value",
    [
        np.float64(1.5),
        np.int8(-3),
        np.bool_(True),
        np.str_("é"),
        np.str_(""),
        np.bytes_(b"ab"),
        np.datetime64("2024-01-01"),
        np.timedelta64(5, "s"),
    ],
    ids=repr,
)
def test_scalars_of_numpy_keep_their_type(value):
    same(value, unpack(packed([value]), "a record")[0])


def test_arrays_of_plain_objects_keep_their_objects_and_their_shape():
    objects = np.empty((2, 2), dtype=object)
    objects[:] = [["a\0", 1], [None, (2.5, [1])]]
    (found,) = unpack(packed([objects]), "a record")
    assert found.shape == (2, 2) and found.dtype == object
    same(objects.tolist(), found.tolist())


@pytest.mark.parametrize("shape", [(3, 4), (0, 3), ()])
def test_the_layout_of_an_array_in_memory_does_not_matter(shape):
    array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    for other in (np.array(array, order="F"), np.repeat(array[..., None], 2, -1)[..., 0], array.astype(">f4")):
        assert packed(other) == packed(array)


def test_a_record_is_laid_out_as_documented():
    values = np.arange(5, dtype=np.int16)
    record = packed({"name": "x", "values": values, "more": np.ones(20)})
    header = header_of(record)
    assert header["name"] == "x"
    np.testing.assert_array_equal(array_of(record, header["values"]["$array"]), values)
    np.testing.assert_array_equal(array_of(record, header["more"]["$array"]), np.ones(20))
    assert record_of(json.dumps(header, separators=(",", ":")).encode(), record[-256:]) == record


def test_arrays_are_aligned_read_only_views():
    buffer = np.zeros(2048, dtype=np.uint8)
    begin = -buffer.ctypes.data % 64
    record = packed([np.arange(3.0), np.arange(7, dtype=np.int8), np.arange(100.0)])
    where = buffer[begin : begin + len(record)]
    where[:] = np.frombuffer(record, dtype=np.uint8)
    arrays = unpack(where.data.toreadonly(), "a record")
    for array in arrays:
        assert np.shares_memory(array, buffer)
        assert array.ctypes.data % 64 == 0
        assert not array.flags.writeable


@pytest.mark.parametrize(
    "value",
    [object(), {1, 2}, print, 1j, np.ones(2, dtype=complex), np.ones(2, dtype="f8,i4"), np.longdouble(1), [len]],
    ids=repr,
)
def test_what_is_no_plain_value_is_not_packed(value):
    with pytest.raises(TypeError, match="cannot be stored"):
        pack(value)


# ---------------------------------------------------------------------------------------------- damage

EXAMPLE = {"name": "x", "numbers": [1, 2.5, None], "array": np.arange(12.0).reshape(3, 4), "empty": np.zeros((0, 2))}


def test_every_flip_of_a_byte_is_detected():
    record = packed(EXAMPLE)
    for place in range(len(record)):
        for change in (1, 128, 255):
            damaged = bytearray(record)
            damaged[place] ^= change
            with pytest.raises(InvalidFile):
                unpack(bytes(damaged), "a record")


def test_every_truncation_and_every_addition_is_detected():
    record = packed(EXAMPLE)
    for size in range(len(record)):
        with pytest.raises(InvalidFile, match=r"^a record is damaged"):
            unpack(record[:size], "a record")
    with pytest.raises(InvalidFile):
        unpack(record + bytes(64), "a record")


@given(st.binary(max_size=300))
@settings(deadline=None)
def test_random_bytes_are_refused(content):
    with pytest.raises(InvalidFile):
        unpack(content, "a record")


# ------------------------------------------------- headers that make no sense, with checksums that are right

MAX = 2**63 - 1
NONSENSE = {
    "no json": b"{",
    "no utf-8": b"\xff\xfe",
    "constant": b"[NaN]",
    "nesting": b"[" * 100_000,
    "nested tags": b'{"$tuple":[' * 50_000 + b"]}" * 50_000,
    "number of too many digits": b"9" * 10_000,
    "unknown tag": {"$import": "os"},
    "two tags": {"$tuple": [], "$float": "nan"},
    "float": {"$float": "1e5"},
    "key that is a list": {"$dict": [[[], 1]]},
    "pair of three": {"$dict": [[1, 2, 3]]},
    "place that is none": {"$array": 3},
    "place of two": {"$array": ["<f8", [1]]},
    "objects": {"$array": ["|O", [1], 0]},
    "structure": {"$array": ["<f8,<i4", [1], 0]},
    "void": {"$array": ["|V8", [1], 0]},
    "repeated type": {"$array": ["(1000000,)<f8", [1], 0]},
    "type that is none": {"$array": [3, [1], 0]},
    "unit of time": {"$array": ["<M8[zz]", [1], 0]},
    "length of text": {"$array": ["<U999999999", [1], 0]},
    "negative shape": {"$array": ["<f8", [-1], 0]},
    "negative shapes": {"$array": ["<f8", [-1, -8], 0]},
    "fraction": {"$array": ["<f8", [1.0], 0]},
    "truth": {"$array": ["<f8", [True], 0]},
    "shape that is none": {"$array": ["<f8", 8, 0]},
    "beyond the end": {"$array": ["<f8", [17], 0]},
    "behind the end": {"$array": ["<f8", [1], 128]},
    "far behind": {"$array": ["<f8", [1], 2**70]},
    "offset below zero": {"$array": ["<f8", [1], -64]},
    "offset between": {"$array": ["<f8", [1], 8]},
    "overflow": {"$array": ["<f8", [MAX, MAX], 0]},
    "overflow to zero": {"$array": ["<f8", [2**32, 2**32], 0]},
    "too large for a size": {"$array": ["<f8", [0, 2**64], 0]},
    "too large together": {"$array": ["<f8", [0, MAX, MAX], 0]},
    "dimensions": {"$array": ["<f8", [1] * 65, 0]},
    "many dimensions": {"$array": ["<f8", [1] * 100_000, 0]},
    "objects of another shape": {"$objects": [[3], [1, 2]]},
    "objects of a huge shape": {"$objects": [[MAX], []]},
    "scalar of several": {"$bytes": ["<f8", [MAX], 0]},
}


@pytest.mark.parametrize("name", NONSENSE)
def test_a_header_that_makes_no_sense_is_refused_in_little_memory(name):
    record = record_of(NONSENSE[name], bytes(128))
    tracemalloc.start()
    try:
        with pytest.raises(InvalidFile, match=r"^a record makes no sense"):
            unpack(record, "a record")
        assert tracemalloc.get_traced_memory()[1] < 40 * len(record) + 1_000_000
    finally:
        tracemalloc.stop()


def test_a_huge_header_is_refused_before_it_is_read():
    record = record_of(b"[" + b"[]," * 6_000_000 + b"[]]")
    tracemalloc.start()
    try:
        with pytest.raises(InvalidFile, match="header has 18000004 bytes"):
            unpack(record, "a record")
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_a_header_longer_than_its_record_is_refused():
    record = bytearray(record_of([1]))
    record[12:16] = (1000).to_bytes(4, "little")
    record[8:12] = crc32(record[12:]).to_bytes(4, "little")
    with pytest.raises(InvalidFile, match="header has 1000 bytes"):
        unpack(bytes(record), "a record")


NAMES = st.sampled_from(["<f8", "<f4", "|b1", "|u1", "<U3", "|S2", "<M8[s]", "|O", "<f16", ">f8", "V4", ""])
SIZES = st.integers(-1, 9) | st.sampled_from([2**31, 2**62, 2**63, 2**64]) | st.floats() | st.none()
PLACES = st.tuples(NAMES, st.lists(SIZES, max_size=4), st.sampled_from([0, 64, 128, 192, 8, -64, 2**63])).map(list)
TAGS = st.sampled_from(["$array", "$scalar", "$bytes", "$objects", "$tuple", "$dict", "$float", "$x", "a"])
TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | PLACES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TAGS, inner, max_size=2),
    max_leaves=15,
)


@given(TREES)
@settings(max_examples=1000, deadline=None)
def test_any_header_is_read_or_refused(tree):
    record = record_of(tree, bytes(range(192)))
    try:
        value = unpack(record, "a record")
    except InvalidFile:
        return
    same(value, unpack(packed(value), "the same again"))
