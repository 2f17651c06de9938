"""Files of every format that was ever released stay readable, and predict what they did."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import localsvm
from localsvm.estimators.stored import user_info
from localsvm.storage.model_file import FORMAT_VERSION, open_model

GOLDEN = Path(__file__).parent / "golden"
TOOL = Path(__file__).parents[2] / "tools" / "make_golden_models.py"
FILES = sorted(GOLDEN.glob("format-*/*.lsvm"))


def test_every_format_has_files_of_every_estimator():
    for version in range(1, FORMAT_VERSION + 1):
        kinds = {type(localsvm.load(path)).__name__ for path in (GOLDEN / f"format-{version}").glob("*.lsvm")}
        assert kinds == {"LocalSVC", "LocalSVR", "LocalQuantileRegressor", "LocalExpectileRegressor"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name} {path.stem}")
def test_an_old_file_predicts_what_it_did(path):
    expected = dict(np.load(path.with_suffix(".npz")))
    points = expected.pop("points")
    if path.stem == "machines":
        points = runpy.run_path(str(TOOL))["frame_of"](points)
    stored = open_model(path)
    stored.verify()
    assert user_info(stored) == {"name": path.stem}
    loaded = localsvm.load(path)
    for method, values in expected.items():
        found = getattr(loaded, method)(points)
        if values.dtype.kind == "f":  # other processors round otherwise
            np.testing.assert_allclose(found, values, rtol=1e-4, atol=1e-5)
        else:
            np.testing.assert_array_equal(found, values, strict=True)
