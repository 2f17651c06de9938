"""The partition of a fit and the rows of its cells, as a stage that a checkpoint keeps."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

from localsvm.data.content import Keys
from localsvm.data.scaling import Scaling
from localsvm.data.stages import Stages
from localsvm.partition.base import Members, Partition
from localsvm.storage.parts import PARTITION, SCALING
from localsvm.storage.schema import Fields, Values, array

_MEMBERS = {"order": array(np.intp, None), "ends": array(np.intp, "n_cells")}


def kept_partition(
    stages: Stages, scaling: Scaling, hashes: Keys, build: Callable[[], tuple[Partition, Members]]
) -> tuple[Partition, Members]:
    """Return the partition of rows of these hashes that are scaled like this.

    Rows in another order have the same partition, but other numbers: it is made anew for them.
    """

    def make() -> Values:
        partition, members = build()
        return {"partition": PARTITION.write(partition), "order": members.order, "ends": members.ends}

    def fits(kept: Any) -> bool:
        return _is_whole(_read(kept)[1], len(hashes))

    digest = hashlib.sha256(b"".join(SCALING.pack(scaling)))
    digest.update(np.ascontiguousarray(hashes).data)
    return _read(stages.result(f"partition-{digest.hexdigest()[:16]}", make, fits))


def _read(kept: Any) -> tuple[Partition, Members]:
    fields = Fields(kept, "the partition of the checkpoint")
    members = Members(*(kind.read(fields, name) for name, kind in _MEMBERS.items()))
    sizes = {"n_cells": len(members.ends)}
    partition: Partition = PARTITION.make(Fields(fields.typed("partition", dict), fields.what, sizes))
    return partition, members


def _is_whole(members: Members, n_rows: int) -> bool:
    """Return whether cells are of rows that are there."""
    order, ends = members.order, members.ends
    if len(ends) == 0 or (np.diff(ends, prepend=0) < 0).any() or ends[-1] != len(order) or len(order) < n_rows:
        return False
    return bool(order.min(initial=0) >= 0 and order.max(initial=0) < n_rows)
