"""Fitted estimators for other runtimes."""

from __future__ import annotations

from abc import abstractmethod
from importlib.util import find_spec
from typing import TYPE_CHECKING

from sklearn.utils.validation import check_is_fitted

from localsvm.errors import MissingPackage
from localsvm.estimators.facts import FittedFacts

if TYPE_CHECKING:
    from onnx import ModelProto

    from localsvm.data.encoding import Encoding
    from localsvm.model.ensemble import Ensemble


class Exportable(FittedFacts):
    """What estimators have to leave localsvm with."""

    columns_: Encoding | None

    @property
    @abstractmethod
    def _ensemble(self) -> Ensemble:
        """The models, and duplicates of training rows."""

    def to_onnx(self, *, dtype: str = "float32", duplicates: str = "error") -> ModelProto:
        """Return the fitted estimator as an ONNX model, of primitive operators.

        It predicts what this estimator does, without localsvm and Python. A model of numbers has one input ``X``
        (n, n_features). If features are categories or dates, there is an input (n, 1) for each feature, with its name:
        text for categories, where no text is a missing level; numbers; and for dates double-precision days since
        1970. A regressor has the output ``prediction``; a classifier has ``label``, ``probabilities`` and ``scores``,
        the decision values. A row with infinite values, or with missing ones that were not imputed, has NaN.

        Parameters
        ----------
        dtype : {"float32", "float64"}, default="float32"
            Precision of numbers in inputs and outputs.
        duplicates : {"error", "ignore"}, default="error"
            If the model looks up duplicates of training rows, which ONNX cannot: refuse, or export without that.

        Returns
        -------
        onnx.ModelProto
            The model; its method `SerializeToString` returns the bytes of a file.

        Raises
        ------
        InvalidParameter
            If the model cannot be exported: it has a partition of your own, labels that ONNX does not have, duplicates,
            or more than 2 GB.
        MissingPackage
            Without the package onnx: ``pip install 'localsvm[onnx]'``.

        Examples
        --------
        >>> import numpy as np
        >>> from localsvm import LocalSVR
        >>> X = np.linspace(0, 1, 50)[:, None]
        >>> model = LocalSVR().fit(X, X[:, 0] ** 2).to_onnx()
        >>> [value.name for value in (*model.graph.input, *model.graph.output)]
        ['X', 'prediction']
        """
        check_is_fitted(self)
        if find_spec("onnx") is None:
            raise MissingPackage("Exports to ONNX need the package 'onnx': pip install 'localsvm[onnx]'")
        from localsvm.export import FittedModel, to_onnx

        given = getattr(self, "feature_names_in_", range(self.n_features_in_))
        fitted = FittedModel(
            name=type(self).__name__,
            ensemble=self._ensemble,
            columns=self.columns_,
            features=tuple(name if isinstance(name, str) and name else f"x{j}" for j, name in enumerate(given)),
            classes=getattr(self, "classes_", None),
            shown=getattr(self, "_shown", None),
        )
        return to_onnx(fitted, dtype, duplicates)
