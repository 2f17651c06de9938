"""Sets that are generated: as many rows as one likes, of the shape and the difficulty of real sets.

`higgslike` stands for HIGGS and `covlike` for covtype, which are not to be had at every size. What they
have in common with the real ones, in steps of the solver, support vectors and errors, is printed by
`python -m benchmarks.scale check-generators`. Labels are drawn from a known probability, so that the
smallest possible error is known, too: of `covlike` it is a lower bound, as its rows do not tell everything
about the place that the label depends on.

`letterlike` stands for letter, 26 classes: 16 000 training rows leave one tuned Gaussian SVM of scikit-learn
an error of 2.7 to 3.3 % on other rows, the nearest neighbour about 4.4 %, linear discriminants 25 %. The
real set is known for about 2.5 to 4 %, 4 to 5 % and 30 %.

A row depends on the seed and its number only: rows come in blocks, each from a random stream of its own,
and the first rows of a larger draw are those of a smaller one. All seeds have the same distribution.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from localsvm.data import toy_mixture

BLOCK = 1 << 14
Floats = NDArray[np.float32]
Labels = NDArray[np.int8]
# A block of rows is written to the first argument; the probability of the label +1 is returned.
Fill = Callable[[Floats, np.random.Generator], Floats]


def toy4(n: int, seed: int) -> tuple[Floats, Labels]:
    """Draw from the toy problem of the paper's Sec. 4 in 4 dimensions."""
    return toy_mixture(n, 4, random_state=seed)


def higgslike(n: int, seed: int) -> tuple[Floats, Labels]:
    """Draw 28 features like those of HIGGS: momenta, angles, b-tags, and masses made of them."""
    X, y, _ = draw(fill_higgs, 28, n, seed)
    return X, y


def covlike(n: int, seed: int) -> tuple[Floats, Labels]:
    """Draw 54 features like those of covtype: places in a mountainous landscape, with areas and soils."""
    X, y, _ = draw(fill_cov, 54, n, seed)
    return X, y


def letterlike(n: int, seed: int) -> tuple[Floats, Labels]:
    """Draw 16 integers from 0 to 15 like those of letter: distorted capitals of 20 fonts, labels 0 to 25."""
    X = np.empty((n, N_MOMENTS), dtype=np.float32)
    y = np.empty(n, dtype=np.int8)
    for number, begin in enumerate(range(0, n, BLOCK)):
        moments, letter = _letters(np.random.Generator(np.random.SFC64([seed, number])))
        count = min(BLOCK, n - begin)
        X[begin : begin + count], y[begin : begin + count] = moments[:count], letter[:count]
    return X, y


