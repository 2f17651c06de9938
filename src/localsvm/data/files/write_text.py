"""Tables as text: csv and the format of LIBSVM.

Enters: a stream of bytes, a schema, batches. Leaves: text in the stream. Numbers are written with as few digits as give
the same number of their type when they are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from localsvm.data.files.numbers import column_numbers
from localsvm.data.files.options import FileOptions
from localsvm.data.files.schema import Schema
from localsvm.data.files.write_types import cast_columns, simple_type
from localsvm.errors import InvalidData

_INDEX = re.compile("0|[1-9][0-9]{0,5}")


@dataclass(frozen=True)
class CsvWriter:
    """Writes batches as lines of csv."""

    writer: Any
    types: Any

    def write(self, batch: Any) -> None:
        """Write rows."""
        self.writer.write_batch(cast_columns(batch, self.types))


@contextmanager
def write_csv(sink: Any, schema: Schema, options: FileOptions) -> Iterator[CsvWriter]:
    """Write csv: a header unless the options say no, text in quotes, nothing where a value is missing."""
    types = pa.schema([pa.field(column.name, simple_type(column, "csv")) for column in schema.columns])
    settings = arrow_csv.WriteOptions(include_header=options.header is not False, delimiter=options.delimiter or ",")
    with arrow_csv.CSVWriter(sink, types, write_options=settings) as writer:
        yield CsvWriter(writer, types)


@dataclass
class LibsvmWriter:
    """Writes batches as lines of a label and the numbers that are not zero."""

    sink: Any
    target: str
    indices: dict[str, int]
    is_first: bool = True

    def write(self, batch: Any) -> None:
        """Write rows."""
        labels = column_numbers(batch.column(self.target), self.target)
        parts = [_digits(labels), *(self._entries(batch, name) for name in self.indices)]
        self.sink.write("".join(pc.binary_join_element_wise(*parts, "\n", "").to_pylist()).encode())
        self.is_first = False

    def _entries(self, batch: Any, name: str) -> Any:
        """Return " index:value" for every row, nothing where the value is zero."""
        values = column_numbers(batch.column(name), name)
        is_zero = values == 0
        if self.is_first and name == next(reversed(self.indices)):
            is_zero[:1] = False  # the largest index is there at least once
        entries = pc.binary_join_element_wise(f" {self.indices[name]}:", _digits(values), "")
        return pc.if_else(pa.array(is_zero), "", entries)


def _digits(values: Any) -> Any:
    return pa.array(values.astype(np.float32) if values.dtype == np.float16 else values).cast(pa.string())


@contextmanager
def write_libsvm(sink: Any, schema: Schema, options: FileOptions) -> Iterator[LibsvmWriter]:
    """Write the format of LIBSVM: indices are the names of the columns if these are numbers, else 1, 2, ..."""
    if options.target not in schema:
        raise InvalidData(
            f"the format of LIBSVM needs labels, and there is no column {options.target!r}. Say which is the target."
        )
    for column in schema.columns:
        if column.kind != "number":
            raise InvalidData(f"column {column.name!r} is a {column.kind}; the format of LIBSVM has numbers only.")
    features = [name for name in schema.names if name != options.target]
    yield LibsvmWriter(sink, options.target, dict(zip(features, _indices(features), strict=True)))


def _indices(names: list[str]) -> list[int]:
    numbers = [int(name) for name in names if _INDEX.fullmatch(name)]
    ascend = all(low < high for low, high in pairwise(numbers))
    return numbers if len(numbers) == len(names) and ascend else list(range(1, len(names) + 1))
