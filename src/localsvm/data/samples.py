"""Data to try things on: a real sample bundled with the package, and the toy problem of the paper.

Nothing enters but sizes and seeds; arrays leave, in the types the rest of the package works in: X
float32, labels int8. The toy problem is Sec. 4 of the paper, whose best possible error is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

N_WILDERNESS_AREAS = 4
N_SOIL_TYPES = 40
COVTYPE_POSITIVE = 2

POSITIVE_SHARE = 0.6
BOX = 2.0


def load_covtype_sample() -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Load 20 000 rows of Covertype, cover type 2 against the rest.

    A random sample of the 581 012 rows, stratified by cover type, in random order: any leading
    part of it is a random sample too. The features are not scaled.

    Returns
    -------
    X : ndarray of shape (20000, 54), float32
        Ten quantities (elevation, aspect, slope, distances, hillshades), then indicators of 4
        wilderness areas and 40 soil types.
    y : ndarray of shape (20000,), int8
        +1 for cover type 2 (lodgepole pine), -1 for every other one.

    Notes
    -----
    J. Blackard, Covertype, UCI Machine Learning Repository, https://doi.org/10.24432/C50K5N,
    licensed under CC BY 4.0; COVTYPE_LICENSE.txt beside the data says what was changed.

    Examples
    --------
    >>> from localsvm.data import load_covtype_sample
    >>> X, y = load_covtype_sample()
    >>> X.shape, X.dtype, y.tolist().count(1)
    ((20000, 54), dtype('float32'), 9752)
    """
    packed_file = resources.files(__package__) / "covtype_sample.npz"
    with packed_file.open("rb") as file, np.load(file) as packed:
        # Columns are stored as byte planes, indicators as numbers: a quarter of a megabyte in all.
        quantities = 256 * packed["high"].astype(np.int16) + packed["low"]
        wilderness = np.eye(N_WILDERNESS_AREAS, dtype=np.float32)[packed["wilderness"]]
        soil = np.eye(N_SOIL_TYPES, dtype=np.float32)[packed["soil"]]
        positive = packed["cover_type"] == COVTYPE_POSITIVE
    X = np.hstack([quantities.T.astype(np.float32), wilderness, soil])
    return X, _labels(positive)


