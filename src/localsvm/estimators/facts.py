"""What a fit has found, at a glance: the attributes that users look for, and the page that a notebook shows.

Enters: a fitted estimator. Leaves: its out-of-fold score, kernel, scaling, importances, and its cells as a data frame.
"""

from __future__ import annotations

from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from localsvm.data.types import FloatArray
from localsvm.errors import MissingPackage

if TYPE_CHECKING:
    from localsvm.decision.cross_validated import CvMeasures
    from localsvm.model.ensemble import Member

_MOST_FEATURES = 5
CV_NAMES = {"accuracy": "accuracy", "log_loss": "log-loss", "r2": "R2", "rmse": "RMSE", "d2": "D2"}
"""Names of measures to display."""


class FittedFacts(BaseEstimator):  # type: ignore[misc]
    """Attributes of a fitted estimator that follow from its models."""

    members_: tuple[Member, ...]
    feature_relevance_: FloatArray
    n_features_in_: int
    n_cells_: int
    _cv: CvMeasures

    @property
    def cv_score_(self) -> float:
        """Score of out-of-fold predictions of the training samples, in the units of `score`."""
        check_is_fitted(self)
        found = getattr(self, "_cv", {})
        if not found:
            raise AttributeError(
                f"this {type(self).__name__} has no cv_score_: it was fitted on Spark, or saved by an earlier version."
            )
        return float(next(iter(found.values())))

    @property
    def kernel_(self) -> str | tuple[str, ...]:
        """The kernel, "gauss", "laplace" or "manhattan"; of members that differ, one each."""
        check_is_fitted(self)
        return _one_or_all([member.model.cells[0].functions.kernel for member in self.members_])

    @property
    def scaling_(self) -> str | tuple[str, ...]:
        """The scaling, "minmax", "standard", "quantile" or "none"; of members that differ, one each."""
        check_is_fitted(self)
        return _one_or_all([member.model.scaling.method or "unknown" for member in self.members_])

    @property
    def feature_importances_(self) -> FloatArray:
        """`feature_relevance_`, so that the sum is one."""
        check_is_fitted(self)
        return np.asarray(self.feature_relevance_ / self.feature_relevance_.sum())

    def cells_frame(self) -> Any:
        """Return the cells of all members as a data frame of pandas: their rows, and what they chose from the grid.

        Returns
        -------
        pandas.DataFrame
            Columns member, cell, size, radius, width, lam, cv_risk, support_vectors, and edge: the end of the grid
            that was chosen, if that was worse inside.

        Examples
        --------
        >>> from localsvm import LocalSVC
        >>> from localsvm.data import toy_mixture
        >>> clf = LocalSVC(cell_size=100, grid=3).fit(*toy_mixture(300, 2, random_state=0))
        >>> bool(clf.cells_frame()["size"].sum() >= 300)
        True
        """
        check_is_fitted(self)
        try:
            pandas = import_module("pandas")
        except ModuleNotFoundError:
            raise MissingPackage("cells_frame() needs the package 'pandas': pip install pandas") from None
        from localsvm.model.table import CellTable

        records = []
        for number, member in enumerate(self.members_):
            edges = [cell.edge for cell in member.model.cells]
            rows = zip(CellTable.of(member.model.cells).records(), edges, strict=True)
            records += [{"member": number, "cell": j, **row, "edge": edge} for j, (row, edge) in enumerate(rows)]
        return pandas.DataFrame.from_records(records)

    def facts(self) -> dict[str, str]:
        """Return what was found in words, for summaries.

        Returns
        -------
        dict of str
            Cross-validated measures, kernel, scaling, cells, support vectors and the most relevant features.

        Examples
        --------
        >>> from localsvm import LocalSVR
        >>> reg = LocalSVR(grid=3).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0])
        >>> reg.facts()["kernel"]
        'gauss'
        """
        check_is_fitted(self)
        measures = getattr(self, "_cv", {})
        n_members = len(self.members_)
        cells = f"{self.n_cells_:,}" + (f" in the first of {n_members} models" if n_members > 1 else "")
        return {
            **{f"{CV_NAMES[name]}, cross-validated": f"{value:.4g}" for name, value in measures.items()},
            "kernel": _listed(self.kernel_),
            "scaling": _listed(self.scaling_),
            "cells": cells,
            "most relevant features": ", ".join(self.most_relevant(_MOST_FEATURES)),
        }

    def most_relevant(self, count: int) -> list[str]:
        """Return the names of the features with the largest relevance, in descending order.

        Parameters
        ----------
        count : int
            How many.

        Returns
        -------
        list of str
            Names; "x0", "x1", ... if the training data had none.

        Examples
        --------
        >>> from localsvm import LocalSVR
        >>> LocalSVR(grid=3).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0]).most_relevant(1)
        ['x0']
        """
        names = getattr(self, "feature_names_in_", None)
        order = np.argsort(-self.feature_relevance_, kind="stable")[:count].tolist()
        return [f"x{j}" if names is None else str(names[j]) for j in order]

    # Versions of scikit-learn call one or the other.
    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._facts_html()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._facts_html()
        return bundle

    def _facts_html(self) -> str:
        if not hasattr(self, "members_"):
            return ""
        rows = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in self.facts().items()
        )
        return f'<table class="localsvm-facts"><caption>{type(self).__name__}, fitted</caption>{rows}</table>'


def _one_or_all(values: list[str]) -> str | tuple[str, ...]:
    return values[0] if len(set(values)) == 1 else tuple(values)


def _listed(values: str | tuple[str, ...]) -> str:
    return values if isinstance(values, str) else ", ".join(values)
