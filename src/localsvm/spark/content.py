"""Whether a later pass over a data frame reads the rows that the first one has read.

Input: the number of rows and the sum of their checksums (`row_marks`), of two passes. Output: an error if they differ.
Sums modulo 2^64 depend neither on the order of the rows nor on the partitions.
"""

from __future__ import annotations

from localsvm.errors import InvalidData


def rows_changed(what: str) -> InvalidData:
    """Return the error for a data frame whose rows were not the same in two passes."""
    return InvalidData(
        f"the data frame changed between two passes over its rows: {what}. Some of its expressions give other results "
        "when they are evaluated again: a UDF that is not deterministic, a sum of floating-point numbers over a "
        "shuffle, a file that was replaced. Call checkpoint() or persist() on the data frame before fit, or write it "
        "to files and read these."
    )


def check_rows(where: str, expected: tuple[int, int], found: tuple[int, int]) -> None:
    """Raise unless number and checksum of rows are those of an earlier pass."""
    if found == expected:
        return
    if found[0] != expected[0]:
        raise rows_changed(f"{where} had {expected[0]} rows at first, and {found[0]} later")
    raise rows_changed(f"{where} has {found[0]} rows as before, but some of them have other values")