def draw(fill: Fill, n_features: int, n: int, seed: int) -> tuple[Floats, Labels, float]:
    """Return n rows, their labels, and the smallest error that knowing the probabilities leaves."""
    X = np.empty((n, n_features), dtype=np.float32)
    y = np.empty(n, dtype=np.int8)

    def fill_block(number: int) -> float:
        rows = slice(number * BLOCK, min((number + 1) * BLOCK, n))
        random = np.random.Generator(np.random.SFC64([seed, number]))
        block = np.empty((BLOCK, n_features), dtype=np.float32)
        posterior = fill(block, random)
        label = np.where(random.random(BLOCK, dtype=np.float32) < posterior, 1, -1)
        count = rows.stop - rows.start
        X[rows], y[rows] = block[:count], label[:count]
        return float(np.minimum(posterior, 1 - posterior)[:count].sum())

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        wrong = sum(threads.map(fill_block, range(-(-n // BLOCK))))
    return X, y, wrong / n


# Columns of HIGGS: lepton, missing energy, four jets (momentum, angles eta and phi, b-tag), seven masses.
MOMENTA, ETAS, PHIS, TAGS, MASSES = (0, 3, 5, 9, 13, 17), (1, 6, 10, 14, 18), (2, 4, 7, 11, 15, 19), (8, 12, 16, 20), 21
# Of the momenta: median, spread of the logarithm, and its correlation with the event's scale.
MOMENTUM_SHAPES = (
    *((0.86, 0.53, -0.10), (0.88, 0.60, 0.20)),
    *((0.90, 0.42, 0.60), (0.89, 0.45, 0.65), (0.90, 0.46, 0.50), (0.87, 0.48, 0.35)),
)
# Everything recoils from the first jet: by how much phi strays from the opposite direction.
RECOIL = (1.6, 1.6, 0.0, 1.5, 1.8, 2.0)
# At most two jets have a b-tag; so often it is none of them, the fourth, the third, ...
TAG_PATTERNS = np.array([0b0000, 0b0001, 0b0010, 0b0011, 0b0100, 0b0101, 0b0110, 0b1000, 0b1001, 0b1010, 0b1100])
TAG_SHARES = np.array([0.009, 0.037, 0.045, 0.085, 0.055, 0.111, 0.148, 0.057, 0.120, 0.150, 0.183])
TAG_UNITS, FULL_TAG = (1.087, 1.108, 1.274, 1.551), 0.8
MASS_MEDIANS = (0.90, 0.95, 0.99, 0.92, 0.87, 0.95, 0.87)
MASS_UNITS = (0.17, 0.19, 0.08, 0.31, 0.35, 0.25, 0.23)


def fill_higgs(X: Floats, random: np.random.Generator) -> Floats:
    """Fill a block: momenta are log-normal, a mass has the momenta and the opening angle of its parts in it."""
    momenta = _fill_momenta(X, random)
    etas = _fill_etas(X, random)
    phis = _fill_phis(X, random)
    tags = _fill_tags(X, random)
    masses = _fill_masses(X, random, momenta, etas, phis)
    return _logistic(_signal(momenta, phis, tags, masses))


def _fill_momenta(X: Floats, random: np.random.Generator) -> list[Floats]:
    scale, *own = random.standard_normal((1 + len(MOMENTA), len(X)), dtype=np.float32)
    logs = [
        np.float32(spread * shared) * scale + np.float32(spread * (1 - shared**2) ** 0.5) * z
        for (_, spread, shared), z in zip(MOMENTUM_SHAPES, own, strict=True)
    ]
    for column, (median, _, _), log in zip(MOMENTA, MOMENTUM_SHAPES, logs, strict=True):
        X[:, column] = np.float32(median) * np.exp(log)
    return logs


def _fill_etas(X: Floats, random: np.random.Generator) -> list[Floats]:
    boost, *own = random.standard_normal((1 + len(ETAS), len(X)), dtype=np.float32)
    etas = [np.float32(3.2) * np.tanh(np.float32(0.18) * boost + np.float32(0.31) * z) for z in own]
    for column, eta in zip(ETAS, etas, strict=True):
        X[:, column] = eta
    return etas


def _fill_phis(X: Floats, random: np.random.Generator) -> list[Floats]:
    first = random.random(len(X), dtype=np.float32) * np.float32(2)  # half turns, as all angles here
    stray = random.standard_normal((len(PHIS), len(X)), dtype=np.float32)
    phis = [
        np.mod(first + np.float32(1) + np.float32(width / np.pi) * z, np.float32(2)) if width else first
        for width, z in zip(RECOIL, stray, strict=True)
    ]
    for column, phi in zip(PHIS, phis, strict=True):
        X[:, column] = np.float32(1.743) * (phi - np.float32(1))
    return phis


def _fill_tags(X: Floats, random: np.random.Generator) -> list[Floats]:
    """Fill in 0, 1 or 2 units a jet; return them without the unit, around 0."""
    limits = np.cumsum(TAG_SHARES)[:-1].astype(np.float32)
    pattern = TAG_PATTERNS[np.searchsorted(limits, random.random(len(X), dtype=np.float32))]
    full = random.random((len(TAGS), len(X)), dtype=np.float32) < FULL_TAG
    levels = [(pattern >> (3 - jet) & 1) * (1 + full[jet]) for jet in range(len(TAGS))]
    for column, unit, level in zip(TAGS, TAG_UNITS, levels, strict=True):
        X[:, column] = unit * level
    return [(level - 1).astype(np.float32) for level in levels]


def _fill_masses(
    X: Floats, random: np.random.Generator, momenta: list[Floats], etas: list[Floats], phis: list[Floats]
) -> list[Floats]:
    lepton, missing, *jets = momenta
    z = random.standard_normal((7, len(X)), dtype=np.float32)
    opening = [_opening(etas, phis, *pair) for pair in ((3, 4), (0, 1), (1, 2))]
    jj = 0.16 * (jets[2] + jets[3]) + 0.10 * opening[0] + 0.08 * z[0] * np.abs(z[0])
    jjj = 0.45 * jj + 0.12 * (jets[1] + jets[2]) + 0.13 * z[1]
    lv = 0.03 * (lepton + missing) + 0.04 * z[2] * np.abs(z[2])
    jlv = 0.12 * jets[0] + 0.13 * missing + 0.10 * opening[1] + 0.26 * z[3]
    bb = 0.20 * (jets[0] + jets[1]) + 0.18 * opening[2] + 0.22 * z[4]
    wbb = 0.30 * bb + 0.30 * jlv + 0.25 * jjj + 0.08 * jets[0] + 0.10 * z[5]
    wwbb = 0.85 * wbb + 0.10 * jj + 0.08 * z[6]
    logs = [jj, jjj, lv, jlv, bb, wbb, wwbb]
    for column, (median, log) in enumerate(zip(MASS_MEDIANS, logs, strict=True), MASSES):
        X[:, column] = np.float32(median) * np.exp(log + 0.5 * log * np.abs(log))
    return logs


def _opening(etas: list[Floats], phis: list[Floats], a: int, b: int) -> Floats:
    """Return log(cosh(difference of eta) - cos(difference of phi)), as in a squared mass."""
    factor = np.exp(etas[a] - etas[b])
    turn = np.float32(np.pi) * (phis[a if a == 0 else a + 1] - phis[b + 1])
    return np.log(0.5 * (factor + 1 / factor) - np.cos(turn) + np.float32(0.05))


def _signal(momenta: list[Floats], phis: list[Floats], tags: list[Floats], masses: list[Floats]) -> Floats:
    """Return the logit of the label +1: resonances in some masses, turned around by b-tags, and angles."""
    _, jjj, _, jlv, bb, wbb, wwbb = (log / np.float32(unit) for log, unit in zip(masses, MASS_UNITS, strict=True))
    return (
        1.9
        - 1.9 * np.abs(bb - np.float32(0.3))
        - 1.2 * np.abs(wbb - bb)
        + 0.6 * np.abs(jjj)
        - 0.6 * wwbb
        + 0.5 * (momenta[2] - 0.5 * momenta[1])
        + 1.1 * (tags[0] * bb - 0.5 * tags[2] * jlv)
        + 0.7 * np.cos(np.float32(np.pi) * (phis[2] - phis[3]))
    )


def _logistic(logit: Floats) -> Floats:
    return np.float32(0.5) + np.float32(0.5) * np.tanh(np.float32(0.5) * logit)


@dataclass(frozen=True)
class Field:
    """A smooth random function of the place: a sum of waves, with variance 1 and a gradient."""

    waves: Floats
    phases: Floats
    amplitudes: Floats

    @classmethod
    def random(cls, random: np.random.Generator, frequency: float, n_waves: int = 16) -> Field:
        """Draw waves of about this frequency, in turns per unit; slow ones are the highest."""
        length = frequency * np.exp(0.6 * random.standard_normal(n_waves))
        direction = 2 * np.pi * random.random(n_waves)
        waves = 2 * np.pi * length * np.array([np.cos(direction), np.sin(direction)])
        amplitudes = 1 / length
        amplitudes *= np.sqrt(2 / np.sum(amplitudes**2))
        phases = 2 * np.pi * random.random(n_waves)
        return cls(waves.astype(np.float32), phases.astype(np.float32), amplitudes.astype(np.float32))

    def __call__(self, place: Floats) -> Floats:
        return np.asarray(np.cos(place @ self.waves + self.phases) @ self.amplitudes)

    def gradient(self, place: Floats) -> Floats:
        slope = -np.sin(place @ self.waves + self.phases) * self.amplitudes
        return np.stack([slope @ self.waves[0], slope @ self.waves[1]])


# Areas: their shares of the rows, and their mean elevations in metres.
AREA_SHARES, AREA_ELEVATION = (0.449, 0.051, 0.436, 0.064), (3000, 3150, 2950, 2300)
LOW_AREA = 3
# Sun in the morning, at noon, in the afternoon: azimuth and altitude in degrees.
SUNS = ((115, 45), (180, 60), (250, 40))
N_SOILS = 40
N_POINTS = 4  # roads, and fire points, in an area


@dataclass(frozen=True)
class Land:
    """A landscape of four areas, unit squares with gaps between them: the same one for every seed."""

    height: Field
    water: Field
    stands: Field
    soils: list[Field]
    soil_elevation: Floats
    soil_effect: Floats
    soil_rarity: Floats
    soil_home: NDArray[np.intp]
    roads: Floats
    fires: Floats


@cache
def land_of_covlike() -> Land:
    random = np.random.default_rng(1)
    points = random.random((4, 2, N_POINTS, 2)) + np.arange(4)[:, None, None, None] * np.array([3.0, 0.0])
    return Land(
        height=Field.random(random, 1.5, 24),
        water=Field.random(random, 6.0),
        stands=Field.random(random, 4.6),
        soils=[Field.random(random, 1.5, 6) for _ in range(N_SOILS)],
        soil_elevation=random.normal(2900, 300, N_SOILS).astype(np.float32),
        soil_effect=random.normal(0, 1, N_SOILS).astype(np.float32),
        soil_rarity=random.exponential(1.2, N_SOILS).astype(np.float32),
        soil_home=random.integers(4, size=N_SOILS),
        roads=points[:, 0].reshape(-1, 2).astype(np.float32),
        fires=points[:, 1].reshape(-1, 2).astype(np.float32),
    )


def fill_cov(X: Floats, random: np.random.Generator) -> Floats:
    """Fill a block: ten quantities of a place, then indicators of its area and its soil."""
    land = land_of_covlike()
    area = np.searchsorted(np.cumsum(AREA_SHARES)[:-1], random.random(len(X)))
    place = random.random((len(X), 2), dtype=np.float32)
    place[:, 0] += 3 * area
    elevation = np.array(AREA_ELEVATION, dtype=np.float32)[area] + 190 * land.height(place)
    elevation += 20 * random.standard_normal(len(X), dtype=np.float32)
    soil = _soil(land, place, elevation, area, random)
    X[:, 0] = np.round(elevation)
    _fill_slopes(X, land, place, random)
    _fill_distances(X, land, place, random)
    X[:, 10:] = 0
    rows = np.arange(len(X))
    X[rows, 10 + area] = 1
    X[rows, 14 + soil] = 1
    return _logistic(_lodgepole(land, place, elevation, soil, area))


def _soil(
    land: Land, place: Floats, elevation: Floats, area: NDArray[np.intp], random: np.random.Generator
) -> NDArray[np.intp]:
    """Return the soil that suits place, elevation and area best, by and large."""
    fit = np.stack([field(place) for field in land.soils], axis=1) - land.soil_rarity
    fit -= np.square((elevation[:, None] - land.soil_elevation) / 200)
    fit -= area[:, None] != land.soil_home
    fit += np.float32(1.5) * random.standard_normal(fit.shape, dtype=np.float32)
    return fit.argmax(axis=1)


def _fill_slopes(X: Floats, land: Land, place: Floats, random: np.random.Generator) -> None:
    """Fill in aspect, slope and hillshades; they have a relief that is too small for the elevation."""
    relief = np.float32(2.8) * random.standard_normal((2, len(X)), dtype=np.float32)
    east, north = land.height.gradient(place) + relief
    slope = np.arctan(np.float32(0.025) * np.hypot(east, north))
    aspect = np.arctan2(east, north) % np.float32(2 * np.pi)
    X[:, 1], X[:, 2] = np.round(np.degrees(aspect)), np.round(np.degrees(slope))
    for column, (azimuth, altitude) in zip((6, 7, 8), np.radians(SUNS).astype(np.float32), strict=True):
        light = np.sin(altitude) * np.cos(slope) + np.cos(altitude) * np.sin(slope) * np.cos(azimuth - aspect)
        X[:, column] = np.round(254 * np.clip(light, 0, 1))


def _fill_distances(X: Floats, land: Land, place: Floats, random: np.random.Generator) -> None:
    """Fill in the distances to water, level and upright, to roads, and to fire points."""
    X[:, 3] = 30 * np.round(10 * np.abs(land.water(place)))
    steepness = np.float32(0.6) + np.float32(0.5) * random.standard_normal(len(X), dtype=np.float32)
    X[:, 4] = np.round(X[:, 3] * np.tan(np.radians(X[:, 2])) * steepness)
    X[:, 5] = np.round(7000 * _nearest(place, land.roads))
    X[:, 9] = np.round(7000 * _nearest(place, land.fires))


def _nearest(place: Floats, points: Floats) -> Floats:
    return np.sqrt(np.min([np.square(place - point).sum(axis=1) for point in points], axis=0))


def _lodgepole(land: Land, place: Floats, elevation: Floats, soil: NDArray[np.intp], area: NDArray[np.intp]) -> Floats:
    """Return the logit of the label +1: a band of elevations that depends on the soil, and stands of trees."""
    effect = land.soil_effect[soil]
    band = (elevation - 2930 - 60 * effect) / 200
    suits = 0.8 - 0.17 * band - 0.6 * np.square(band) + 0.5 * effect - (area == LOW_AREA)
    return 6 * (suits.astype(np.float32) + np.float32(1.9) * land.stands(place))


N_LETTERS, N_FONTS, N_DISTORTIONS, N_TRAITS, N_MOMENTS = 26, 20, 5, 10, 16


@dataclass(frozen=True)
class Alphabet:
    """Traits of letters, how distortions move them, on a parabola each, and how moments are made of traits."""

    shapes: Floats
    slopes: Floats
    curves: Floats
    moments: Floats


@cache
def alphabet_of_letterlike() -> Alphabet:
    random = np.random.default_rng(1)
    letters = 1.9 * random.standard_normal((N_LETTERS, 1, N_TRAITS))
    fonts = 1.45 * random.standard_normal((N_LETTERS, N_FONTS, N_TRAITS))
    # A distortion moves all letters alike to one half, each in its own way to the other.
    alike, own = (0.4 * random.standard_normal((count, N_DISTORTIONS, N_TRAITS)) for count in (1, N_LETTERS))
    curves = 0.25 * random.standard_normal((N_LETTERS, N_DISTORTIONS, N_TRAITS))
    moments = random.standard_normal((N_TRAITS, N_MOMENTS))
    moments /= np.linalg.norm(moments, axis=0)
    return Alphabet(*(array.astype(np.float32) for array in (letters + fonts, alike + own, curves, moments)))


def _letters(random: np.random.Generator) -> tuple[Floats, NDArray[np.intp]]:
    """Return a block: moments of letters in a random font, distorted and rounded, and which letters they are."""
    alphabet = alphabet_of_letterlike()
    letter, font = random.integers(N_LETTERS, size=BLOCK), random.integers(N_FONTS, size=BLOCK)
    bend = 2 * random.random((BLOCK, 1, N_DISTORTIONS), dtype=np.float32) - 1
    moved = bend @ alphabet.slopes[letter] + (bend**2 - np.float32(1 / 3)) @ alphabet.curves[letter]
    moments = (alphabet.shapes[letter, font] + moved[:, 0]) @ alphabet.moments
    moments += np.float32(0.35) * random.standard_normal(moments.shape, dtype=np.float32)
    return np.rint(np.clip(7 + moments, 0, 15), dtype=np.float32), letter


FILLS: dict[str, Fill] = {"higgslike": fill_higgs, "covlike": fill_cov}
GENERATORS: dict[str, Callable[[int, int], tuple[Floats, Labels]]] = {
    "toy4": toy4,
    "higgslike": higgslike,
    "covlike": covlike,
    "letterlike": letterlike,
}
