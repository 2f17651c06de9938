"""What is loaded, and when."""

import json
import subprocess
import sys

import pytest

import localsvm
import localsvm.data
import localsvm.spark

PACKAGES = [localsvm, localsvm.data, localsvm.spark]


def loaded_by(statement):
    """Return the packages that a fresh Python has loaded after a statement."""
    script = (
        f"import json, sys; {statement}; print(json.dumps(sorted({{name.partition('.')[0] for name in sys.modules}})))"
    )
    return set(json.loads(subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout))


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_all_public_names_are_there_and_told(package):
    assert set(package.__all__) <= set(dir(package))
    assert all(getattr(package, name) is not None for name in package.__all__)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_a_name_that_is_not_there_is_refused_as_everywhere(package):
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'LocalSVD'"):
        package.LocalSVD  # noqa: B018


@pytest.mark.parametrize(
    "module", ["localsvm", "localsvm.spark.survey", "localsvm.spark.distributed", "localsvm.spark.predict"]
)
def test_tasks_on_a_cluster_do_without_what_takes_long_to_load(module):
    assert not loaded_by(f"import {module}") & {"sklearn", "pandas", "matplotlib", "rich"}


def test_estimators_bring_scikit_learn():
    assert "sklearn" in loaded_by("from localsvm import LocalSVC")
