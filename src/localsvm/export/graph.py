"""A graph of ONNX operators, written one operator at a time.

Enters: operators with the names of values, or arrays, which become constants. Leaves: names of values, and the nodes
and constants of a model. Bodies of loops see the values around them; all constants are those of the whole model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from localsvm.errors import InvalidParameter

FLOAT, DOUBLE, INT = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64

_MOST_BYTES = (1 << 31) - (1 << 20)  # a protocol buffer has at most 2 GiB

Value = str | NDArray[Any]
"""The name of a value, or a constant."""


def integers(*values: int) -> NDArray[np.int64]:
    """Return a vector of integers, as axes and shapes are given."""
    return np.array(values, dtype=np.int64)


@dataclass
class _Shared:
    """What a graph and the bodies of its loops have in common."""

    constants: list[TensorProto] = field(default_factory=list)
    known: dict[tuple[str, tuple[int, ...], bytes], str] = field(default_factory=dict)
    n_bytes: int = 0
    number: count[int] = field(default_factory=count)


class Graph:
    """Operators in the order in which they are computed."""

    def __init__(self, shared: _Shared | None = None) -> None:
        self.nodes: list[NodeProto] = []
        self._shared = shared or _Shared()

    @property
    def constants(self) -> list[TensorProto]:
        """The constants of the graph and of all bodies in it."""
        return self._shared.constants

    def op(self, kind: str, *inputs: Value, name: str | None = None, domain: str = "", **attributes: Any) -> str:
        """Add an operator of one result, which may be named, and return the name."""
        return self.ops(kind, (name,), *inputs, domain=domain, **attributes)[0]

    def ops(
        self, kind: str, results: Sequence[str | None], *inputs: Value, domain: str = "", **attributes: Any
    ) -> list[str]:
        """Add an operator of several results and return their names."""
        names = [self._new_name(kind) if name is None else name for name in results]
        given = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        self.nodes.append(helper.make_node(kind, given, names, domain=domain, **attributes))
        return names

    def constant(self, array: NDArray[Any]) -> str:
        """Return the name of a constant; equal small ones are one."""
        text = array.dtype.kind in "OU"
        key = (str(array.dtype), array.shape, b"" if text or array.nbytes > 256 else array.tobytes())
        if key[2] and key in self._shared.known:
            return self._shared.known[key]
        name = self._new_name("constant")
        self.check_size(array.nbytes)
        self._shared.n_bytes += array.nbytes
        if text:
            tensor = numpy_helper.from_array(array.astype(object), name)
        else:
            tensor = numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
        self._shared.constants.append(tensor)
        self._shared.known[key] = name
        return name

    def check_size(self, n_bytes: int) -> None:
        """Refuse more constants than a file holds."""
        if self._shared.n_bytes + n_bytes > _MOST_BYTES:
            raise InvalidParameter(
                "the model is too large for an ONNX file, which holds at most 2 GB: it has more than "
                f"{(self._shared.n_bytes + n_bytes) / 1e9:.2g} GB. Keep it in localsvm's own format, or train one with "
                "members=1, or with fewer support vectors: objective='accuracy'."
            )

    def cast(self, value: Value, to: int) -> str:
        """Return a value as another type."""
        return self.op("Cast", value, to=to)

    def slice_rows(self, table: Value, begin: Value, end: Value) -> str:
        """Return rows of a table; begin and end have one item."""
        return self.op("Slice", table, begin, end, integers(0))

    def collect(self, trips: Value, none: Value, kind: int, body: Callable[[Graph, str], str]) -> str:
        """Run a body for 0, 1, ... and return its results below one another; `none` is one of no rows."""
        values = self._loop(
            trips,
            self.op("SequenceConstruct", none),
            lambda name: helper.make_tensor_sequence_value_info(name, kind, None),
            lambda inner, number, before: inner.op("SequenceInsert", before, body(inner, number)),
        )
        return self.op("ConcatFromSequence", values, axis=0)

    def repeat(self, trips: Value, first: Value, kind: int, body: Callable[[Graph, str, str], str]) -> str:
        """Run a body for 0, 1, ..., which turns a value, at first `first`, into the next one; return the last."""
        return self._loop(trips, first, lambda name: helper.make_tensor_value_info(name, kind, None), body)

    def _loop(
        self,
        trips: Value,
        first: Value,
        describe: Callable[[str], ValueInfoProto],
        body: Callable[[Graph, str, str], str],
    ) -> str:
        inner = Graph(self._shared)
        number, condition, before = (self._new_name(kind) for kind in ("number", "condition", "before"))
        after, again = body(inner, number, before), inner.op("Identity", condition)
        graph = helper.make_graph(
            inner.nodes,
            self._new_name("body"),
            [
                helper.make_tensor_value_info(number, INT, []),
                helper.make_tensor_value_info(condition, TensorProto.BOOL, []),
                describe(before),
            ],
            [helper.make_tensor_value_info(again, TensorProto.BOOL, []), describe(after)],
        )
        return self.op("Loop", trips, "", first, body=graph)

    def _new_name(self, kind: str) -> str:
        # No feature has such a name.
        return f"localsvm/{kind}/{next(self._shared.number)}"
