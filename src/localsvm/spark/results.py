"""Results of jobs on the driver, in parts that spark.driver.maxResultSize allows.

Input: a frame with columns of bytes. Output: its rows. A job returns a part of them, so that neither the limit nor the
memory of Java on the driver has to grow with the frame; the frame should be stored, since every part reads it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from localsvm.errors import InvalidParameter

Row = dict[str, Any]

_DEFAULT_LIMIT = "1g"
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40, "p": 50}
_PART = 0.5  # of the limit: results are larger than the bytes in them


def collect_rows(frame: DataFrame, key: str, columns: Sequence[str]) -> list[Row]:
    """Return all rows of a frame; `columns` are the large ones, and a part has the rows of a range of the key."""
    lengths = frame.select(key, *(F.length(name).alias(name) for name in columns))
    n_bytes: Counter[int] = Counter()
    for row in _rows(lengths):
        n_bytes[row[key]] += sum(row[name] or 0 for name in columns)
    return [
        row
        for first, last in key_ranges(n_bytes, result_limit(frame.sparkSession))
        for row in _rows(frame.where(F.col(key).between(first, last)))
    ]


def key_ranges(n_bytes: Mapping[int, int], limit: float) -> list[tuple[int, int]]:
    """Return ranges of keys, first and last, whose bytes stay within a part of the limit where a single key does."""
    ranges: list[tuple[int, int]] = []
    size = 0
    for key in sorted(n_bytes):
        size += n_bytes[key]
        if not ranges or size > _PART * limit:
            ranges.append((key, key))
            size = n_bytes[key]
        ranges[-1] = (ranges[-1][0], key)
    return ranges


def result_limit(session: SparkSession) -> float:
    """Return the bytes that a job may return to the driver, spark.driver.maxResultSize."""
    return parse_bytes(session.conf.get("spark.driver.maxResultSize", _DEFAULT_LIMIT)) or math.inf


def parse_bytes(text: str) -> int:
    """Return a size as the configuration of Spark writes it.

    Examples
    --------
    >>> from localsvm.spark.results import parse_bytes
    >>> parse_bytes("1g") == parse_bytes("1024MB") == 2**30, parse_bytes("512k"), parse_bytes("0")
    (True, 524288, 0)
    """
    found = re.fullmatch(r"(\d+)\s*([kmgtp]?)b?", text.strip().lower())
    if found is None:
        raise InvalidParameter(f"spark.driver.maxResultSize={text!r}: a size such as '1g' is needed.")
    return int(found[1]) << _UNITS[found[2]]


def _rows(frame: DataFrame) -> list[Row]:
    rows: list[Row] = frame.toArrow().to_pylist()
    return rows
