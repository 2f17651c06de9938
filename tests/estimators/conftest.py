"""What the tests of refusals share."""

import numpy as np
import pytest

import localsvm.estimators.base
from localsvm.data import toy_mixture


@pytest.fixture
def rows():
    X, y = toy_mixture(60, 3, random_state=0)
    return X.astype(np.float64), y.astype(int)


@pytest.fixture
def no_work(monkeypatch):
    """Training is an error: whatever is refused, is refused before."""

    def refuse(*_):
        pytest.fail("work had started")

    monkeypatch.setattr(localsvm.estimators.base, "fit_ensemble", refuse)
