"""Fitted models for other runtimes: ONNX, in primitive operators.

Enters: a `FittedModel`. Leaves: an `onnx.ModelProto`, which needs neither localsvm nor Python to predict.
"""

from localsvm.export.model import FittedModel, to_onnx

__all__ = ["FittedModel", "to_onnx"]
