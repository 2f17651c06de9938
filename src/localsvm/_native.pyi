"""The native core of localsvm: distances, kernels, the box-constrained solver, evaluation."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

_Squares: TypeAlias = tuple[
    NDArray[np.float32], NDArray[np.float32], NDArray[np.float64], NDArray[np.int8], NDArray[np.int64]
]

class CancelToken:
    """A flag that stops native work from another thread."""

    def __init__(self) -> None: ...
    def cancel(self) -> None: ...
    @property
    def cancelled(self) -> bool: ...

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
        self,
        problem: int,
        fold: int,
        lambdas: Sequence[float],
        total_weight: float,
        tolerance: float,
        max_steps: int,
        token: CancelToken | None = None,
    ) -> tuple[
        NDArray[np.float32],
        NDArray[np.float32],
        NDArray[np.float64],
        NDArray[np.int8],
        NDArray[np.int64],
    ]: ...
    def part(self, rows: Sequence[int], token: CancelToken | None = None) -> Cell: ...
    def distances(self) -> NDArray[np.float32]: ...
    def neighbours(self) -> NDArray[np.int32]: ...
    def kernel_matrix(self) -> NDArray[np.float32]: ...

class SquareCell:
    """Kernel matrix, and least squares and expectiles on it, of one cell."""

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
        lambdas: Sequence[float],
        tolerance: float,
        max_iterations: int,
        token: CancelToken | None = None,
        n_threads: int = 1,
    ) -> _Squares: ...
    def solve_expectile(
        self,
        targets: NDArray[np.float32],
        weight: NDArray[np.float32],
        folds: Sequence[int],
        lambdas: Sequence[float],
        tau: float,
        tolerance: float,
        max_iterations: int,
        token: CancelToken | None = None,
        n_threads: int = 1,
    ) -> _Squares: ...
    def kernel_matrix(self) -> NDArray[np.float32]: ...

def solve_paths(
    cells: Sequence[Cell],
    problems: Sequence[int],
    folds: Sequence[int],
    lambdas: NDArray[np.float64],
    n_lambdas: Sequence[int],
    total_weights: NDArray[np.float64],
    tolerance: float,
    max_steps: int,
    skipped: int,
    n_threads: int = 1,
    token: CancelToken | None = None,
    guesses: NDArray[np.float32] | None = None,
) -> tuple[
    NDArray[np.float32],
    NDArray[np.float32],
    NDArray[np.float64],
    NDArray[np.int8],
    NDArray[np.int64],
    NDArray[np.float64],
    NDArray[np.float64],
    float,
]: ...
def distances(X: NDArray[np.float32], rows: Sequence[int], kernel: str) -> NDArray[np.float32]: ...
def kernel_values(kernel: str, width: float, distances: NDArray[np.float32]) -> NDArray[np.float32]: ...
def evaluate(
    points: NDArray[np.float32],
    support_vectors: NDArray[np.float32],
    coefficients: NDArray[np.float32],
    kernel: str,
    width: float,
) -> NDArray[np.float32]: ...
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
def nearest_centres(
    X: NDArray[np.float32], centres: NDArray[np.float32], token: CancelToken | None = None
) -> tuple[NDArray[np.int32], NDArray[np.float32]]: ...
def farthest_first(
    X: NDArray[np.float32],
    counts: NDArray[np.float64],
    largest_size: float,
    largest_radius: float = ...,
    tiny_size: float = ...,
    token: CancelToken | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]: ...
