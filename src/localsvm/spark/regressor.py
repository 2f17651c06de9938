"""`LocalSVMRegressor`: means, quantiles and expectiles by local support vector machines, on Spark."""

from __future__ import annotations

from localsvm.estimators.parameters import check_choice, check_fraction
from localsvm.estimators.regressors import LocalExpectileRegressor, LocalQuantileRegressor, LocalRegressor, LocalSVR
from localsvm.spark.base import LocalSVMEstimator, LocalSVMModel, LocalSVMParams, param
from localsvm.spark.summary import RegressionSummary, regression_summary


class RegressorParams(LocalSVMParams):
    """Parameters of the regressor and its model."""

    _local = LocalSVR

    loss = param("loss", "'squared', 'epsilon_insensitive', 'quantile' or 'expectile'")
    epsilon = param("epsilon", "half the width of the tube of 'epsilon_insensitive'")
    level = param("level", "level of 'quantile' and 'expectile'")

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(level=0.5)


class LocalSVMRegressionModel(LocalSVMModel, RegressorParams):
    """A fitted `LocalSVMRegressor`."""

    @property
    def summary(self) -> RegressionSummary:
        """Rows, cells, tasks, seconds, and the mean loss of out-of-fold predictions."""
        return regression_summary(self._parts, self.getOrDefault(self.loss))


class LocalSVMRegressor(LocalSVMEstimator, RegressorParams):
    """Regression on Spark, with all hyper-parameters selected by cross-validation in each cell.

    Rows are partitioned into coarse cells; one shuffle sends each coarse cell to one task, which partitions it into
    cells and trains these with the code of `localsvm.LocalSVR`. The model is the one that the estimators of `localsvm`
    with `members=1` fit to the same rows, to the bit.

    Parameters
    ----------
    featuresCol : str or list of str, default="features"
        A column of vectors or of arrays of numbers, or several numeric columns.
    labelCol : str, default="label"
        Targets, numbers.
    weightCol : str, optional
        Sample weights. Rows of weight 0 are ignored; an integer weight is equivalent to repeating the row.
    groupsCol, timeCol : str, optional
        Groups, of any type, whose rows share a fold; or times (numbers, dates, timestamps), whose blocks are folds. As
        `groups` and `time` of `fit` in `localsvm`.
    predictionCol : str, default="prediction"
        Column that `transform` adds.
    loss : {"squared", "epsilon_insensitive", "quantile", "expectile"}, default="squared"
        The mean, a robust center, a quantile or an expectile: `localsvm.LocalSVR`, `LocalQuantileRegressor` and
        `LocalExpectileRegressor`.
    epsilon : float, default=0.1
        Half the width of the tube of "epsilon_insensitive", in units of the target.
    level : float, default=0.5
        Level of "quantile" and "expectile", between 0 and 1.
    cell_size, n_folds, grid, kernel, relevance, scaling, search, refit, random_state
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

    _model = LocalSVMRegressionModel

    def _estimator(self) -> LocalRegressor:
        loss, level = self.getOrDefault(self.loss), check_fraction("level", self.getOrDefault(self.level))
        check_choice("loss", loss, ("squared", "epsilon_insensitive", "quantile", "expectile"))
        if loss == "quantile":
            return LocalQuantileRegressor(quantile=level, **self._parameters_of(LocalQuantileRegressor))
        if loss == "expectile":
            return LocalExpectileRegressor(expectile=level, **self._parameters_of(LocalExpectileRegressor))
        return LocalSVR(**self._parameters_of(LocalSVR))
