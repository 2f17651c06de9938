"""Random tables of all types, and their values for comparisons."""

import math

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

# No zero bytes: files that contain them are not taken for text files.
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=6)
VALUES = {
    "double": (pa.float64(), st.floats(width=64, allow_nan=False)),
    "single": (pa.float32(), st.floats(width=32, allow_nan=False)),
    "half": (pa.float16(), st.floats(width=16, allow_nan=False)),
    "long": (pa.int64(), st.integers(-(2**53), 2**53)),
    "byte": (pa.uint8(), st.integers(0, 255)),
    "boolean": (pa.bool_(), st.booleans()),
    "text": (pa.string(), TEXT),
}
NUMBERS = tuple(name for name in VALUES if name != "text")


@st.composite
def tables(draw, kinds=tuple(VALUES), min_rows=0, missing=True):
    """Draw a table with one to four columns of the kinds."""
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    n_rows = draw(st.integers(min_rows, 12))
    columns = []
    for _ in names:
        kind, values = VALUES[draw(st.sampled_from(kinds))]
        values = st.none() | values if missing else values
        drawn = draw(st.lists(values, min_size=n_rows, max_size=n_rows))
        if pa.types.is_float16(kind):
            drawn = [None if value is None else np.float16(value) for value in drawn]
        columns.append(pa.array(drawn, kind))
    return pa.table(columns, names=names)


def read_all(file, columns=None, rows=5):
    """Read a file into one table."""
    names = file.schema.names if columns is None else columns
    types = pa.schema([pa.field(name, file.schema[name].type) for name in names])
    return pa.Table.from_batches([batch.cast(types) for batch in file.batches(columns, rows)], types)


def values_of(column):
    """Return a column as a list that can be compared: numbers are floats, NaN is None."""
    values = column.to_pylist()
    return [value if value is None or isinstance(value, str) else _number(float(value)) for value in values]


def _number(value):
    return None if math.isnan(value) else value
