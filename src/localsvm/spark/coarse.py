"""Coarse cells: the upper nodes of the partition tree, found from samples.

Input: the rows of a fit. Output: a bounded sample, and `CoarseCells` that are small enough for one task each. A sample
consists of the rows with the smallest content hashes, so that it is the sample that a fit without Spark would draw.

    rows -> (sample, small hashes) -- one partition per sample, duplicates merged --> its rows, or centers of a cell

The driver receives one sample of all rows. Samples of large coarse cells can be many: tasks reduce them to centers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from localsvm.data.content import content_hash
from localsvm.data.scaling import Scaling
from localsvm.partition.coarse import CoarseCells
from localsvm.partition.tree import descend
from localsvm.partition.voronoi import CHILD_SHARE, LARGEST_TRAVERSAL, SplitLimit, sample_centers
from localsvm.spark.content import check_rows, rows_changed
from localsvm.spark.rows import BLOCK_SCHEMA, Block, Layout, Rows, TrainingRows, join_blocks, read_blocks, write_blocks

_LARGEST_HASH = 2**64 - 1
_WIDER = 4  # factor of the thresholds if duplicates have left too few distinct rows
_SENT_VALUES = 1 << 18  # numbers in a message to the driver, which Connect bounds

_Found = TypeVar("_Found")


@dataclass(frozen=True)
class Sized:
    """Coarse cells with sizes, checksums of their rows, and radii."""

    coarse: CoarseCells
    sizes: NDArray[np.int64]
    checksums: NDArray[np.uint64]
    radii: NDArray[np.float64]


# ------------------------------------------------------------------------------------------ samples


@dataclass(frozen=True)
class _Sample:
    """A sample to draw from a coarse cell: the rows with the `count` smallest distinct hashes."""

    cell: int
    n_rows: int
    """Of the coarse cell."""
    count: int
    fraction: float
    """Of all hashes: those up to it are drawn."""

    @classmethod
    def of(cls, cell: int, n_rows: int, count: int) -> _Sample:
        """Return a sample that draws a few rows more than needed."""
        return cls(cell, n_rows, count, (count + 6 * count**0.5) / n_rows)

    @property
    def threshold(self) -> int:
        """Largest hash that is drawn."""
        return min(int(self.fraction * 2**64), _LARGEST_HASH)

    def is_complete(self, n_distinct: int) -> bool:
        """Return whether drawn rows with so many distinct hashes contain the sample."""
        return n_distinct >= self.count or self.fraction >= 1


@dataclass(frozen=True)
class _Drawing:
    """What a task needs to draw rows of samples."""

    layout: Layout
    seed: int
    coarse: CoarseCells
    scaling: Scaling | None
    """None: rows are drawn unscaled from one coarse cell; otherwise their features are scaled, and targets omitted."""
    samples: tuple[_Sample, ...]

    @cached_property
    def sample_of(self) -> NDArray[np.int32]:
        """Index of the sample of every coarse cell; -1 if it has none."""
        index = np.full(len(self.coarse), -1, dtype=np.int32)
        index[[sample.cell for sample in self.samples]] = np.arange(len(self.samples))
        return index

    @cached_property
    def thresholds(self) -> NDArray[np.uint64]:
        """Largest hash that is drawn, by sample."""
        return np.array([sample.threshold for sample in self.samples], dtype=np.uint64)

    @property
    def dtype(self) -> type[np.floating]:
        """Type of drawn features."""
        return np.float64 if self.scaling is None else np.float32

    def blocks(self, rows: Rows) -> DataFrame:
        """Return the drawn rows as blocks, those of a sample in one partition."""
        blocks = rows.frame.mapInArrow(partial(_drawn_blocks, self), BLOCK_SCHEMA)
        return blocks.repartitionById(len(self.samples), "part")


def _drawn_blocks(drawing: _Drawing, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for rows in drawing.layout.rows(batches):
        hashes = content_hash(rows.X, drawing.seed)
        low = hashes <= drawing.thresholds.max()
        block = Block(rows[low], hashes[low], np.ones(int(low.sum()), dtype=np.int64))
        if drawing.scaling is None:
            block = block.merged()
            index = np.zeros(len(block), dtype=np.int32)
        else:
            block = _only_features(block).merged().scaled(drawing.scaling)
            index = drawing.sample_of[drawing.coarse.assign(block.rows.X)]
        wanted = (index >= 0) & (block.hashes <= drawing.thresholds[index])
        yield from write_blocks(block[wanted], index[wanted], len(drawing.samples))


def _only_features(block: Block) -> Block:
    """Return a block without targets and weights, so that all rows with the same features are merged."""
    nothing = np.zeros(len(block))
    return Block(TrainingRows(block.rows.X, nothing, nothing), block.hashes, block.counts)


def _merged_sample(drawing: _Drawing, batches: Iterable[pa.RecordBatch]) -> tuple[_Sample, Block] | None:
    """Return the sample of a partition; None if it has too few rows. Memory is bounded by distinct rows."""
    part, waiting, n_waiting, n_merged = -1, [], 0, 0
    for batch in batches:
        for part, block in read_blocks([batch], drawing.layout.n_features, drawing.dtype).items():
            waiting.append(block)
            n_waiting += len(block)
            if n_waiting > 2 * max(n_merged, drawing.samples[part].count):
                waiting = [join_blocks(waiting).merged().smallest(drawing.samples[part].count)]
                n_waiting = n_merged = len(waiting[0])
    if not waiting:
        return None
    sample, block = drawing.samples[part], join_blocks(waiting).merged()
    return (sample, block.smallest(sample.count)) if sample.is_complete(len(np.unique(block.hashes))) else None


def _draw(samples: Sequence[_Sample], collect: Callable[[tuple[_Sample, ...]], dict[int, _Found]]) -> dict[int, _Found]:
    """Return what `collect` finds, by coarse cell; where duplicates have left too few rows, draw more of them."""
    found: dict[int, _Found] = {}
    while samples:
        found |= collect(tuple(samples))
        samples = [sample for sample in samples if sample.cell not in found]
        for sample in samples:
            if sample.fraction >= 1:
                raise rows_changed(f"coarse cell {sample.cell} had {sample.n_rows} rows at first, and none later")
        samples = [replace(sample, fraction=_WIDER * sample.fraction) for sample in samples]
    return found


def draw_sample(rows: Rows, count: int) -> Block:
    """Return the rows with the `count` smallest distinct hashes, unscaled, with multiplicities."""

    def collect(samples: tuple[_Sample, ...]) -> dict[int, Block]:
        drawing = _Drawing(rows.layout, rows.seed, CoarseCells(), None, samples)
        table = drawing.blocks(rows).mapInArrow(partial(_send_sample, drawing), BLOCK_SCHEMA).toArrow()
        return read_blocks(table.to_batches(), rows.layout.n_features, drawing.dtype)

    return _draw([_Sample.of(0, rows.n_rows, count)], collect)[0]


def _send_sample(drawing: _Drawing, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    merged = _merged_sample(drawing, batches)
    if merged is None:
        return
    block, step = merged[1], max(1, _SENT_VALUES // drawing.layout.n_features)
    for begin in range(0, len(block), step):
        some = block[np.arange(begin, min(begin + step, len(block)))]
        yield from write_blocks(some, np.zeros(len(some), dtype=np.int32), 1)


# ------------------------------------------------------------------------------------------- splits


def cut_coarsely(rows: Rows, drawn: Block, scaling: Scaling, limit: SplitLimit, coarse_size: int) -> Sized:
    """Split coarse cells of more than `coarse_size` rows, as the upper levels of the partition tree are split.

    `drawn` is the result of `draw_sample`; centers are found in it if it contains the samples. Duplicate rows stay
    together, and so do rows whose sample is a single point: their task splits them, using all of them.
    """
    found = Sized(CoarseCells(), np.array([rows.n_rows]), np.array([rows.checksum], np.uint64), np.array([np.inf]))
    child = max(CHILD_SHARE * coarse_size, 0.9 * limit.size)
    one_point: set[int] = set()
    while True:
        large = [
            cell
            for cell, (size, radius) in enumerate(zip(found.sizes.tolist(), found.radii.tolist(), strict=True))
            if size > coarse_size and cell not in one_point and not limit.allows(size, radius)
        ]
        if not large:
            return found
        samples = [_Sample.of(cell, int(found.sizes[cell]), LARGEST_TRAVERSAL) for cell in large]
        if _contains_samples(drawn, rows.n_rows, found.coarse):
            centers = _centers_here(drawn.scaled(scaling), found.coarse, samples, child)
        else:
            centers = _centers_of_tasks(rows, found.coarse, samples, scaling, child)
        coarse = found.coarse
        for cell in large:
            if len(centers[cell]) > 1:
                coarse = coarse.split(cell, centers[cell])
            else:
                one_point.add(cell)
        if len(coarse) == len(found.coarse):
            return found
        found = _size(rows, coarse, scaling)


def _contains_samples(drawn: Block, n_rows: int, coarse: CoarseCells) -> bool:
    """Return whether drawn rows contain the samples of all coarse cells."""
    if int(drawn.counts.sum()) == n_rows:
        return True
    return not coarse.nodes and len(np.unique(drawn.hashes)) >= LARGEST_TRAVERSAL


def _centers_here(
    drawn: Block, coarse: CoarseCells, samples: Sequence[_Sample], size: float
) -> dict[int, NDArray[np.float32]]:
    """Return the centers of coarse cells from drawn rows."""
    cells = coarse.assign(drawn.rows.X)
    return {
        sample.cell: _centers(drawn[cells == sample.cell].smallest(sample.count), sample.n_rows, size)
        for sample in samples
    }


def _centers_of_tasks(
    rows: Rows, coarse: CoarseCells, samples: Sequence[_Sample], scaling: Scaling, size: float
) -> dict[int, NDArray[np.float32]]:
    """Return the centers of coarse cells from one pass over the rows; tasks draw the samples and find the centers."""

    def collect(samples: tuple[_Sample, ...]) -> dict[int, NDArray[np.float32]]:
        drawing = _Drawing(rows.layout, rows.seed, coarse, scaling, samples)
        found = drawing.blocks(rows).mapInArrow(partial(_find_centers, drawing, size), "cell int, centers binary")
        return {
            row["cell"]: np.frombuffer(row["centers"], np.float32).reshape(-1, rows.layout.n_features)
            for row in found.toArrow().to_pylist()
        }

    return _draw(samples, collect)


def _find_centers(drawing: _Drawing, size: float, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    merged = _merged_sample(drawing, batches)
    if merged is not None:
        sample, block = merged
        centers = _centers(block, sample.n_rows, size).tobytes()
        columns = {"cell": pa.array([sample.cell], pa.int32()), "centers": pa.array([centers], pa.binary())}
        yield pa.RecordBatch.from_pydict(columns)


def _centers(sample: Block, n_rows: int, size: float) -> NDArray[np.float32]:
    # One row per hash, in the order of the hashes, as in `build_voronoi`.
    _, first, inverse = np.unique(sample.hashes, return_index=True, return_inverse=True)
    counts = np.bincount(inverse, weights=sample.counts).astype(np.int64)
    return sample_centers(np.ascontiguousarray(sample.rows.X[first], dtype=np.float32), counts, n_rows, size)


# -------------------------------------------------------------------------------------------- sizes


def _size(rows: Rows, coarse: CoarseCells, scaling: Scaling) -> Sized:
    """Return coarse cells with sizes, checksums and radii; raise if the rows are not those of the survey."""
    count = partial(_count_rows, coarse, scaling, rows.layout, rows.seed)
    table = rows.frame.mapInArrow(count, "sizes binary, checksums binary, squared binary").toArrow()
    sizes, checksums, squared = (
        np.stack([np.frombuffer(part, dtype) for part in table.column(name).to_pylist()])
        for name, dtype in (("sizes", np.int64), ("checksums", np.uint64), ("squared", np.float32))
    )
    found = Sized(coarse, sizes.sum(axis=0), checksums.sum(axis=0), np.sqrt(squared.max(axis=0).astype(np.float64)))
    check_rows(
        "the data frame",
        (rows.n_rows, rows.checksum),
        (int(found.sizes.sum()), int(found.checksums.sum())),
    )
    return found


def _count_rows(
    coarse: CoarseCells, scaling: Scaling, layout: Layout, seed: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    sizes = np.zeros(len(coarse), dtype=np.int64)
    checksums = np.zeros(len(coarse), dtype=np.uint64)
    squared = np.zeros(len(coarse), dtype=np.float32)
    for rows in layout.rows(batches):
        cells, distances = descend(coarse.nodes, scaling.apply(rows.X))
        sizes += np.bincount(cells, minlength=len(coarse))
        np.add.at(checksums, cells, layout.checksums(rows, content_hash(rows.X, seed)))
        np.maximum.at(squared, cells, distances)
    columns = {"sizes": sizes.tobytes(), "checksums": checksums.tobytes(), "squared": squared.tobytes()}
    yield pa.RecordBatch.from_pydict({name: pa.array([found], pa.binary()) for name, found in columns.items()})
