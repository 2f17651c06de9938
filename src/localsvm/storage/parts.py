"""The schemas of what all cells of a model share: scaling, partition, learning task, calibration, table of cells.

Enters: these objects. Leaves: dicts that `pack` takes, in which a kind has a word, never a class; and back, checked. An
object of a user's own class is refused when it is stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localsvm.data.scaling import AffineScaling, QuantileScaling, Scaling
from localsvm.decision.calibration import Calibration
from localsvm.decision.curves import KNOTS
from localsvm.errors import InvalidFile, InvalidParameter
from localsvm.model.table import CellTable
from localsvm.partition.base import Partition
from localsvm.partition.chunks import ChunkPartition
from localsvm.partition.coarse import CoarseCells
from localsvm.partition.overlap import OverlapPartition
from localsvm.partition.tree import Node, wrong_children
from localsvm.partition.voronoi import VoronoiPartition
from localsvm.partition.whole import WholePartition
from localsvm.storage.schema import (
    FINITE,
    FRACTION,
    LEVEL,
    NOT_NEGATIVE,
    POSITIVE,
    RISK,
    Fields,
    Kind,
    Schema,
    Values,
    added,
    array,
    integer,
    items,
    maybe,
    real,
    schema,
    several,
    tagged,
)
from localsvm.tasks import Binary, Levels, OneVsOne, OneVsRest, Probabilities, Reduction, Regression, TubeRegression
from localsvm.tasks.losses import Expectile, Hinge, Pinball, Squared, SquaredMargin, Tube

Sizes = Mapping[str, int]

# ------------------------------------------------------------------------------- arrays one after the other


def _ends(parts: Sequence[NDArray[np.generic]]) -> NDArray[np.int64]:
    """Return where parts end that are put one after the other."""
    return np.cumsum([len(part) for part in parts], dtype=np.int64)


def _wrong_ends(ends: NDArray[np.int64], total: int) -> str | None:
    if len(ends) == 0 or (np.diff(ends, prepend=0) < 1).any() or ends[-1] != total:
        return f"its parts do not end at {total}, or one is empty"
    return None


# ------------------------------------------------------------------------------------------- scaling

_AFFINE = schema(
    AffineScaling,
    {
        "shift": array(np.float64, "n_features", within=FINITE),
        "factor": array(np.float64, "n_features", within=FINITE),
    },
)


def _quantile_scaling(
    ends: NDArray[np.int64], knots: NDArray[np.float64], ranks: NDArray[np.float64]
) -> QuantileScaling:
    return QuantileScaling(tuple(np.split(knots, ends[:-1])), tuple(np.split(ranks, ends[:-1])))


_QUANTILE = schema(
    _quantile_scaling,
    {
        "ends": array(np.int64, "n_features"),
        "knots": array(np.float64, "n_knots", within=FINITE),
        "ranks": array(np.float64, "n_knots", within=FINITE),
    },
    flatten=lambda scaling: {
        "ends": _ends(scaling.knots),
        "knots": np.concatenate(scaling.knots),
        "ranks": np.concatenate(scaling.ranks),
    },
    check=lambda values, _: _wrong_ends(values["ends"], len(values["knots"])),
)

SCALING: Schema[Scaling] = tagged(
    "kind", {"affine": (AffineScaling, _AFFINE), "quantile": (QuantileScaling, _QUANTILE)}, "scaling"
)

# ----------------------------------------------------------------------------------------- partition

_CENTERS = {
    "centers": array(np.float32, "n_cells", "n_features", within=FINITE),
    "radii": array(np.float64, "n_cells", within=NOT_NEGATIVE),
}
_NODES = {
    "ends": array(np.int64, "n_nodes"),
    "node_centers": array(np.float32, "n_children", "n_features", within=FINITE),
    "node_children": array(np.int64, "n_children"),
}


def _node_values(nodes: Sequence[Node]) -> Values:
    return {
        "ends": _ends([node.children for node in nodes]),
        "node_centers": np.concatenate([node.centers for node in nodes]),
        "node_children": np.concatenate([node.children for node in nodes]),
    }


def _nodes(values: Values) -> tuple[Node, ...]:
    cuts = values["ends"][:-1]
    return tuple(map(Node, np.split(values["node_centers"], cuts), np.split(values["node_children"], cuts)))


def _wrong_nodes(values: Values, sizes: Sizes) -> str | None:
    children = values["node_children"]
    wrong = _wrong_ends(values["ends"], len(children))
    if wrong:
        return wrong
    node = np.repeat(np.arange(len(values["ends"])), np.diff(values["ends"], prepend=0))
    bad = wrong_children(children, node, sizes.get("n_cells", len(children)))
    return f"node {node[bad][0]} leads to nodes or cells that are not there" if bad.any() else None


_VORONOI = schema(
    lambda centers, radii, **nodes: VoronoiPartition(centers, radii, _nodes(nodes)),
    {**_CENTERS, **_NODES},
    flatten=lambda tree: {"centers": tree.centers, "radii": tree.radii, **_node_values(tree.nodes)},
    check=_wrong_nodes,
)

COARSE = schema(
    lambda **nodes: CoarseCells(_nodes(nodes)),
    _NODES,
    flatten=lambda coarse: _node_values(coarse.nodes),
    check=_wrong_nodes,
)

_OVERLAP = schema(OverlapPartition, {"radii": _CENTERS["radii"], "cells": _VORONOI})

_CHUNKS = schema(
    ChunkPartition,
    {**_CENTERS, "last_hashes": array(np.uint64, "n_cells"), "seed": integer(most=np.inf)},
    check=lambda values, _: (
        None if (values["last_hashes"][1:] > values["last_hashes"][:-1]).all() else "its hashes are not ascending"
    ),
)

_WHOLE = schema(
    WholePartition,
    _CENTERS,
    check=lambda values, _: None if len(values["radii"]) == 1 else f"it is one of {len(values['radii'])} cells",
)

PARTITION: Schema[Partition] = tagged(
    "kind",
    {
        "voronoi": (VoronoiPartition, _VORONOI),
        "overlap": (OverlapPartition, _OVERLAP),
        "chunks": (ChunkPartition, _CHUNKS),
        "none": (WholePartition, _WHOLE),
    },
    "partition",
)

# ------------------------------------------------------------------------------------- learning task

_LOSS = tagged(
    "name",
    {
        **{kind().name: (kind, schema(kind, {})) for kind in (Hinge, Squared, SquaredMargin, Tube)},
        "pinball": (Pinball, schema(Pinball, {"tau": real(LEVEL)})),
        "expectile": (Expectile, schema(Expectile, {"tau": real(LEVEL)})),
    },
    "loss",
)


def _wrong_machine(values: Values, _: Sizes) -> str | None:
    machine, count = values["machine"], len(values["factors"])
    return f"it decides by function {machine} of {count}" if (machine or 0) >= count else None


_BINARY = schema(
    Binary,
    {
        "loss": _LOSS,
        "positive_weights": items(real(POSITIVE), least=1),
        "machine": maybe(integer()),
        "threshold": real(FINITE),
    },
    attributes={"positive_weights": "factors"},
    check=_wrong_machine,
)
_CLASSES: dict[str, Kind | Schema[Any]] = {"loss": _LOSS, "n_classes": integer(least=2)}
# Files from before there was a mixture have scores that are means.
_PAIRS = schema(OneVsOne, {**_CLASSES, "mean_share": added(real(FRACTION), before=1.0)})
_LOSSES = {"losses": several(_LOSS, least=1)}
_TARGETS = {"n_targets": integer(least=1)}

_TASK: Schema[Reduction] = tagged(
    "task",
    {
        "two classes": (Binary, _BINARY),
        "pairs of classes": (OneVsOne, _PAIRS),
        "each class against the rest": (OneVsRest, schema(OneVsRest, _CLASSES)),
        "tube": (TubeRegression, schema(TubeRegression, {**_TARGETS, "epsilon": real(POSITIVE)})),
        "levels": (Levels, schema(Levels, _LOSSES)),
        "probabilities": (Probabilities, schema(Probabilities, {"rates": items(real(FRACTION), least=2)})),
        "numbers": (Regression, schema(Regression, {**_TARGETS, **_LOSSES})),
    },
    "learning task",
)


def reduction_values(reduction: Reduction) -> Values:
    """Return a learning task as plain values; refuse one that is not what files can hold."""
    try:
        values = _TASK.write(reduction)
        # A field of ours that was changed, and is not in the file, shows when it is read again.
        if _TASK.make(Fields(values, "the learning task")) == reduction:
            return values
    except (InvalidFile, InvalidParameter):
        pass
    raise InvalidParameter(f"{reduction!r} is a learning task of your own: files can hold those of localsvm only.")


TASK = Schema(reduction_values, _TASK.make)

# --------------------------------------------------------------------------- calibration, table of cells

CALIBRATION = schema(
    Calibration,
    {
        "increments": array(np.float64, "n_curves", "n_classes", len(KNOTS) - 1, within=NOT_NEGATIVE),
        "present": array(np.bool_, "n_curves", "n_classes"),
        "absent": array(np.float64, "n_curves", "n_classes", within=FRACTION),
    },
)


def _wrong_table(values: Values, _: Sizes) -> str | None:
    if len(values["size"]) == 0:
        return "it has no cells"
    if sum(values["n_problems"].tolist()) != len(values["width"]):
        return f"it has {len(values['width'])} widths of other problems"
    return None


TABLE = schema(
    CellTable,
    {
        "size": array(np.int64, "n_cells", within=NOT_NEGATIVE),
        "radius": array(np.float64, "n_cells", within=NOT_NEGATIVE),
        "total_weight": array(np.float64, "n_cells", within=NOT_NEGATIVE),
        "risk": array(np.float64, "n_cells", within=RISK),
        "risk_error": array(np.float64, "n_cells", within=RISK),
        "support_vectors": array(np.int64, "n_cells", within=NOT_NEGATIVE),
        "n_problems": array(np.int64, "n_cells", within=NOT_NEGATIVE),
        "width": array(np.float64, "n_problems", within=POSITIVE),
        "lam": array(np.float64, "n_problems", within=POSITIVE),
    },
    check=_wrong_table,
)
