"""An archive of a virtual environment with localsvm and its dependencies, for workers.

It contains what `pip install localsvm pyarrow pandas` would, copied from the environment that runs the tests: nothing
is downloaded. Workers have pyspark from Spark itself.
"""

import re
import shutil
import subprocess
import sys
import tarfile
from importlib.metadata import distribution
from pathlib import Path

import localsvm
from localsvm import _native


def make_archive(folder):
    """Return the path of an archive of an environment, made in a folder that is then empty of it."""
    environment, archive = folder / "environment", folder / "environment.tar.gz"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    site = next(environment.glob("lib/python*/site-packages"))
    _copy_localsvm(site / "localsvm")
    for name in sorted(_with_requirements(["numpy", "scipy", "scikit-learn", "pyarrow", "pandas"])):
        _copy_distribution(name, site)
    # Not .tar: Spark unpacks that by itself, and Python comes out as a file that cannot be run.
    with tarfile.open(archive, "w:gz", compresslevel=0) as packed:
        packed.add(environment, ".")
    shutil.rmtree(environment)
    return archive


def _copy_localsvm(target):
    """Copy the package; an editable install has its extension elsewhere."""
    shutil.copytree(Path(localsvm.__file__).parent, target, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(_native.__file__, target)


def _copy_distribution(name, site):
    for file in distribution(name).files:
        if not {"..", "__pycache__", "tests"} & set(file.parts):
            target = site / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file.locate(), target)


def _with_requirements(names):
    """Return distributions and all their dependencies, without extras."""
    found, waiting = set(), list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            needed = [text for text in distribution(name).requires or () if ";" not in text]
            waiting += [re.match(r"[\w.-]+", text)[0] for text in needed]
    return found
