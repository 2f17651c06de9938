"""Give readers bytes until one of them does what it must not do: anything but a table or `InvalidData`.

    python tools/fuzz.py readers --seconds 300        # all formats; or one of them: csv, parquet, ...

Coverage of the package guides the search (atheris, libFuzzer); it begins with the files in build/fuzz/TARGET, to which
right ones are added, and keeps there what reached new code. A crash, more than 20 seconds or more than 3 GB end it with
the bytes in a file of its own; `--again FILE` runs them once more.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SLOWEST_SECONDS = 20
MOST_MEGABYTES = 3000


@dataclass(frozen=True)
class Target:
    """What is fuzzed: a function of bytes, and bytes to begin with."""

    run: Callable[[bytes], object]
    seeds: Iterable[bytes]


def readers(endings: tuple[str, ...]) -> Target:
    """Return the readers of some formats; the first byte says which of them reads the others."""
    damage = importlib.import_module("damage")
    folder = tempfile.mkdtemp(prefix="localsvm-fuzz-")

    def run(data: bytes) -> None:
        if data:
            damage.read_bytes(data[1:], endings[data[0] % len(endings)], folder)

    return Target(run, [bytes([number]) + damage.right_file(ending) for number, ending in enumerate(endings)])


FORMATS = ("csv", "csv.gz", "libsvm", "parquet", "arrow", "arrows", "npz", "npy")
TARGETS: dict[str, Callable[[], Target]] = {
    "readers": lambda: readers(FORMATS),
    **{ending: lambda ending=ending: readers((ending,)) for ending in FORMATS},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--again", type=Path, metavar="FILE", help="bytes to run once more")
    arguments = parser.parse_args()
    try:
        import atheris
    except ImportError:
        sys.exit(
            "fuzzing needs the package 'atheris', of which there are wheels for CPython on Linux only: "
            "pip install 'localsvm[fuzz]'. The property tests in tests/data/files do without it."
        )
    sys.path.insert(0, str(ROOT / "tests" / "support"))
    with atheris.instrument_imports(include=["localsvm"]):
        importlib.import_module("localsvm.data.files")
    target = TARGETS[arguments.target]()
    if arguments.again:
        target.run(arguments.again.read_bytes())
        return
    corpus = ROOT / "build" / "fuzz" / arguments.target
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(target.seeds):
        (corpus / f"right-{number}").write_bytes(seed)
    limits = (f"-max_total_time={arguments.seconds}", f"-timeout={SLOWEST_SECONDS}", f"-rss_limit_mb={MOST_MEGABYTES}")
    atheris.Setup([sys.argv[0], *limits, f"-artifact_prefix={corpus.parent}/", str(corpus)], target.run)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
