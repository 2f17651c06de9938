"""`ecbdllike` stands for ECBDL'14: 631 features, 2 % of the rows are positive, and hard to tell from the others.

As there, most features are numbers and the last 92 have a few levels; all are made of two dozen traits and noise, as
the profiles of neighbouring residues are. Labels are drawn from a known probability, which reaches a TPR x TNR of
about 0.62; a linear function of all features reaches 0.46. On the real set teams reached 0.3 to 0.53.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from benchmarks.generated import Floats, Labels, draw

N_NUMBERS, N_LEVELLED, N_TRAITS, N_WAVES = 539, 92, 24, 40
N_FEATURES = N_NUMBERS + N_LEVELLED
NOISE = np.float32(0.7)
LEVELS = 4
# Of the logit: its mean makes 2 % of the rows positive; its spread is that of waves through few traits, and of a plane.
BIAS, WAVE_SPREAD, PLANE_SPREAD = -5.3, 1.4, 1.1


@dataclass(frozen=True)
class Profile:
    """How features are made of traits, and what the label depends on: the same for every seed."""

    loadings: Floats
    plane: Floats
    waves: Floats
    phases: Floats


@cache
def profile_of_ecbdllike() -> Profile:
    random = np.random.default_rng(1)
    # A feature has three traits or so.
    loadings = random.standard_normal((N_TRAITS, N_FEATURES)) * (random.random((N_TRAITS, N_FEATURES)) < 3 / N_TRAITS)
    loadings /= np.maximum(np.linalg.norm(loadings, axis=0), 0.5)
    plane = random.standard_normal(N_TRAITS)
    waves = np.zeros((N_TRAITS, N_WAVES))
    for wave in range(N_WAVES):
        waves[random.choice(N_TRAITS, 2, replace=False), wave] = 1.2 * random.standard_normal(2)
    phases = 2 * np.pi * random.random(N_WAVES)
    arrays = (loadings, plane / np.linalg.norm(plane), waves, phases)
    return Profile(*(array.astype(np.float32) for array in arrays))


def fill_ecbdl(X: Floats, random: np.random.Generator) -> Floats:
    """Fill a block, return the probability of the label +1."""
    profile = profile_of_ecbdllike()
    traits = random.standard_normal((len(X), N_TRAITS), dtype=np.float32)
    np.matmul(traits, profile.loadings, out=X)
    X += NOISE * random.standard_normal(X.shape, dtype=np.float32)
    levelled = X[:, N_NUMBERS:]
    np.clip(np.floor(levelled + LEVELS / 2), 0, LEVELS - 1, out=levelled)
    waves = np.cos(traits @ profile.waves + profile.phases).sum(axis=1) * np.float32((2 / N_WAVES) ** 0.5)
    logit = np.float32(BIAS) + np.float32(WAVE_SPREAD) * waves + np.float32(PLANE_SPREAD) * (traits @ profile.plane)
    return np.asarray(1 / (1 + np.exp(-logit)))


def ecbdllike(n: int, seed: int) -> tuple[Floats, Labels]:
    """Draw 631 features like those of ECBDL'14, labels -1 and 1."""
    X, y, _ = draw(fill_ecbdl, N_FEATURES, n, seed)
    return X, y
