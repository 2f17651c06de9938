"""What all estimators share: the common parameters, their validation, and the fitted attributes."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from localsvm.cell.grid import Grid
from localsvm.cell.train import CellSettings
from localsvm.data.scaling import METHODS
from localsvm.errors import GridEdgeWarning, InvalidParameter, PrecisionWarning
from localsvm.estimators.validation import check_choice, check_finite, check_integer, seed_of
from localsvm.fit import FitSettings, Progress, available_threads, fit_model
from localsvm.losses import Loss
from localsvm.model.local_model import LocalModel
from localsvm.model.predict import decision_values

CellRecord = dict[str, Any]


class LocalEstimator(BaseEstimator):  # type: ignore[misc]
    """Parameters and behaviour common to all local SVMs."""

    model_: LocalModel
    timings_: dict[str, float]
    cells_: list[CellRecord]
    n_cells_: int
    n_features_in_: int

    def _settings(self, loss: Loss) -> FitSettings:
        """Check all parameters and return them as settings."""
        check_choice("partition", self.partition, ("none",))
        check_choice("kernel", self.kernel, ("auto", "gauss", "laplace"))
        check_choice("scaling", self.scaling, ("auto", *METHODS, None))
        check_choice("search", self.search, ("full", "racing"))
        check_choice("refit", self.refit, ("combine", "retrain"))
        return FitSettings(
            cell=CellSettings(
                loss=loss,
                kernel="gauss" if self.kernel == "auto" else self.kernel,
                grid=Grid.of(self.grid),
                n_folds=check_integer("n_folds", self.n_folds, 2),
                refit=self.refit,
                search=self.search,
            ),
            scaling="minmax" if self.scaling == "auto" else self.scaling,
            seed=seed_of(self.random_state),
            n_threads=self._n_threads(),
        )

    def _n_threads(self) -> int:
        if self.n_jobs is None or self.n_jobs == -1:
            return available_threads()
        if isinstance(self.n_jobs, (int, np.integer)) and self.n_jobs < -1:
            return max(1, available_threads() + 1 + int(self.n_jobs))
        try:
            return check_integer("n_jobs", self.n_jobs, 1)
        except InvalidParameter:
            raise InvalidParameter(
                f"n_jobs={self.n_jobs!r}: give the number of threads, or None for all cores."
            ) from None

    def _check_features(self, X: Any, *, reset: bool) -> NDArray[np.floating]:
        """Return X as a float array of the right shape, without NaN or infinity."""
        X = validate_data(
            self, X, reset=reset, dtype=(np.float64, np.float32), ensure_all_finite=False
        )
        check_finite(X, getattr(self, "feature_names_in_", None))
        return np.asarray(X)

    def _fit_model(
        self,
        X: NDArray[np.floating],
        target: NDArray[np.float64],
        weight: NDArray[np.float64],
        settings: FitSettings,
    ) -> None:
        result = fit_model(X, target, weight, settings, self._progress_printer())
        self.model_ = result.model
        self.timings_ = result.seconds
        self.cells_ = [_record(cell) for cell in result.model.cells]
        self.n_cells_ = len(self.cells_)
        self._warn(settings)

    def _progress_printer(self) -> Callable[[Progress], None] | None:
        if not self.verbose:
            return None

        def show(progress: Progress) -> None:
            rate = progress.samples_done / max(progress.seconds, 1e-9)
            left = (progress.n_samples - progress.samples_done) / max(rate, 1e-9)
            end = "\n" if progress.cells_done == progress.n_cells else ""
            print(
                f"\rlocalsvm: {progress.cells_done}/{progress.n_cells} cells, "
                f"{rate:,.0f} rows/s, {left:.0f} s left",
                end=end,
                file=sys.stderr,
                flush=True,
            )

        return show

    def _warn(self, settings: FitSettings) -> None:
        cells = self.model_.cells
        for edge in sorted({cell.edge for cell in cells if cell.edge is not None}):
            count = sum(cell.edge == edge for cell in cells)
            advice = "Grid(width=(0.02, 10))" if "width" in edge else "Grid(lam=(1e-4, 0.1))"
            warnings.warn(
                f"{count} of {len(cells)} cells chose the {edge}; widen the grid, for example {advice}.",
                GridEdgeWarning,
                stacklevel=3,
            )
        unconverged = sum(cell.certificates.n_unconverged for cell in cells)
        if unconverged:
            gap = max(float(np.nanmax(c.certificates.gap)) for c in cells if c.certificates.gap.size)
            warnings.warn(
                f"{unconverged} solves ended above the tolerance (largest gap {gap:.2g}); this happens at very "
                "small lam. Use a larger smallest lam, for example Grid(lam=(1e-2, 0.1)).",
                PrecisionWarning,
                stacklevel=3,
            )

    def _decision_values(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        return decision_values(self.model_, self._check_features(X, reset=False), self._n_threads())


def _record(cell: Any) -> CellRecord:
    return {
        "size": cell.n_samples,
        "radius": cell.radius,
        "width": cell.width,
        "lam": cell.lam,
        "cv_risk": cell.risk,
        "support_vectors": len(cell.coefficients),
    }
