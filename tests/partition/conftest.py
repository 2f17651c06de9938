"""Hostile rows, and what the tests of partitions have in common."""

import numpy as np
import pytest

from localsvm.data.content import content_hash
from localsvm.data.rows import ScaledRows
from localsvm.data.scaling import AffineScaling
from localsvm.partition import voronoi


def _hostile():
    rng = np.random.default_rng(0)
    far = rng.normal(size=(60, 2)) * 100
    return {
        "normal": rng.normal(size=(2500, 3)),
        "duplicates": rng.normal(size=(40, 2))[rng.integers(0, 40, size=2000)],
        "one row many times": np.concatenate([np.zeros((1500, 3)), rng.normal(size=(700, 3))]),
        "all rows equal": np.ones((1000, 2)),
        "dense cluster and outliers": np.concatenate([rng.normal(size=(2000, 2)) * 1e-3, far]),
        "dense cluster off the origin": np.concatenate([50 + rng.normal(size=(2000, 2)) * 1e-3, far]),
        "line": np.linspace(0, 1, 2000)[:, None] * np.ones(4),
        "geometric line": np.geomspace(1e-6, 1e6, 1500)[:, None],
        "grid": np.stack(np.meshgrid(np.arange(45), np.arange(50)), axis=-1).reshape(-1, 2),
        "cube corners": rng.integers(0, 2, size=(2000, 9)),
        "heavy tails": rng.standard_cauchy(size=(2000, 3)),
        "one feature": rng.normal(size=(2000, 1)),
        "500 features": rng.normal(size=(500, 500)),
        "one row": np.ones((1, 3)),
        "two rows": np.array([[0.0], [1.0]]),
    }


HOSTILE = {name: np.ascontiguousarray(X, dtype=np.float32) for name, X in _hostile().items()}


@pytest.fixture(params=HOSTILE)
def hostile(request):
    return HOSTILE[request.param]


@pytest.fixture(params=["one traversal", "subsamples"])
def depth(request, monkeypatch):
    """Small nodes, so that a few thousand rows are split as millions would be."""
    if request.param == "subsamples":
        monkeypatch.setattr(voronoi, "LARGEST_TRAVERSAL", 400)
    return request.param


def scaled_rows(X):
    """Rows that are already on the model's scale."""
    return ScaledRows(X, AffineScaling(np.zeros(X.shape[1]), np.ones(X.shape[1])))


@pytest.fixture
def build():
    """Call a builder on rows of the model's scale."""

    def call(builder, X, *rest, seed=0, **options):
        return builder(scaled_rows(X), content_hash(X, seed), *rest, **options)

    return call
