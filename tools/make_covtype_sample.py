"""Makes src/localsvm/data/covtype_sample.npz: 20 000 rows of Covertype, stratified by cover type.

    python tools/make_covtype_sample.py [covtype.npz]

The file given has X (581012 x 54) and y (1..7) in the order of the UCI file; without one,
scikit-learn downloads it.
"""

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

N_ROWS = 20_000
SEED = 20170420
N_QUANTITIES, N_WILDERNESS = 10, 4
TARGET = Path(__file__).parents[1] / "src" / "localsvm" / "data" / "covtype_sample.npz"


def read_full(arguments: list[str]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """X and the cover types of the full set."""
    if arguments:
        full = np.load(arguments[0])
        return full["X"], full["y"].astype(np.int64)
    from sklearn.datasets import fetch_covtype

    X, y = fetch_covtype(return_X_y=True)
    return X.astype(np.float32), y.astype(np.int64)


def stratified_rows(y: NDArray[np.int64]) -> NDArray[np.int64]:
    """N_ROWS row numbers in random order; each class has its share, by largest remainders."""
    random = np.random.RandomState(SEED)
    classes, counts = np.unique(y, return_counts=True)
    share = counts * N_ROWS / len(y)
    quota = np.floor(share).astype(int)
    quota[np.argsort(quota - share)[: N_ROWS - quota.sum()]] += 1
    rows = [random.choice(np.flatnonzero(y == c), q, replace=False) for c, q in zip(classes, quota, strict=True)]
    return random.permutation(np.concatenate(rows))


def main() -> None:
    """Read, sample, pack, write."""
    X, y = read_full(sys.argv[1:])
    rows = stratified_rows(y)
    X, y = X[rows].astype(np.int64), y[rows]
    wilderness = X[:, N_QUANTITIES : N_QUANTITIES + N_WILDERNESS]
    soil = X[:, N_QUANTITIES + N_WILDERNESS :]
    if not ((wilderness.sum(axis=1) == 1).all() and (soil.sum(axis=1) == 1).all()):
        raise SystemExit("a row without exactly one wilderness area and one soil type")
    quantities = np.ascontiguousarray(X[:, :N_QUANTITIES].T)
    # quantity = 256 high + low: the high bytes of a column are nearly constant and deflate well.
    np.savez_compressed(
        TARGET,
        low=(quantities & 255).astype(np.uint8),
        high=(quantities >> 8).astype(np.int8),
        wilderness=wilderness.argmax(axis=1).astype(np.uint8),
        soil=soil.argmax(axis=1).astype(np.uint8),
        cover_type=y.astype(np.uint8),
    )
    print(f"{TARGET}: {TARGET.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
