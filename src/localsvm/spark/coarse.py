"""Coarse cells: the upper nodes of the partition tree, found on the driver from samples.

Input: the rows of a fit. Output: a bounded sample, and `CoarseCells` that are small enough for one task each. A sample
consists of the rows with the smallest content hashes, so that it is the sample that a fit without Spark would draw.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from localsvm.data.content import content_hash
from localsvm.data.scaling import Scaling
from localsvm.partition.coarse import CoarseCells
from localsvm.partition.tree import descend
from localsvm.partition.voronoi import CHILD_SHARE, LARGEST_TRAVERSAL, SplitLimit, sample_centers
from localsvm.spark.rows import BLOCK_SCHEMA, Block, Layout, Rows, read_blocks, write_blocks

_LARGEST_HASH = 2**64 - 1
_WIDER = 4  # factor of the thresholds if duplicates have left too few distinct rows


@dataclass(frozen=True)
class Drawing:
    """What a task needs to draw rows: those whose hashes do not exceed the threshold of their coarse cell."""

    layout: Layout
    seed: int
    thresholds: NDArray[np.uint64]
    coarse: CoarseCells
    scaling: Scaling | None
    """None: rows are not scaled, and belong to one coarse cell."""


@dataclass(frozen=True)
class Sized:
    """Coarse cells with their sizes and radii."""

    coarse: CoarseCells
    sizes: NDArray[np.int64]
    radii: NDArray[np.float64]


def draw_sample(rows: Rows, count: int) -> Block:
    """Return the rows with the `count` smallest distinct hashes, unscaled, with multiplicities."""
    return _draw(rows, CoarseCells(), np.array([rows.n_rows]), {0: count}, None)[0]


def cut_coarsely(rows: Rows, drawn: Block, scaling: Scaling, limit: SplitLimit, coarse_size: int) -> Sized:
    """Split coarse cells of more than `coarse_size` rows, as the upper levels of the partition tree are split.

    `drawn` is the result of `draw_sample`; it is used for the first split if it is large enough. Duplicate rows stay
    together, and so do rows whose sample is a single point: their task splits them, using all of them.
    """
    found = Sized(CoarseCells(), np.array([rows.n_rows]), np.array([np.inf]))
    one_point: set[int] = set()
    while True:
        large = [
            cell
            for cell, (size, radius) in enumerate(zip(found.sizes.tolist(), found.radii.tolist(), strict=True))
            if size > coarse_size and cell not in one_point and not limit.allows(size, radius)
        ]
        if not large:
            return found
        samples = None if found.coarse.nodes else _of_all_rows(drawn, scaling, LARGEST_TRAVERSAL)
        if samples is None:
            samples = _draw(rows, found.coarse, found.sizes, dict.fromkeys(large, LARGEST_TRAVERSAL), scaling)
        coarse = found.coarse
        for cell in large:
            centers = _centers(samples[cell], int(found.sizes[cell]), max(CHILD_SHARE * coarse_size, 0.9 * limit.size))
            if len(centers) > 1:
                coarse = coarse.split(cell, centers)
            else:
                one_point.add(cell)
        if len(coarse) == len(found.coarse):
            return found
        found = _size(rows, coarse, scaling)


def _of_all_rows(drawn: Block, scaling: Scaling, count: int) -> dict[int, Block] | None:
    """Return what `_draw` would return for one cell of all rows; None if `drawn` has too few rows."""
    if len(np.unique(drawn.hashes)) < count:
        return None
    return {0: drawn.smallest(count).scaled(scaling)}


def _centers(sample: Block, n_rows: int, size: float) -> NDArray[np.float32]:
    # One row per hash, in the order of the hashes, as in `build_voronoi`.
    _, first, inverse = np.unique(sample.hashes, return_index=True, return_inverse=True)
    counts = np.bincount(inverse, weights=sample.counts).astype(np.int64)
    return sample_centers(np.ascontiguousarray(sample.rows.X[first], dtype=np.float32), counts, n_rows, size)


def _draw(
    rows: Rows, coarse: CoarseCells, sizes: NDArray[np.int64], counts: dict[int, int], scaling: Scaling | None
) -> dict[int, Block]:
    """Return, for the coarse cells of `counts`, the rows with that many smallest distinct hashes."""
    fractions = {cell: (count + 6 * count**0.5) / int(sizes[cell]) for cell, count in counts.items()}
    drawn: dict[int, Block] = {}
    while fractions:
        thresholds = np.zeros(len(coarse), dtype=np.uint64)
        for cell, fraction in fractions.items():
            thresholds[cell] = min(int(fraction * 2**64), _LARGEST_HASH)
        drawing = Drawing(rows.layout, rows.seed, thresholds, coarse, scaling)
        table = rows.frame.mapInArrow(partial(_drawn_blocks, drawing), BLOCK_SCHEMA).toArrow()
        dtype = np.float64 if scaling is None else np.float32
        found = read_blocks(table.to_batches(), rows.layout.n_features, dtype)
        for cell, fraction in list(fractions.items()):
            n_distinct = len(np.unique(found[cell].hashes)) if cell in found else 0
            if n_distinct >= counts[cell] or fraction >= 1:
                drawn[cell] = found[cell].smallest(counts[cell])
                del fractions[cell]
            else:
                fractions[cell] *= _WIDER
    return drawn


def _drawn_blocks(drawing: Drawing, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for rows in drawing.layout.rows(batches):
        hashes = content_hash(rows.X, drawing.seed)
        low = hashes <= drawing.thresholds.max()
        block = Block(rows[low], hashes[low], np.ones(int(low.sum()), dtype=np.int64)).merged()
        cells = np.zeros(len(block), dtype=np.int32)
        if drawing.scaling is not None:
            block = block.scaled(drawing.scaling)
            cells = drawing.coarse.assign(block.rows.X)
        wanted = block.hashes <= drawing.thresholds[cells]
        yield from write_blocks(block[wanted], cells[wanted], len(drawing.coarse))


def _size(rows: Rows, coarse: CoarseCells, scaling: Scaling) -> Sized:
    """Return coarse cells with their sizes and radii."""
    count = partial(_count_rows, coarse, scaling, rows.layout)
    table = rows.frame.mapInArrow(count, "sizes binary, squared binary").toArrow()
    sizes = [np.frombuffer(part, dtype=np.int64) for part in table.column("sizes").to_pylist()]
    squared = [np.frombuffer(part, dtype=np.float32) for part in table.column("squared").to_pylist()]
    return Sized(coarse, np.sum(sizes, axis=0), np.sqrt(np.max(squared, axis=0).astype(np.float64)))


def _count_rows(
    coarse: CoarseCells, scaling: Scaling, layout: Layout, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    sizes = np.zeros(len(coarse), dtype=np.int64)
    squared = np.zeros(len(coarse), dtype=np.float32)
    for rows in layout.rows(batches):
        cells, distances = descend(coarse.nodes, scaling.apply(rows.X))
        sizes += np.bincount(cells, minlength=len(coarse))
        np.maximum.at(squared, cells, distances)
    columns = {"sizes": sizes.tobytes(), "squared": squared.tobytes()}
    yield pa.RecordBatch.from_pydict({name: pa.array([found], pa.binary()) for name, found in columns.items()})
