"""A change of form changes no model: digests of small fits of every kind are those that were committed."""

import importlib.util
import json
from pathlib import Path

import pytest

from localsvm import _native

TOOL = Path(__file__).parents[2] / "tools" / "model_digests.py"
spec = importlib.util.spec_from_file_location("model_digests", TOOL)
model_digests = importlib.util.module_from_spec(spec)
spec.loader.exec_module(model_digests)

LEVELS = [level for level in model_digests.LEVELS if level in _native.available_simd_levels()]


@pytest.mark.parametrize("level", LEVELS)
def test_models_are_the_committed_ones_to_the_bit(level):
    committed = json.loads(model_digests.COMMITTED.read_text())[level]
    made = model_digests.digests_at(level)
    changed = [name for name in committed if made.get(name) != committed[name]]
    assert not changed, "models changed; if that is meant: python tools/model_digests.py --write"
    assert made.keys() == committed.keys()
