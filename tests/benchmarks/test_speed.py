"""Instruction counts: read from callgrind's files, compared with a baseline."""

import json

from benchmarks.speed.__main__ import ALLOWED, BASELINE, slower
from benchmarks.speed.counting import instructions_in
from benchmarks.speed.workloads import WORKLOADS

# Two objects; names are given once and then by number; a call's inclusive cost stands after "calls=".
DUMP = """\
version: 1
desc: Trigger: Client Request: train
events: Ir
ob=(1) /usr/lib/python
fn=(1) run
12 100
cob=(2) /site/_native.so
cfn=(2) solve
calls=1 40
+3 5000
ob=(2)
fn=(2)
40 3000
+1 1500
cfn=(3) step
calls=7 50
* 400
fn=(3)
50 400
ob=(1)
fn=(1)
-2 7
totals: 5007
"""


def test_only_what_ran_in_the_extension_itself_counts():
    assert instructions_in(DUMP.splitlines(), "_native.so") == 3000 + 1500 + 400
    assert instructions_in(DUMP.splitlines(), "python") == 100 + 7
    assert instructions_in(DUMP.splitlines(), "libm.so") == 0


def test_more_instructions_than_allowed_are_slower_and_new_workloads_are_not():
    before = {"a": 1000, "b": 1000}
    assert slower({"a": int(1000 * ALLOWED), "b": int(1000 * ALLOWED) + 1, "new": 10**9}, before) == ["b"]


def test_the_baseline_has_every_workload():
    assert json.loads(BASELINE.read_text())["instructions"].keys() == WORKLOADS.keys()
