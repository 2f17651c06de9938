"""`LocalSVMRegressor`: means, quantiles and expectiles by local kernel machines on Spark."""

from __future__ import annotations

from typing import Any

from pyspark.ml.base import Estimator
from pyspark.sql import DataFrame

from localsvm.estimators.parameters import check_choice, check_fraction
from localsvm.estimators.regressors import LocalExpectileRegressor, LocalQuantileRegressor, LocalRegressor, LocalSVR
from localsvm.spark.fit import fit_distributed
from localsvm.spark.model import LocalSVMModel
from localsvm.spark.params import RegressorParams
from localsvm.spark.persistence import Storable


class LocalSVMRegressionModel(LocalSVMModel, RegressorParams):
    """A fitted `LocalSVMRegressor`."""


class LocalSVMRegressor(Estimator, RegressorParams, Storable):  # type: ignore[misc]
    """Regression on Spark that tunes itself.

    Rows are cut into coarse cells, each of which comes to one task by one shuffle. There it is cut into cells, and
    these are trained by the code of `localsvm.LocalSVR`. The model is the one that one machine fits to the same rows,
    to the bit.

    Parameters
    ----------
    featuresCol : str or list of str, default="features"
        A column of vectors or of arrays of numbers; or several columns of numbers.
    labelCol : str, default="label"
        Targets, numbers.
    weightCol : str, optional
        Weights: 0 is as if absent, an integer as if repeated.
    predictionCol : str, default="prediction"
        Column that `transform` adds.
    loss : {"squared", "epsilon_insensitive", "quantile", "expectile"}, default="squared"
        The mean, robustly the middle, a quantile or an expectile: `localsvm.LocalSVR`, `LocalQuantileRegressor` and
        `LocalExpectileRegressor`.
    epsilon : float, default=0.1
        Half the width of the tube of "epsilon_insensitive", in units of the target.
    level : float, default=0.5
        Level of "quantile" and "expectile", between 0 and 1.
    cell_size, n_folds, grid, kernel, scaling, search, refit, random_state
        As in `localsvm.LocalSVR`.
    coarse_size, max_memory, checkpoint, transform_by
        As in `LocalSVMClassifier`.

    Examples
    --------
    .. code-block:: python

        from localsvm.spark import LocalSVMRegressor

        model = LocalSVMRegressor(featuresCol=["x1", "x2"], labelCol="y", loss="quantile", level=0.9).fit(frame)
        model.transform(frame).select("prediction")
    """

    def __init__(self, **params: Any) -> None:
        super().__init__()
        self.setParams(**params)

    def _fit(self, dataset: DataFrame) -> LocalSVMRegressionModel:
        model = LocalSVMRegressionModel(fit_distributed(dataset, self._estimator(), self._fit_plan()))
        return self._copyValues(model._resetUid(self.uid))  # type: ignore[no-any-return]

    def _estimator(self) -> LocalRegressor:
        loss, level = self.getOrDefault(self.loss), check_fraction("level", self.getOrDefault(self.level))
        check_choice("loss", loss, ("squared", "epsilon_insensitive", "quantile", "expectile"))
        if loss == "quantile":
            return LocalQuantileRegressor(quantile=level, **self._common())
        if loss == "expectile":
            return LocalExpectileRegressor(expectile=level, **self._common())
        return LocalSVR(loss=loss, epsilon=self.getOrDefault(self.epsilon), **self._common())
