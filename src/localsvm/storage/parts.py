"""What all cells of a model share, as plain values for records: scaling, partition, learning task, calibration.

Enters: these objects. Leaves: dicts that `pack` takes, in which a kind has a name, never a class; and back, with
every shape checked. What has no name, because a user made it, is refused when it is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from localsvm.data.scaling import AffineScaling, QuantileScaling, Scaling
from localsvm.decision.calibration import Calibration
from localsvm.decision.curves import KNOTS
from localsvm.errors import InvalidFile, InvalidParameter
from localsvm.partition.base import Partition
from localsvm.partition.chunks import ChunkPartition
from localsvm.partition.coarse import CoarseCells
from localsvm.partition.overlap import OverlapPartition
from localsvm.partition.voronoi import Node, VoronoiPartition
from localsvm.partition.whole import WholePartition
from localsvm.storage.fields import Fields
from localsvm.tasks import Binary, Levels, OneVsOne, OneVsRest, Reduction, Regression, TubeRegression
from localsvm.tasks.losses import Expectile, Hinge, Loss, Pinball, Squared, SquaredMargin, Tube

Values = dict[str, Any]

_PLAIN_LOSSES: dict[str, type[Hinge] | type[Squared] | type[Tube]] = {
    kind().name: kind for kind in (Hinge, Squared, SquaredMargin, Tube)
}
_LEVEL_LOSSES: dict[str, type[Pinball] | type[Expectile]] = {"pinball": Pinball, "expectile": Expectile}


# ------------------------------------------------------------------------------------------- scaling


def scaling_values(scaling: Scaling) -> Values:
    """Return a scaling as plain values."""
    if isinstance(scaling, AffineScaling):
        return {"kind": "affine", "shift": scaling.shift, "factor": scaling.factor}
    return {
        "kind": "quantile",
        "ends": np.cumsum([len(knots) for knots in scaling.knots], dtype=np.int64),
        "knots": np.concatenate(scaling.knots),
        "ranks": np.concatenate(scaling.ranks),
    }


def read_scaling(fields: Fields, n_features: int) -> Scaling:
    """Return the scaling of plain values."""
    kind = fields.text("kind")
    if kind == "affine":
        return AffineScaling(
            fields.array("shift", np.float64, n_features), fields.array("factor", np.float64, n_features)
        )
    if kind != "quantile":
        raise fields.refuse(f"its kind is {kind!r}")
    knots = fields.array("knots", np.float64, None)
    ranks = fields.array("ranks", np.float64, len(knots))
    cuts = _cuts(fields, n_features, len(knots))
    return QuantileScaling(tuple(np.split(knots, cuts)), tuple(np.split(ranks, cuts)))


def _cuts(fields: Fields, count: int, total: int) -> list[int]:
    """Return where to split `total` entries into `count` parts, none of them empty."""
    ends = fields.array("ends", np.int64, count)
    if count == 0 or (np.diff(ends, prepend=0) < 1).any() or ends[-1] != total:
        raise fields.refuse(f"its parts do not end at {total}, or one is empty")
    return [int(end) for end in ends[:-1]]


# ----------------------------------------------------------------------------------------- partition


def partition_values(partition: Partition) -> Values:
    """Return a partition as plain values; refuse one that a user made."""
    if isinstance(partition, VoronoiPartition):
        return {"kind": "voronoi", **_voronoi_values(partition)}
    if isinstance(partition, OverlapPartition):
        return {"kind": "overlap", "radii": partition.radii, "cells": _voronoi_values(partition.cells)}
    if isinstance(partition, ChunkPartition):
        values = {"centers": partition.centers, "radii": partition.radii, "last_hashes": partition.last_hashes}
        return {"kind": "chunks", **values, "seed": int(partition.seed)}
    if isinstance(partition, WholePartition):
        return {"kind": "none", "centers": partition.centers, "radii": partition.radii}
    raise InvalidParameter(
        f"a {type(partition).__name__} is a partition of your own: a model file can hold those of localsvm.partition "
        "only. Pickle the estimator instead."
    )


def _voronoi_values(partition: VoronoiPartition) -> Values:
    return {"centers": partition.centers, "radii": partition.radii, **_node_values(partition.nodes)}


def _node_values(nodes: Sequence[Node]) -> Values:
    return {
        "ends": np.cumsum([len(node.children) for node in nodes], dtype=np.int64),
        "node_centers": np.concatenate([node.centers for node in nodes]),
        "node_children": np.concatenate([node.children for node in nodes]),
    }


def coarse_values(coarse: CoarseCells) -> Values | None:
    """Return coarse cells as plain values; one of all rows has none."""
    return _node_values(coarse.nodes) if coarse.nodes else None


def read_coarse(fields: Fields | None, n_features: int) -> CoarseCells:
    """Return the coarse cells of plain values."""
    if fields is None:
        return CoarseCells()
    return CoarseCells(_read_nodes(fields, fields.array("node_children", np.int64, None).size, n_features))


def read_partition(fields: Fields, n_cells: int, n_features: int) -> Partition:
    """Return the partition of plain values."""
    kind = fields.text("kind")
    if kind == "voronoi":
        return _read_voronoi(fields, n_cells, n_features)
    radii = fields.array("radii", np.float64, n_cells)
    if kind == "overlap":
        return OverlapPartition(_read_voronoi(fields.part("cells"), n_cells, n_features), radii)
    centers = fields.array("centers", np.float32, n_cells, n_features)
    if kind == "chunks":
        return ChunkPartition(centers, radii, fields.array("last_hashes", np.uint64, n_cells), fields.integer("seed"))
    if kind == "none" and n_cells == 1:
        return WholePartition(centers, radii)
    raise fields.refuse(f"its kind is {kind!r}, of {n_cells} cells")


def _read_voronoi(fields: Fields, n_cells: int, n_features: int) -> VoronoiPartition:
    nodes = _read_nodes(fields, n_cells, n_features)
    return VoronoiPartition(
        centers=fields.array("centers", np.float32, n_cells, n_features),
        radii=fields.array("radii", np.float64, n_cells),
        nodes=nodes,
    )


def _read_nodes(fields: Fields, n_leaves: int, n_features: int) -> tuple[Node, ...]:
    children = fields.array("node_children", np.int64, None)
    centers = fields.array("node_centers", np.float32, len(children), n_features)
    cuts = _cuts(fields, fields.array("ends", np.int64, None).size, len(children))
    nodes = tuple(map(Node, np.split(centers, cuts), np.split(children, cuts)))
    for number, node in enumerate(nodes):
        # Nodes come after their parents, so that every way down ends.
        inner = node.children[node.children >= 0]
        leads_down = len(inner) == 0 or (inner.min() > number and inner.max() < len(nodes))
        if not leads_down or node.children.min() < -n_leaves:
            raise fields.refuse(f"node {number} leads to nodes or cells that are not there")
    return nodes


# ------------------------------------------------------------------------------------- learning task


def reduction_values(reduction: Reduction) -> Values:
    """Return a learning task as plain values; refuse one with a loss that a user made."""
    values = _task_values(reduction)
    try:
        # What is derived from a class of ours, or changed in one, shows when it is read again.
        if read_reduction(Fields(values, "the learning task")) == reduction:
            return values
    except InvalidFile:
        pass
    raise InvalidParameter(f"{reduction!r} is a learning task of your own: files can hold those of localsvm only.")


def _task_values(reduction: Reduction) -> Values:
    if isinstance(reduction, Binary):
        return {
            "task": "two classes",
            "loss": _loss_values(reduction.loss),
            "positive_weights": tuple(float(factor) for factor in reduction.factors),
            "machine": reduction.machine,
            "threshold": float(reduction.threshold),
        }
    if isinstance(reduction, OneVsOne | OneVsRest):
        values = {"loss": _loss_values(reduction.loss), "n_classes": reduction.n_classes}
        if isinstance(reduction, OneVsRest):
            return {"task": "each class against the rest", **values}
        return {"task": "pairs of classes", **values, "mean_share": float(reduction.mean_share)}
    if isinstance(reduction, TubeRegression):
        return {"task": "tube", "n_targets": reduction.n_targets, "epsilon": float(reduction.epsilon)}
    if isinstance(reduction, Levels):
        return {"task": "levels", "losses": [_loss_values(loss) for loss in reduction.losses]}
    if isinstance(reduction, Regression):
        losses = [_loss_values(loss) for loss in reduction.losses]
        return {"task": "numbers", "n_targets": reduction.n_targets, "losses": losses}
    return {"task": type(reduction).__name__}


def read_reduction(fields: Fields) -> Reduction:
    """Return the learning task of plain values."""
    task = fields.text("task")
    if task == "two classes":
        return _read_binary(fields)
    if task in ("pairs of classes", "each class against the rest"):
        n_classes, loss = fields.integer("n_classes", least=2), _read_loss(fields.part("loss"))
        if task == "each class against the rest":
            return OneVsRest(n_classes, loss)
        # Files of before the share was there have scores that are means.
        return OneVsOne(n_classes, loss, fields.real("mean_share") if fields.has("mean_share") else 1.0)
    if task == "tube":
        return TubeRegression(n_targets=fields.integer("n_targets", least=1), epsilon=fields.positive("epsilon"))
    if task not in ("levels", "numbers"):
        raise fields.refuse(f"its task is {task!r}")
    losses = tuple(_read_loss(part) for part in fields.parts("losses"))
    if not losses:
        raise fields.refuse("it has no loss")
    return Levels(losses) if task == "levels" else Regression(losses, fields.integer("n_targets", least=1))


def _read_binary(fields: Fields) -> Binary:
    factors = fields.reals("positive_weights")
    machine = None if fields.is_none("machine") else fields.integer("machine")
    if not factors or (machine or 0) >= len(factors):
        raise fields.refuse(f"machine {machine} of {len(factors)} decides")
    return Binary(_read_loss(fields.part("loss")), factors, machine, fields.real("threshold"))


def _loss_values(loss: Loss) -> Values:
    return {"name": loss.name, "tau": float(loss.tau)} if hasattr(loss, "tau") else {"name": loss.name}


def _read_loss(fields: Fields) -> Any:
    name = fields.text("name")
    if name in _PLAIN_LOSSES:
        return _PLAIN_LOSSES[name]()
    if name in _LEVEL_LOSSES:
        return _LEVEL_LOSSES[name](fields.positive("tau"))
    raise fields.refuse(f"its name is {name!r}")


# --------------------------------------------------------------------------------------- calibration


def calibration_values(calibration: Calibration | None) -> Values | None:
    """Return a calibration as plain values; numbers have none."""
    return None if calibration is None else dict(vars(calibration))


def read_calibration(fields: Fields | None, n_cells: int, n_classes: int) -> Calibration | None:
    """Return the calibration of plain values."""
    if fields is None:
        return None
    return Calibration(
        increments=fields.array("increments", np.float64, n_cells, n_classes, len(KNOTS) - 1),
        present=fields.array("present", np.bool_, n_cells, n_classes),
        absent=fields.array("absent", np.float64, n_cells, n_classes),
    )
