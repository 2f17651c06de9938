"""The files of finished cells.

Enters: a trained cell. Leaves: a file that is on the disk; and the cell again, if the file can be trusted: it is whole,
and made of the rows that the cell has now. A file that is not is as if it were not there.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from localsvm.cell.trained import PHASES, TrainedCell
from localsvm.data.content import content_hash, mixed
from localsvm.data.durable import replacing
from localsvm.data.scaling import Scaling
from localsvm.data.source import BLOCK_ROWS, row_blocks
from localsvm.errors import InvalidFile
from localsvm.partition.base import Members
from localsvm.storage.cell_record import CELL, OUT_OF_FOLD, SECONDS, seconds_of
from localsvm.storage.parts import SCALING
from localsvm.storage.record import pack, unpack
from localsvm.storage.schema import Fields, text
from localsvm.tasks import Reduction

Marks = NDArray[np.uint64]


def row_marks(hashes: Marks, y: NDArray[np.float64], weight: NDArray[np.float64]) -> Marks:
    """Return a number for every row that its features (by their hashes), target and weight decide.

    `marks_sum` tells sets of rows apart by them, whatever the order of the rows.
    """
    marks = np.empty_like(hashes)
    for block in row_blocks(0, len(hashes), BLOCK_ROWS):
        targets = content_hash(np.column_stack([y[block], weight[block]]), seed=0)
        marks[block] = mixed(hashes[block] * np.uint64(0x9E3779B97F4A7C15) + targets)
    return marks


def marks_sum(marks: Marks) -> str:
    """Return the sum of marks, which overflows as it likes."""
    return f"{int(marks.sum(dtype=np.uint64)):016x}"


def cell_keys(marks: Marks, members: Members, scaling: Scaling) -> list[str]:
    """Return for every cell a key that its rows, as they are scaled, decide."""
    scaled = hashlib.sha256(b"".join(SCALING.pack(scaling))).hexdigest()[:16]
    return [f"{scaled}-{marks_sum(marks[members.rows(cell)])}" for cell in range(len(members))]


def count_cells(directory: str | os.PathLike[str]) -> int:
    """Return how many cells a checkpoint has, those of all members of an ensemble."""
    return sum(1 for _ in Path(directory).rglob("cell-*.rec"))


@dataclass(frozen=True)
class KeptCells:
    """The cells of a checkpoint, by number."""

    directory: Path
    keys: list[str]
    n_features: int
    reduction: Reduction

    def load(self, number: int) -> TrainedCell | None:
        """Return a cell that was kept; None if it was not, or if its file cannot be trusted."""
        path = self._path(number)
        with suppress(InvalidFile, OSError):
            kept = Fields(unpack(path.read_bytes(), repr(str(path))), repr(str(path)))
            if kept.read("key", text()) == self.keys[number]:
                cell = self._read(kept)
                return cell if cell.number == number else None
        return None

    def _read(self, kept: Fields) -> TrainedCell:
        cell: TrainedCell = kept.read("cell", CELL, n_features=self.n_features, n_outputs=self.reduction.n_outputs)
        out_of_fold = kept.read("out_of_fold", OUT_OF_FOLD, n_scores=self.reduction.n_scores)
        seconds = kept.read("seconds", SECONDS)
        if seconds.keys() != set(PHASES):
            raise kept.refuse("its seconds are of other phases")
        return replace(cell, out_of_fold=out_of_fold, seconds=seconds)

    def save(self, cell: TrainedCell) -> None:
        """Keep a cell: when this returns, it is on the disk."""
        assert cell.out_of_fold is not None, "a cell that was just trained has its scores"
        kept = {
            "key": self.keys[cell.number],
            "cell": CELL.write(cell),
            "seconds": seconds_of(cell),
            "out_of_fold": OUT_OF_FOLD.write(cell.out_of_fold),
        }
        with replacing(self._path(cell.number)) as file:
            file.writelines(pack(kept))

    def _path(self, number: int) -> Path:
        return self.directory / f"cell-{number:06}.rec"
