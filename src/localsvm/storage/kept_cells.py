"""The files of finished cells.

Enters: a trained cell. Leaves: a file that is on the disk; and the cell again, if the file can be trusted: it is whole,
and made of the rows that the cell has now. A file that is not is as if it were not there.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from localsvm.cell.trained import PHASES, TrainedCell
from localsvm.data.content import content_hash
from localsvm.data.durable import replacing
from localsvm.data.scaling import Scaling
from localsvm.data.source import BLOCK_ROWS, row_blocks
from localsvm.errors import InvalidFile
from localsvm.partition.base import Members
from localsvm.storage.cell_record import cell_values, out_of_fold_values, read_cell, read_out_of_fold
from localsvm.storage.fields import Fields
from localsvm.storage.parts import scaling_values
from localsvm.storage.record import pack, unpack
from localsvm.tasks import Reduction

Marks = NDArray[np.uint64]


def row_marks(hashes: Marks, y: NDArray[np.float64], weight: NDArray[np.float64]) -> Marks:
    """Return a number for every row that its features (by their hashes), target and weight decide.

    `marks_sum` tells sets of rows apart by them, whatever the order of the rows.
    """
    marks = np.empty_like(hashes)
    for block in row_blocks(0, len(hashes), BLOCK_ROWS):
        targets = content_hash(np.column_stack([y[block], weight[block]]), seed=0)
        marks[block] = _mixed(hashes[block] * np.uint64(0x9E3779B97F4A7C15) + targets)
    return marks


def _mixed(numbers: Marks) -> Marks:
    # The last steps of SplitMix64: numbers that differ in one bit differ in half of them.
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    return numbers ^ (numbers >> np.uint64(31))


def marks_sum(marks: Marks) -> str:
    """Return the sum of marks, which overflows as it likes."""
    return f"{int(marks.sum(dtype=np.uint64)):016x}"


def cell_keys(marks: Marks, members: Members, scaling: Scaling) -> list[str]:
    """Return for every cell a key that its rows, as they are scaled, decide."""
    scaled = hashlib.sha256(b"".join(pack(scaling_values(scaling)))).hexdigest()[:16]
    return [f"{scaled}-{marks_sum(marks[members.rows(cell)])}" for cell in range(len(members))]


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
            if kept.text("key") == self.keys[number]:
                cell = self._read(kept)
                return cell if cell.number == number else None
        return None

    def _read(self, kept: Fields) -> TrainedCell:
        seconds = kept.part("seconds")
        return read_cell(
            kept.part("cell"),
            self.n_features,
            self.reduction.n_outputs,
            {phase: seconds.real(phase) for phase in PHASES},
            read_out_of_fold(kept.part("out_of_fold"), self.reduction.n_scores),
        )

    def save(self, cell: TrainedCell) -> None:
        """Keep a cell: when this returns, it is on the disk."""
        assert cell.out_of_fold is not None, "a cell that was just trained has its scores"
        kept = {
            "key": self.keys[cell.number],
            "cell": cell_values(cell),
            "seconds": {phase: float(cell.seconds[phase]) for phase in PHASES},
            "out_of_fold": out_of_fold_values(cell.out_of_fold),
        }
        with replacing(self._path(cell.number)) as file:
            file.writelines(pack(kept))

    def _path(self, number: int) -> Path:
        return self.directory / f"cell-{number:06}.rec"