def toy_mixture(
    n_samples: int,
    n_features: int = 4,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Draw from the toy problem of Section 4: two Gaussians in the box [-2, 2]^d.

    A label is +1 with probability 0.6. Given y = +1, x is normal around the origin with variance 1;
    given y = -1, around (1, 0, ..., 0) with variance 1/8; both conditioned on lying in the box.

    Parameters
    ----------
    n_samples : int
        How many points to draw.
    n_features : int, default=4
        The dimension d.
    random_state : int, RandomState instance or None, default=None
        An integer makes the draw repeatable.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features), float32
        The points.
    y : ndarray of shape (n_samples,), int8
        Their labels, +1 or -1.

    See Also
    --------
    toy_bayes_error : The smallest error any classifier can have on these data.

    Examples
    --------
    >>> from localsvm.data import toy_mixture
    >>> X, y = toy_mixture(1000, n_features=2, random_state=0)
    >>> X.shape, X.dtype, bool(abs(X).max() <= 2)
    ((1000, 2), dtype('float32'), True)
    >>> sorted(set(y.tolist()))
    [-1, 1]
    """
    _require_positive("n_samples", n_samples)
    _require_positive("n_features", n_features)
    from sklearn.utils import check_random_state  # takes a second, which workers need not wait

    random = check_random_state(random_state)
    positive = random.random_sample(n_samples) < POSITIVE_SHARE
    X = np.empty((n_samples, n_features), dtype=np.float32)
    for rows, gaussian in zip((positive, ~positive), _toy_gaussians(n_features), strict=True):
        X[rows] = gaussian.draw(int(rows.sum()), random)
    return X, _labels(positive)


def toy_posterior(X: ArrayLike) -> NDArray[np.float64]:
    """Compute eta(x) = P(y = +1 | x) of the toy problem of Section 4.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Points in the box [-2, 2]^d.

    Returns
    -------
    eta : ndarray of shape (n_samples,), float64
        Above 1/2 where +1 is the better guess.

    Examples
    --------
    >>> from localsvm.data import toy_posterior
    >>> toy_posterior([[-1, 0], [1, 0]]).round(3)
    array([1.   , 0.111])
    """
    points = np.asarray(X, dtype=np.float64)
    if points.ndim != 2:
        raise ValueError(f"X has {points.ndim} dimension(s); give one row per point.")
    positive, negative = _toy_gaussians(points.shape[1])
    prior_log_odds = np.log(POSITIVE_SHARE / (1 - POSITIVE_SHARE))
    log_odds = prior_log_odds + positive.log_density(points) - negative.log_density(points)
    eta: NDArray[np.float64] = scipy.special.expit(log_odds)
    return eta


def toy_bayes_error(n_features: int = 4, n_samples: int = 2**18) -> float:
    """Compute the Bayes error of the toy problem of Section 4, E min(eta(x), 1 - eta(x)).

    A mean over points that fill the distribution evenly (a shifted Sobol sequence), so that
    262 144 points give an error of about 2e-5 for d <= 16; the same arguments give the same number.

    Parameters
    ----------
    n_features : int, default=4
        The dimension d.
    n_samples : int, default=262144
        Points per class, rounded up to a power of two.

    Returns
    -------
    error : float
        The smallest error any classifier can have.

    Examples
    --------
    >>> from localsvm.data import toy_bayes_error
    >>> round(toy_bayes_error(n_features=4), 4)
    0.0733
    """
    _require_positive("n_features", n_features)
    _require_positive("n_samples", n_samples)
    from scipy.stats import qmc  # takes half a second, which no other user of the package needs to wait

    sobol = qmc.Sobol(n_features, scramble=False)
    points = sobol.random_base2((n_samples - 1).bit_length())
    uniform = (points + np.random.RandomState(0).random_sample(n_features)) % 1.0
    positive, negative = _toy_gaussians(n_features)
    eta_positive = toy_posterior(positive.quantile(uniform))
    eta_negative = toy_posterior(negative.quantile(uniform))
    return float(
        POSITIVE_SHARE * np.minimum(eta_positive, 1 - eta_positive).mean()
        + (1 - POSITIVE_SHARE) * np.minimum(eta_negative, 1 - eta_negative).mean()
    )


@dataclass(frozen=True)
class _BoxedGaussian:
    """N(mean, std^2 I) conditioned on the box [-BOX, BOX]^d: independent coordinates."""

    mean: NDArray[np.float64]
    std: float

    def draw(self, n_samples: int, random: np.random.RandomState) -> NDArray[np.float64]:
        X = random.normal(self.mean, self.std, size=(n_samples, len(self.mean)))
        # The coordinates are independent, so rejecting each by itself gives the law of rejecting
        # whole points, without the waste when d is large.
        rows, columns = np.nonzero(np.abs(X) > BOX)
        while rows.size:
            X[rows, columns] = random.normal(self.mean[columns], self.std)
            outside = np.abs(X[rows, columns]) > BOX
            rows, columns = rows[outside], columns[outside]
        return X

    def log_density(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Up to (2 pi)^(-d/2), which the two classes share."""
        below, above = self._tails()
        squares: NDArray[np.float64] = (((X - self.mean) / self.std) ** 2).sum(axis=1)
        return -squares / 2 - float((np.log(self.std) + np.log(above - below)).sum())

    def quantile(self, uniform: NDArray[np.float64]) -> NDArray[np.float64]:
        below, above = self._tails()
        z: NDArray[np.float64] = scipy.special.ndtri(below + uniform * (above - below))
        return self.mean + self.std * z

    def _tails(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Probabilities of lying below either edge of the box, by coordinate."""
        return scipy.special.ndtr((-BOX - self.mean) / self.std), scipy.special.ndtr((BOX - self.mean) / self.std)


def _toy_gaussians(n_features: int) -> tuple[_BoxedGaussian, _BoxedGaussian]:
    """Distributions of x given y = +1 and given y = -1."""
    origin = np.zeros(n_features)
    first_axis = origin.copy()
    first_axis[0] = 1.0
    return _BoxedGaussian(origin, 1.0), _BoxedGaussian(first_axis, 8**-0.5)


def _labels(positive: NDArray[np.bool_]) -> NDArray[np.int8]:
    return np.where(positive, 1, -1).astype(np.int8)


def _require_positive(name: str, value: int) -> None:
    if value < 1:
        raise ValueError(f"{name} is {value}; give a number of at least 1.")
