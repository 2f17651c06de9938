"""A fitted estimator as an ONNX model.

Enters: a `FittedModel`. Leaves: an `onnx.ModelProto` of primitive operators:

    inputs -> columns -> [ for each member: scale -> route -> functions of the cell -> scores ] -> mean -> outputs
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, ValueInfoProto, checker, helper

from localsvm.data.encoding import Encoding
from localsvm.data.types import IndexArray
from localsvm.errors import InvalidParameter
from localsvm.export.columns import Features, encoded, unusable
from localsvm.export.distances import lifted_points
from localsvm.export.functions import evaluate_cells
from localsvm.export.graph import DOUBLE, FLOAT, INT, Graph, integers
from localsvm.export.groups import Grouped, group_rows, number_rows
from localsvm.export.routing import check_partition, find_cells
from localsvm.export.scaling import scaled
from localsvm.export.scores import calibrated, learned_probabilities, scores_of
from localsvm.model.ensemble import Ensemble, Member
from localsvm.model.local_model import LocalModel
from localsvm.storage.version import __version__
from localsvm.tasks import Probabilities

_OPSET, _ML_OPSET, _IR_VERSION = 17, 3, 8
_PRECISIONS = {"float32": FLOAT, "float64": DOUBLE}


@dataclass(frozen=True)
class FittedModel:
    """What prediction needs of a fitted estimator."""

    name: str
    ensemble: Ensemble
    columns: Encoding | None
    features: tuple[str, ...]
    """Names of the features."""
    classes: NDArray[Any] | None = None
    """Of a classifier."""
    shown: IndexArray | None = None
    """Of a regressor: the scores that are predictions; see `LocalRegressor`."""


def to_onnx(fitted: FittedModel, dtype: str = "float32", duplicates: str = "error") -> ModelProto:
    """Return a fitted model as an ONNX model."""
    kind = _check(fitted, dtype, duplicates)
    g = Graph()
    columns, members = fitted.columns, fitted.ensemble.members
    if columns is None or columns.has_only_numbers:
        features = Features.of_matrix(g, len(fitted.features), kind)
    else:
        features = Features.of_columns(g, fitted.features, columns, kind)
    cells, scores = "", ""
    for number, member in enumerate(members):
        given = features.numbers
        if columns is not None and member.view is not None:
            given = encoded(g, features, columns, member.view, kind)
        cells, own = _member_scores(g, given, member, number)
        scores = own if not scores else g.op("Add", scores, own)
    scores = g.op("Add", scores, unusable(g, features, columns))
    outputs = _Outputs(g, kind, taken={given.name for given in features.inputs})
    if fitted.classes is None:
        _add_prediction(outputs, scores, fitted)
    else:
        _add_classes(outputs, scores, cells, fitted.classes, members[0].model)
    return _model(g, features.inputs, outputs.found, fitted)


def _check(fitted: FittedModel, dtype: str, duplicates: str) -> int:
    if dtype not in _PRECISIONS:
        raise InvalidParameter(f"dtype={dtype!r} is not available; use one of {', '.join(map(repr, _PRECISIONS))}.")
    if duplicates not in ("error", "ignore"):
        raise InvalidParameter(f"duplicates={duplicates!r} is not available; use 'error' or 'ignore'.")
    if fitted.ensemble.duplicates is not None and duplicates == "error":
        raise InvalidParameter(
            "the model looks up duplicates of training rows by hashes, which ONNX does not have. Without that, rows "
            "that equal a training row are predicted like their neighbors: allow it with duplicates='ignore'."
        )
    for member in fitted.ensemble.members:
        check_partition(member.model.partition)
    return _PRECISIONS[dtype]


def _member_scores(g: Graph, columns: str, member: Member, number: int) -> tuple[str, str]:
    """Return the cells of rows and the weighted scores of a member."""
    model = member.model
    points = scaled(g, columns, model.scaling)
    lifted = lifted_points(g, points)
    if model.averages:
        cells, scores = _mean_scores(g, points, lifted, model)
    else:
        cells = find_cells(g, points, lifted, model.partition, f"localsvm/cell/{number}")
        grouped = group_rows(g, None, cells, len(model.cells))
        by_cell = evaluate_cells(g, points, lifted, grouped, model)
        place = g.op("ScatterElements", cells, grouped.order, number_rows(g, points)[1], axis=0)
        scores = scores_of(g, g.op("Gather", by_cell, place), model.reduction)
    return cells, scores if member.weight == 1 else g.op("Mul", scores, np.array(float(member.weight)))


def _mean_scores(g: Graph, points: str, lifted: str, model: LocalModel) -> tuple[str, str]:
    """Return cell 0 and the mean of the scores of all cells, for every row."""
    n_cells = integers(len(model.cells))
    count, rows = number_rows(g, points)
    size = g.op("Reshape", count, integers(1))
    grouped = Grouped(g.op("Tile", rows, n_cells), g.op("Expand", size, n_cells))
    scores = scores_of(g, evaluate_cells(g, points, lifted, grouped, model), model.reduction)
    shape = g.op("Concat", n_cells, size, integers(model.reduction.n_scores), axis=0)
    by_cell = g.op("Reshape", scores, shape)
    return g.op("Expand", integers(0), size), g.op("ReduceMean", by_cell, axes=[0], keepdims=0)


class _Outputs:
    """The outputs of a graph, whose names are not those of features."""

    def __init__(self, g: Graph, kind: int, taken: set[str]) -> None:
        self.g, self.kind, self.taken = g, kind, taken
        self.found: list[ValueInfoProto] = []

    def add(self, name: str, value: str, shape: Sequence[int], kind: int | None = None) -> None:
        while name in self.taken:
            name += "_"
        kind = self.kind if kind is None else kind
        self.g.op("Identity", value if kind == TensorProto.STRING else self.g.cast(value, kind), name=name)
        self.found.append(helper.make_tensor_value_info(name, kind, ["n", *shape]))


def _add_prediction(outputs: _Outputs, scores: str, fitted: FittedModel) -> None:
    assert fitted.shown is not None, "a regressor shows scores"
    shown = fitted.shown.astype(np.int64)
    outputs.add("prediction", outputs.g.op("Gather", scores, shown, axis=1), shown.shape)


def _add_classes(outputs: _Outputs, scores: str, cells: str, classes: NDArray[Any], model: LocalModel) -> None:
    g, reduction = outputs.g, model.reduction
    is_binary = len(classes) == 2
    shown = g.op("Gather", scores, np.array(0), axis=1) if is_binary else scores
    if isinstance(reduction, Probabilities):
        probabilities = learned_probabilities(g, scores, reduction)
    else:
        assert model.calibration is not None, "other classifiers are calibrated"
        probabilities = calibrated(g, scores, cells, model.calibration, is_binary)
    if is_binary:
        best = g.cast(g.op("GreaterOrEqual", shown, np.array(0.0)), INT)
    else:
        best = g.op("ArgMax", scores, axis=1, keepdims=0)
    labels, kind = _labels(classes)
    outputs.add("label", g.op("Gather", labels, best), (), kind)
    outputs.add("probabilities", probabilities, (len(classes),))
    outputs.add("scores", shown, () if is_binary else (len(classes),))


def _labels(classes: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """Return labels as an array that ONNX has, and its type."""
    labels = np.array(classes.tolist())  # objects may be text or integers
    if labels.dtype.kind == "b":
        return labels, TensorProto.BOOL
    if labels.dtype.kind in "iu" and int(labels.max()) <= np.iinfo(np.int64).max:
        return labels.astype(np.int64), INT
    if labels.dtype.kind == "f":
        return labels.astype(np.float64), DOUBLE
    if labels.dtype.kind == "U":
        return labels.astype(object), TensorProto.STRING
    raise InvalidParameter(
        f"the labels are neither text nor numbers (the first is {classes.tolist()[0]!r}), and ONNX has no others. "
        "Train with labels that are text or integers."
    )


def _model(
    g: Graph,
    inputs: Sequence[ValueInfoProto],
    outputs: Sequence[ValueInfoProto],
    fitted: FittedModel,
) -> ModelProto:
    graph = helper.make_graph(g.nodes, fitted.name, list(inputs), list(outputs), g.constants)
    model = helper.make_model(
        graph,
        producer_name="localsvm",
        producer_version=__version__,
        ir_version=_IR_VERSION,
        opset_imports=[helper.make_opsetid("", _OPSET), helper.make_opsetid("ai.onnx.ml", _ML_OPSET)],
    )
    helper.set_model_props(model, {"features": "\n".join(fitted.features)})
    checker.check_model(model)
    return model
