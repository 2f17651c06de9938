"""Is the core as fast as it was? Instructions of small workloads against benchmarks/speed_baseline.json.

    make speed                      fails if a workload takes 5 % more instructions than the baseline has
    make speed ARGS=--update        writes the baseline anew: a change that is meant to cost, or that gained
    make speed ARGS="--level baseline --baseline other.json --update"

Counts do not depend on the machine or on what else it does, only on compiler and level; with another compiler than the
baseline's they are shown, not judged. An instruction is no second: caches and waiting are for `make bench`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.command_line import command_parser
from benchmarks.speed.counting import compiler, count_instructions
from benchmarks.tables import print_table

BASELINE = Path(__file__).resolve().parents[1] / "speed_baseline.json"
ALLOWED = 1.05


def _arguments() -> argparse.Namespace:
    parser = command_parser("speed", __doc__)
    add = parser.add_argument
    add("--update", action="store_true", help="write the baseline instead of comparing with it")
    add("--baseline", type=Path, default=BASELINE, metavar="JSON", help="the counts to compare with")
    # Valgrind knows no AVX-512.
    add("--level", choices=("avx2", "baseline"), default="avx2", help="of vector instructions (avx2)")
    return parser.parse_args()


def slower(counts: dict[str, int], before: dict[str, int]) -> list[str]:
    """Return the workloads that take more instructions than is allowed."""
    return [name for name, count in counts.items() if name in before and count > ALLOWED * before[name]]


def _show(counts: dict[str, int], before: dict[str, int]) -> None:
    rows = [[name, f"{count / 1e6:.2f}", *_compared(count, before.get(name))] for name, count in counts.items()]
    print_table("Millions of instructions in the native core", ("", "now", "baseline", "ratio"), rows)


def _compared(count: int, before: int | None) -> tuple[str, str]:
    return ("-", "new") if before is None else (f"{before / 1e6:.2f}", f"{count / before:.3f}")


def _judge(found: dict[str, Any], baseline: dict[str, Any]) -> str | None:
    """Say what came out; return what is wrong."""
    for name in ("level", "compiler"):
        if found[name] != baseline[name]:
            print(
                f"Not judged: the baseline's {name} is {baseline[name]}, this one is {found[name]}. To compare here, "
                "count the state before with --update --baseline before.json, then this with --baseline before.json."
            )
            return None
    worse = slower(found["instructions"], baseline["instructions"])
    if worse:
        return (
            f"slower than the baseline by more than {ALLOWED - 1:.0%}: {'; '.join(worse)}. If that is meant, "
            "make speed ARGS=--update, and say why in the commit."
        )
    print("As fast as the baseline.")
    return None


def main() -> None:
    given = _arguments()
    found = {"compiler": compiler(), "level": given.level, "instructions": count_instructions(given.level)}
    print(f"{found['compiler']}, level {found['level']}")
    if given.update:
        given.baseline.write_text(json.dumps(found, indent=2) + "\n")
        _show(found["instructions"], {})
        print(f"Written to {given.baseline}.")
        return
    baseline = json.loads(given.baseline.read_text())
    _show(found["instructions"], baseline["instructions"])
    wrong = _judge(found, baseline)
    if wrong:
        raise SystemExit(wrong)


if __name__ == "__main__":
    main()
