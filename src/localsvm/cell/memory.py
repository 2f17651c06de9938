"""How much memory the training of a cell takes, before it is trained.

Enters: the size of a cell and of its grid. Leaves: bytes by what is stored of the kernel matrix. The native core counts
its own arrays; what surrounds them is counted here.
"""

from __future__ import annotations

from dataclasses import dataclass

from localsvm import _native
from localsvm.errors import InvalidParameter

_SCORED = 7 * 8  # bytes per value: the clipped one, its risk and loss in double, and temporary arrays of their sums
_BLENDED = 12  # bytes per value of one problem: half of all, the means with each of them, and what these lose


@dataclass(frozen=True)
class CellBytes:
    """Bytes that training a cell takes, by what is stored; see `cell_bytes`."""

    full: int
    """Distances and kernel matrix."""
    kernel: int
    """The kernel matrix only; distances are made again for every width."""
    smallest: int
    """As few rows of the kernel matrix as can be: slow."""
    around: int
    """The part of each that is not the native cell: coefficients, solvers, the samples in fold order."""

    def storage(self, max_bytes: int | None) -> str:
        """Name what is stored with `max_bytes` to spend: "full", "kernel" or "rows"."""
        if max_bytes is None or max_bytes >= self.full:
            return "full"
        return "kernel" if max_bytes >= self.kernel else "rows"

    def native(self, max_bytes: int | None) -> int | None:
        """Return what of `max_bytes` is left for the native cell; refuse what is too little."""
        if max_bytes is None:
            return None
        if max_bytes < self.smallest:
            raise InvalidParameter(
                f"a cell cannot be trained in {max_bytes} bytes: it needs {self.smallest} at least, and "
                f"{self.kernel} to be fast. Allow more memory, or make the cells smaller."
            )
        return max_bytes - self.around


def cell_bytes(
    n_samples: int,
    n_features: int,
    *,
    n_lams: int = 10,
    n_folds: int = 5,
    n_threads: int = 1,
    n_columns: int | None = None,
    n_outputs: int = 1,
    has_parts: bool = False,
    has_squares: bool = False,
    n_blended: int = 0,
) -> CellBytes:
    """Return the bytes that `train_cell` takes beyond the task that it is given.

    Parameters
    ----------
    n_samples, n_features : int
        Size of the cell.
    n_lams, n_folds : int
        Coefficients of one width are held for all lams and folds.
    n_threads : int
        Threads that solve folds of the cell at once.
    n_columns : int, optional
        Samples of all problems together; by default there is one problem, on all samples.
    n_outputs : int
        Functions of the cell; each has an out-of-fold value at every sample.
    has_parts : bool
        Whether there are problems on some of the samples only.
    has_squares : bool
        Whether problems are of least squares or expectiles, which are solved in Krylov spaces.
    n_blended : int
        Grid points whose values are kept to be blended.

    Examples
    --------
    >>> needed = cell_bytes(20_000, 54, n_threads=2)
    >>> needed.full > 3_200_000_000 > needed.kernel > 1_600_000_000
    True
    >>> needed.storage(600_000_000)
    'rows'
    """
    columns = n_samples if n_columns is None else n_columns
    native = _native.cell_bytes(
        n_samples,
        n_features,
        n_columns=columns,
        n_folds=n_folds,
        n_threads=n_threads,
        has_parts=has_parts,
        has_squares=has_squares,
    )
    in_fold_order = 4 * n_samples * n_features + 16 * n_samples
    coefficients = 4 * columns * n_lams * (n_folds + 1) + 8 * columns * n_folds
    validation = _SCORED * columns * n_lams
    out_of_fold = 8 * n_samples * n_outputs * 2  # the best so far, and those of the current width
    blending = n_blended * (4 * columns + _BLENDED * n_samples)
    around = native.around + in_fold_order + coefficients + validation + out_of_fold + blending
    return CellBytes(
        full=around + native.full, kernel=around + native.kernel, smallest=around + native.smallest, around=around
    )
