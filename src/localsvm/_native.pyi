"""The native core of localsvm: distances, kernels, solvers, partitions, evaluation."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

STATUS: tuple[str, ...]
"""Names of how a solve can end, by status."""

class CancelToken:
    """A flag that stops native work from another thread."""

    def __init__(self) -> None: ...
    def cancel(self) -> None: ...
    @property
    def cancelled(self) -> bool: ...

class StopRule:
    """When a solver stops: at a duality gap of `tolerance`, after `max_steps`, or when cancelled."""

    def __init__(self, tolerance: float, max_steps: int, token: CancelToken | None = None) -> None: ...
    @property
    def tolerance(self) -> float: ...
    @property
    def max_steps(self) -> int: ...

class Solutions:
    """Coefficients, validation values and certificates; the methods that return them say what their axes are."""

    @property
    def beta(self) -> NDArray[np.float32]: ...
    @property
    def values(self) -> NDArray[np.float32]: ...
    @property
    def gap(self) -> NDArray[np.float64]: ...
    @property
    def status(self) -> NDArray[np.int8]: ...
    @property
    def steps(self) -> NDArray[np.int64]: ...

class PathSolutions(Solutions):
    """Solutions of many paths: beta (fold, lam, column), values (lam, column), the others (job, fold, lam)."""

    @property
    def loss(self) -> NDArray[np.float64]:
        """Of the validation samples, clipped and summed."""

    @property
    def wrong(self) -> NDArray[np.float64]:
        """Weight of the validation samples whose sign is wrong."""

    @property
    def seconds(self) -> float:
        """In the solver, summed over threads."""

class Cell:
    """Distances, kernel matrix and lambda paths of one cell."""

    def __init__(
        self,
        X: NDArray[np.float32],
        fold_ends: Sequence[int],
        kernel: str,
        token: CancelToken | None = None,
        max_bytes: int | None = None,
        n_threads: int = 1,
    ) -> None: ...
    @property
    def storage(self) -> str: ...
    @property
    def row_counts(self) -> dict[str, int]: ...
    def add_problem(
        self,
        target: NDArray[np.float32],
        lo: NDArray[np.float32],
        hi: NDArray[np.float32],
        clip: float,
    ) -> int: ...
    def set_width(self, width: float, token: CancelToken | None = None) -> None: ...
    def solve_path(
        self, problem: int, fold: int, lams: Sequence[float], total_weight: float, stop: StopRule
    ) -> Solutions:
        """Solve one path: beta (lam, row), values (lam, row of the validation fold), the others (lam)."""

    def part(self, rows: Sequence[int], token: CancelToken | None = None) -> Cell: ...
    def distances(self) -> NDArray[np.float32]: ...
    def neighbours(self) -> NDArray[np.int32]: ...
    def kernel_matrix(self) -> NDArray[np.float32]: ...

class PathJob:
    """One problem of a cell, its descending lams, and its total weight for each fold."""

    def __init__(self, cell: Cell, problem: int, lams: Sequence[float], total_weights: Sequence[float]) -> None: ...
    @property
    def problem(self) -> int: ...
    @property
    def lams(self) -> list[float]: ...
    @property
    def total_weights(self) -> list[float]: ...

class SquareCell:
    """Kernel matrix of one cell, and least squares and expectiles on it."""

    def __init__(
        self,
        X: NDArray[np.float32],
        fold_ends: Sequence[int],
        kernel: str,
        token: CancelToken | None = None,
        max_bytes: int | None = None,
        n_threads: int = 1,
    ) -> None: ...
    @property
    def storage(self) -> str: ...
    def part(self, rows: Sequence[int]) -> SquareCell: ...
    def set_width(self, width: float, token: CancelToken | None = None) -> None: ...
    def solve_ridge(
        self,
        targets: NDArray[np.float32],
        weight: NDArray[np.float32],
        folds: Sequence[int],
        lams: Sequence[float],
        stop: StopRule,
        n_threads: int = 1,
        patience: int = 0,
        clip: Sequence[float] = ...,
    ) -> Solutions:
        """Solve least squares.

        Axes: beta (target, fold, lam, row), values (target, lam, row), the others (target, fold, lam). With a
        `patience`, the path of a target ends after that many lams without a lower validation loss, of values within
        -clip and clip.
        """

    def solve_ridge_of_folds(
        self,
        targets: NDArray[np.float32],
        weights: NDArray[np.float32],
        folds: Sequence[int],
        lams: Sequence[float],
        stop: StopRule,
        n_threads: int = 1,
        patience: int = 0,
    ) -> Solutions:
        """Solve least squares with targets and weights (target, fold, row) of every fold; axes as for `solve_ridge`."""

    def multiply(self, x: NDArray[np.float32], n_threads: int = 1) -> NDArray[np.float32]:
        """Return the products of the kernel matrix with vectors (vector, row)."""

    def solve_expectile(
        self,
        targets: NDArray[np.float32],
        weight: NDArray[np.float32],
        folds: Sequence[int],
        lams: Sequence[float],
        tau: float,
        stop: StopRule,
        n_threads: int = 1,
    ) -> Solutions:
        """Solve expectiles; axes as for `solve_ridge`."""

    def kernel_matrix(self) -> NDArray[np.float32]: ...

class CellBytes:
    """Bytes of a native cell by what is stored, and of its solvers."""

    @property
    def full(self) -> int: ...
    @property
    def kernel(self) -> int: ...
    @property
    def smallest(self) -> int: ...
    @property
    def around(self) -> int: ...

def cell_bytes(
    n_samples: int,
    n_features: int,
    *,
    n_columns: int,
    n_folds: int,
    n_threads: int,
    has_parts: bool,
    has_squares: bool,
) -> CellBytes: ...
def solve_paths(
    jobs: Sequence[PathJob],
    folds: Sequence[int],
    stop: StopRule,
    n_threads: int = 1,
    guesses: NDArray[np.float32] | None = None,
) -> PathSolutions: ...
def distances(X: NDArray[np.float32], rows: Sequence[int], kernel: str) -> NDArray[np.float32]: ...
def kernel_values(kernel: str, width: float, distances: NDArray[np.float32]) -> NDArray[np.float32]: ...
def scale_affine(
    X: NDArray[np.floating], shift: NDArray[np.float64], factor: NDArray[np.float64]
) -> NDArray[np.float32]: ...
def scale_to_ranks(
    X: NDArray[np.floating], knots: NDArray[np.float64], ranks: NDArray[np.float64], ends: NDArray[np.int64]
) -> NDArray[np.float64]: ...
def all_finite(X: NDArray[np.floating]) -> bool: ...

class PackedCell:
    """The functions of a cell, packed for evaluation: constants plus sums of kernels, clipped at bounds."""

    def __init__(self, n_features: int, constants: NDArray[np.float64], bounds: NDArray[np.float64]) -> None: ...
    def add_sum(
        self,
        support_vectors: NDArray[np.float32],
        coefficients: NDArray[np.float32],
        outputs: Sequence[int],
        kernel: str,
        width: float,
    ) -> None: ...
    def values(self, points: NDArray[np.float32]) -> NDArray[np.float64]: ...
    @property
    def n_bytes(self) -> int: ...

def evaluate_cells(
    points: NDArray[np.float32],
    labels: NDArray[np.int32],
    present: NDArray[np.int32],
    cells: list[PackedCell],
    values: NDArray[np.float64],
    n_threads: int = 1,
) -> None:
    """Set the values (point, output) of the points whose label is present, each by the cell of that label."""

def gradients(
    points: NDArray[np.float32],
    support_vectors: NDArray[np.float32],
    coefficients: NDArray[np.float32],
    kernel: str,
    width: float,
    n_threads: int = 1,
) -> NDArray[np.float32]: ...
def mean_squared_gradients(
    points: NDArray[np.float32],
    weights: NDArray[np.float64],
    support_vectors: NDArray[np.float32],
    coefficients: NDArray[np.float32],
    kernel: str,
    width: float,
    n_threads: int = 1,
) -> NDArray[np.float64]: ...
def simd_level() -> str: ...
def available_simd_levels() -> list[str]: ...
def set_simd_level(name: str) -> None: ...
def content_hash(X: NDArray[np.floating], seed: int) -> NDArray[np.uint64]: ...

class CenterTree:
    """Nodes of centers, packed: the child of a center is another node, or -1 - the number of a leaf."""

    def __init__(self, n_features: int, nodes: list[tuple[NDArray[np.float32], NDArray[np.int64]]]) -> None: ...
    def descend(self, X: NDArray[np.float32]) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the leaf of every row, and its squared distance from the leaf's center."""

def nearest_centers(
    X: NDArray[np.float32], centers: NDArray[np.float32], token: CancelToken | None = None
) -> tuple[NDArray[np.int32], NDArray[np.float32]]: ...
def farthest_first(
    X: NDArray[np.float32],
    counts: NDArray[np.float64],
    largest_size: float,
    largest_radius: float = ...,
    tiny_size: float = ...,
    token: CancelToken | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]: ...
