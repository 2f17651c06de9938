"""The input of Algorithm 1 for one cell: its samples, and the settings that all cells of a fit share.

Enters: samples of a cell; a learning task, kernel, grid and folds. Leaves: `CellTask` and `CellSettings`, which
threads, the command line and Spark pass to `train_cell` alike.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from localsvm.cell.grid import KERNEL_WIDTH, Grid
from localsvm.cell.memory import CellBytes, cell_bytes
from localsvm.data.content import Samples
from localsvm.data.types import FloatArray
from localsvm.tasks import Binary, Reduction
from localsvm.tasks.losses import Squares

_FOLDS_OF_A_SINGLE_SPLIT = 5


@dataclass(frozen=True)
class CellTask:
    """The samples of one cell, in canonical order, and its radius."""

    rows: Samples
    radius: float
    number: int = 0
    fallback: FloatArray | None = None
    """Constants of the functions if there are no samples."""


@dataclass(frozen=True)
class CellSettings:
    """How to train a cell; the same for all cells of a fit."""

    reduction: Reduction = field(default_factory=Binary)
    kernel: str = "gauss"
    grid: Grid = field(default_factory=Grid)
    n_folds: int = 5
    """Folds that validate; 1 is a single split into training and validation samples."""
    refit: str = "combine"
    search: str = "auto"
    own_lams: bool = True
    """Whether the combined solution of each fold is that at its own best lam; else at the lam that is best for all.

    Values at different lams are of different size: where a threshold is chosen from out-of-fold values, all folds have
    one lam."""

    @property
    def own_grid(self) -> Grid:
        """The grid for the kernel and the loss."""
        loss, factor = self.reduction.loss, KERNEL_WIDTH[self.kernel]
        low, high = loss.width_factors
        return self.grid.with_factors(width=(factor * low, factor * high), lam=loss.lam_factors)

    def bytes_needed(
        self, n_samples: int, n_features: int, n_threads: int = 1, n_columns: int | None = None
    ) -> CellBytes:
        """Return the memory that training a cell takes; an upper bound if `n_columns` is not known."""
        reduction = self.reduction
        n_widths, n_lams = self.grid.shape
        n_samples *= reduction.repeats
        return cell_bytes(
            n_samples,
            n_features,
            n_lams=n_lams,
            n_folds=self.folds_made,
            n_threads=n_threads,
            n_columns=n_samples * reduction.columns_per_row if n_columns is None else n_columns,
            n_outputs=reduction.n_outputs,
            has_parts=reduction.has_parts,
            has_squares=isinstance(reduction.loss, Squares),
            n_blended=n_widths * n_lams if self.refit == "blend" else 0,
        )

    @property
    def folds_made(self) -> int:
        """Number of folds; with a single split the first of five validates, the others train."""
        return self.n_folds if self.n_folds > 1 else _FOLDS_OF_A_SINGLE_SPLIT
