"""Models of every kind are the same at every SIMD level, and a change of form changes none of them.

Digests of small fits, with what they predict, are those that were committed.
"""

import importlib.util
import json
from pathlib import Path

import pytest

from localsvm import _native

TOOL = Path(__file__).parents[2] / "tools" / "model_digests.py"
spec = importlib.util.spec_from_file_location("model_digests", TOOL)
model_digests = importlib.util.module_from_spec(spec)
spec.loader.exec_module(model_digests)


@pytest.mark.parametrize("level", _native.available_simd_levels())
def test_models_are_the_committed_ones_to_the_bit(level):
    committed = json.loads(model_digests.COMMITTED.read_text())
    made = model_digests.digests_at(level)
    changed = [name for name in committed if made.get(name) != committed[name]]
    assert not changed, "models changed; if that is meant: python tools/model_digests.py --write"
    assert made.keys() == committed.keys()
