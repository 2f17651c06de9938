"""How much memory the training of a cell takes, before it is trained.

Enters: the size of a cell and of its grid. Leaves: bytes by what is stored of the kernel matrix. The sums are those of
native/cell.cpp (`StoragePlan`) and native/half_kernel.cpp (`HalfPlan`), and what surrounds them.
"""

from __future__ import annotations

from dataclasses import dataclass

from localsvm.errors import InvalidParameter

_PAD = 16  # floats: rows are padded to whole vectors
_NEIGHBOURS = 24  # per sample: index, squared distance, kernel value
_BLOCK = 32  # rows a thread makes at a time
_MOST_PINNED = 10  # rows a solver has in use at once
_TILE = 48  # rows and columns of a tile, where the upper half of the matrix is stored in tiles
_JUDGED = 7 * 8  # bytes per value: the clipped one, its risk and loss in double, and what comes up on the way to sums
_BLENDED = 12  # bytes per value of one problem: half of all, the means with each of them, and what these lose
_KRYLOV_SPACES, _KRYLOV_VECTORS = 24, 200  # at once, of targets and folds; seldom more vectors in one
_HUGE_PAGE = 2 << 20  # large arrays are rounded up to it


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
        Functions of the cell; each has a value at every sample left out.
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
    n = n_samples
    row = _row_bytes(n)
    matrix = (_tiles if has_squares else _rows)(n, n_features, n_threads)

    in_fold_order = 4 * n * n_features + 16 * n
    columns = n if n_columns is None else n_columns
    coefficients = 4 * columns * n_lams * (n_folds + 1) + 8 * columns * n_folds
    validation = _JUDGED * columns * n_lams
    left_out = 8 * n * n_outputs * 2  # the best so far, and those of the width at hand
    # Of a solver: six arrays of the steps, five more and four in double, which count twice; of its leaps eight, and one
    # in double; moved rows and their coefficients.
    solvers = n_threads * (6 * (row + 8192) + (5 + 2 * 4) * row + (8 + 2) * row + 16 * n)
    problems = columns * (20 + 8 * n_folds) + 64 * _PAD
    # A part of a cell: its neighbours for good, its kernel matrix while a thread is at work on it.
    parts = columns * _NEIGHBOURS * 12 + n_threads * matrix.kernel if has_parts else 0
    krylov = 4 * n * _KRYLOV_VECTORS * min(_KRYLOV_SPACES, n_folds * (columns // n)) if has_squares else 0
    pages = _HUGE_PAGE * (4 + 2 * n_threads) if matrix.kernel >= _HUGE_PAGE else 0
    blending = n_blended * (4 * columns + _BLENDED * n)
    around = (
        in_fold_order + coefficients + validation + left_out + solvers + problems + parts + krylov + blending + pages
    )
    return CellBytes(
        full=around + matrix.always + 2 * matrix.kernel,
        kernel=around + matrix.always + matrix.made_again + matrix.kernel,
        smallest=around + matrix.always + matrix.made_again + matrix.fewest_rows,
        around=around,
    )


@dataclass(frozen=True)
class _Matrix:
    """Bytes of a native cell: what it always has, its kernel matrix, and what there is where that is not all stored."""

    always: int
    kernel: int
    made_again: int
    fewest_rows: int


def _rows(n: int, n_features: int, n_threads: int) -> _Matrix:
    row = _row_bytes(n)
    return _Matrix(
        always=row * n_features + n * _NEIGHBOURS * 12,
        kernel=n * row,
        made_again=row * _BLOCK * n_threads,
        fewest_rows=min(n, _MOST_PINNED * n_threads) * row,
    )


def _tiles(n: int, n_features: int, n_threads: int) -> _Matrix:
    blocks, tile = -(-n // _TILE), 4 * _TILE**2
    return _Matrix(
        always=_row_bytes(n) * n_features + tile * n_threads,
        kernel=blocks * (blocks + 1) // 2 * tile,
        made_again=0,
        fewest_rows=0,
    )


def _row_bytes(n: int) -> int:
    return 4 * (-(-n // _PAD) * _PAD)
