"""`LocalSVC`: classification by local support vector machines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import cache, partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from localsvm.cell.grid import Grid
from localsvm.data.labels import Labels
from localsvm.decision.decide import Decision, DecisionPlan, OutOfFoldScores, at_point, decide
from localsvm.decision.operating_point import SCORES, OperatingPoint, RocPoints
from localsvm.errors import InvalidData, InvalidParameter
from localsvm.estimators.base import Checked, LocalEstimator, RowsLike, TargetsLike
from localsvm.estimators.docs import with_common_docs
from localsvm.estimators.features import check_features
from localsvm.estimators.parameters import check_choice, check_class_weight, check_positive_weights, check_share
from localsvm.estimators.state import DECISION, LEFT_OUT, storable
from localsvm.estimators.targets import check_labels
from localsvm.estimators.weights import check_magnitude, check_weights, class_masses, class_weights
from localsvm.fit.fit import FitResult
from localsvm.fit.prepare import FitSettings
from localsvm.fit.training import OnProgress
from localsvm.model.predict import predict_probabilities
from localsvm.storage.model_file import StoredModel
from localsvm.storage.schema import Fields, array, maybe
from localsvm.tasks import Binary, OneVsOne, OneVsRest, Reduction
from localsvm.tasks.losses import Hinge, Loss, SquaredMargin

FloatArray = NDArray[np.float64]

_LOSSES: dict[str, Loss] = {"hinge": Hinge(), "squared": SquaredMargin()}
_REDUCTIONS: dict[str, type[OneVsOne] | type[OneVsRest]] = {"ovo": OneVsOne, "ovr": OneVsRest}


@with_common_docs
class LocalSVC(ClassifierMixin, LocalEstimator):  # type: ignore[misc]
    """Support vector classification that tunes itself.

    The input space is cut into cells of bounded size. In every cell width and regularisation are
    chosen by cross-validation on a grid, and the solutions of the folds are combined into one
    decision function (Alg. 1 of the paper). A new sample is predicted from its own cell only.

    Parameters
    ----------
    %(common_parameters)s
    class_weight : dict, "balanced" or None, default=None
        Factors on the weights of the classes.
    multiclass : {"ovo", "ovr"}, default="ovo"
        More than two classes: a machine for each pair of classes, or for each class against the rest.
        Pairs are faster, and usually err less; a class scores what it has against its strongest rival.
        They share distances and kernels of a cell. A cell that misses some classes predicts from those
        it has seen.
    loss : {"hinge", "squared"}, default="hinge"
        The loss of the machines; width and lam are chosen by classification error.
    objective : {"accuracy", "balanced_accuracy", "tpr_tnr", "f1"}, default="accuracy"
        What the decision between two classes is for; "tpr_tnr" is the product of the rates at which
        positive and negative samples are found. Other than for accuracy, machines with several
        weights of ``classes_[1]`` are trained on the same kernels, and the best of them and its
        threshold are chosen by out-of-fold values.
    false_alarm : float, optional
        Neyman-Pearson: the largest share of ``classes_[0]`` that may be taken for ``classes_[1]``;
        within it as much of ``classes_[1]`` as possible is detected. The bound holds on new samples
        with a confidence of 95 %. With ``refit="retrain"`` it is the machines of the folds that keep
        it; about one retrained machine in ten is above it by more than chance.
    positive_weights : sequence of float, optional
        Weights of ``classes_[1]`` to train machines with; all of them are kept, and `roc_front_` has
        the operating points that no other dominates. See `at_false_alarm`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    operating_point_ : OperatingPoint
        Machine, threshold, false-alarm and detection rate on left-out samples, where `objective`,
        `false_alarm` or `positive_weights` asked for a choice.
    roc_front_ : RocPoints
        All operating points that no other dominates, in the same case.
    %(common_attributes)s

    %(common_notes)s

    Examples
    --------
    >>> from localsvm import LocalSVC
    >>> from localsvm.data import toy_mixture
    >>> X, y = toy_mixture(600, 2, random_state=0)
    >>> clf = LocalSVC().fit(X[:300], y[:300])
    >>> bool(clf.score(X[300:], y[300:]) > 0.8)
    True
    """

    classes_: NDArray[Any]
    operating_point_: OperatingPoint
    roc_front_: RocPoints
    _left_out: OutOfFoldScores | None

    def __init__(
        self,
        *,
        cell_size: int | str = "auto",
        partition: Any = "voronoi",
        cell_radius: float | None = None,
        n_folds: int = 5,
        grid: int | Grid = 10,
        kernel: str = "auto",
        relevance: ArrayLike | str | None = "auto",
        search: str = "full",
        scaling: str | None = "auto",
        missing: str = "error",
        refit: str = "combine",
        max_memory: str | int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        checkpoint: Any = None,
        class_weight: Any = None,
        multiclass: str = "ovo",
        loss: str = "hinge",
        objective: str = "accuracy",
        false_alarm: float | None = None,
        positive_weights: Sequence[float] | None = None,
    ) -> None:
        super().__init__(
            cell_size=cell_size,
            partition=partition,
            cell_radius=cell_radius,
            n_folds=n_folds,
            grid=grid,
            kernel=kernel,
            relevance=relevance,
            search=search,
            scaling=scaling,
            missing=missing,
            refit=refit,
            max_memory=max_memory,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            checkpoint=checkpoint,
        )
        self.class_weight = class_weight
        self.multiclass = multiclass
        self.loss = loss
        self.objective = objective
        self.false_alarm = false_alarm
        self.positive_weights = positive_weights

    def fit(
        self,
        X: RowsLike,
        y: TargetsLike,
        sample_weight: ArrayLike | None = None,
        *,
        callback: OnProgress | None = None,
    ) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Labels of two classes or more, of any type.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples: 0 is as if absent, an integer as if repeated. The grid of lams
            reaches the further down the more samples there are, so weights should sum to about
            their number, not to one.
        callback : callable, optional
            Called about ten times a second with a `Progress`: cells_done, n_cells, samples_done,
            n_samples, seconds, rate, seconds_left. What it raises stops the fit.

        Returns
        -------
        LocalSVC
            The fitted estimator.

        Examples
        --------
        >>> from localsvm import LocalSVC
        >>> clf = LocalSVC().fit([[0.0], [0.1], [1.0], [1.1]], ["a", "a", "b", "b"])
        >>> clf.predict([[0.0], [1.2]])
        array(['a', 'b'], dtype='<U1')
        """
        checked = self._check(X, y, sample_weight)
        self._fit_model(checked, callback)
        self._warn(checked.settings)
        return self

    def _keep(self, result: FitResult, checked: Checked) -> None:
        super()._keep(result, checked)
        assert checked.classes is not None
        self.classes_, self._left_out = checked.classes, result.left_out
        self._tell_decision(result.decision)

    def _check(self, X: Any, y: Any, sample_weight: Any) -> Checked:
        settings = self._settings(Binary())
        self._check_decision()
        features = check_features(self, X, reset=True)
        codes, names = (y.codes, np.array(y.names)) if isinstance(y, Labels) else (y, None)
        labels = check_labels(codes, len(features))
        weight = check_weights(sample_weight, len(labels))
        classes, index = _classes(labels, weight, names)
        masses = cache(partial(class_masses, index, weight, len(classes)))
        settings = self._task(settings, classes, masses)
        check_magnitude(float((weight * settings.class_factors(len(classes))[index]).max()), len(weight))
        target = np.where(index == 1, 1.0, -1.0) if len(classes) == 2 else index.astype(np.float64)
        return replace(self._encode(features, target, weight, settings), classes=classes)

    def _task(self, settings: FitSettings, classes: NDArray[Any], masses: Callable[[], FloatArray]) -> FitSettings:
        """Return the settings for these classes; `masses` returns their weights."""
        decision = self._check_decision()
        factor = class_weights(self.class_weight, classes, masses)
        reduction = self._reduction(len(classes), decision, lambda: factor * masses())
        return replace(
            settings,
            cell=replace(settings.cell, reduction=reduction, own_lams=decision.is_plain),
            class_factor=tuple(factor.tolist()) if (factor != 1).any() else (),
            decision=decision,
        )

    def _tell_decision(self, decision: Decision | None) -> None:
        for name in ("operating_point_", "roc_front_"):
            self.__dict__.pop(name, None)  # of a fit before
        if decision is not None:
            self.operating_point_, self.roc_front_ = decision.point, decision.front

    def _check_decision(self) -> DecisionPlan:
        """Check the parameters of classification; return what decisions are for."""
        check_choice("loss", self.loss, tuple(_LOSSES))
        check_choice("multiclass", self.multiclass, tuple(_REDUCTIONS))
        check_class_weight(self.class_weight)
        check_choice("objective", self.objective, tuple(SCORES))
        false_alarm = None if self.false_alarm is None else check_share("false_alarm", self.false_alarm)
        if false_alarm is not None and self.objective != "accuracy":
            raise InvalidParameter(
                f"false_alarm={self.false_alarm!r} and objective={self.objective!r} are two purposes: give one of them."
            )
        if self.positive_weights is not None:
            check_positive_weights(self.positive_weights)
        return DecisionPlan(self.objective, false_alarm, keeps_all=self.positive_weights is not None)

    def _reduction(self, n_classes: int, decision: DecisionPlan, masses: Callable[[], FloatArray]) -> Reduction:
        loss = _LOSSES[self.loss]
        if n_classes == 2:
            return Binary(loss, self._positive_weights(decision, masses))
        if not decision.is_plain:
            raise InvalidParameter(
                f"objective, false_alarm and positive_weights are for two classes, but y has {n_classes}. "
                "For rare classes among many pass class_weight='balanced'."
            )
        return _REDUCTIONS[self.multiclass](n_classes, loss)

    def _positive_weights(self, decision: DecisionPlan, masses: Callable[[], FloatArray]) -> tuple[float, ...]:
        """Return the weights of the positive class: as given, or from none to balance where that may help."""
        if self.positive_weights is not None:
            return tuple(float(weight) for weight in self.positive_weights)
        if decision.is_plain:
            return (1.0,)
        negative, positive = masses().tolist()
        balance = negative / positive
        return tuple(dict.fromkeys((1.0, balance**0.5, balance)))

    def _fitted_values(self) -> dict[str, Any]:
        chosen = hasattr(self, "operating_point_")
        return {
            **super()._fitted_values(),
            "classes_": storable("a label", self.classes_),
            "decision": maybe(DECISION).write(Decision(self.operating_point_, self.roc_front_) if chosen else None),
            "left_out": maybe(LEFT_OUT).write(self._left_out),
        }

    def _restore(self, stored: StoredModel, fitted: Fields) -> None:
        super()._restore(stored, fitted)
        reduction = stored.model.reduction
        if stored.model.calibration is None:
            raise fitted.refuse("its model has no probabilities of classes")
        self.classes_ = fitted.read("classes_", array(None, stored.model.calibration.present.shape[1]))
        self._tell_decision(fitted.read("decision", maybe(DECISION)))
        self._left_out = fitted.read("left_out", maybe(LEFT_OUT), n_machines=reduction.n_outputs)

    def at_false_alarm(self, false_alarm: float) -> Self:
        """Return this classifier at another point of its ROC front; nothing is trained again.

        Parameters
        ----------
        false_alarm : float
            The largest share of ``classes_[0]`` that may be taken for ``classes_[1]``.

        Returns
        -------
        LocalSVC
            A fitted classifier that shares the machines with this one.

        Examples
        --------
        >>> from localsvm import LocalSVC
        >>> from localsvm.data import toy_mixture
        >>> X, y = toy_mixture(600, 2, random_state=0)
        >>> clf = LocalSVC(positive_weights=[0.5, 1, 2]).fit(X[:300], y[:300])
        >>> careful = clf.at_false_alarm(0.01)
        >>> bool((careful.predict(X) == 1).sum() < (clf.predict(X) == 1).sum())
        True
        """
        check_is_fitted(self)
        bound = check_share("false_alarm", false_alarm)
        left_out = self._left_out
        if left_out is None:
            raise InvalidParameter(
                "at_false_alarm needs the machines of several weights: fit with positive_weights=[...]."
            )
        plan = DecisionPlan(false_alarm=bound, keeps_all=True)
        moved = copy(self)
        moved.operating_point_ = decide(left_out, plan).point
        reduction, calibration = at_point(left_out, self.model_.reduction, moved.operating_point_)
        moved.model_ = replace(self.model_, reduction=reduction, calibration=calibration)
        return moved

    def predict_proba(self, X: RowsLike) -> NDArray[np.float64]:
        """Return the probabilities of the classes, calibrated by out-of-fold decision values.

        The most probable class is the one that `predict` returns. With `class_weight`, `objective` or
        `false_alarm` classes count by the weights that make this so.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of ``classes_``.

        Examples
        --------
        >>> from localsvm import LocalSVC
        >>> from localsvm.data import toy_mixture
        >>> X, y = toy_mixture(600, 2, random_state=0)
        >>> LocalSVC().fit(X[:300], y[:300]).predict_proba(X[300:]).shape
        (300, 2)
        """
        check_is_fitted(self)
        return predict_probabilities(self.model_, self._to_predict(X), self._n_threads())

    def predict_log_proba(self, X: RowsLike) -> NDArray[np.float64]:
        """Return the logarithms of `predict_proba`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Log-probabilities, in the order of ``classes_``.

        Examples
        --------
        >>> from localsvm import LocalSVC
        >>> clf = LocalSVC().fit([[0.0], [0.1], [1.0], [1.1]], [0, 0, 1, 1])
        >>> bool((clf.predict_log_proba([[0.0]]) < 0).all())
        True
        """
        return np.log(self.predict_proba(X))

    def decision_function(self, X: RowsLike) -> NDArray[np.float64]:
        """Return the decision values: positive ones speak for ``classes_[1]``, of several classes the largest wins.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Decision values, in the order of ``classes_``.

        Examples
        --------
        >>> from localsvm import LocalSVC
        >>> clf = LocalSVC().fit([[0.0], [0.1], [1.0], [1.1]], [0, 0, 1, 1])
        >>> (clf.decision_function([[0.0], [1.2]]) > 0).tolist()
        [False, True]
        """
        return self._shown_of(self._scores(X))

    def _shown_of(self, scores: FloatArray) -> FloatArray:
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: RowsLike) -> NDArray[Any]:
        """Return the predicted labels.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.

        Examples
        --------
        >>> from localsvm import LocalSVC
        >>> clf = LocalSVC().fit([[0.0], [0.1], [1.0], [1.1]], [0, 0, 1, 1])
        >>> clf.predict([[0.0], [1.2]])
        array([0, 1])
        """
        scores = self._scores(X)
        best = (scores[:, 0] >= 0).astype(np.intp) if len(self.classes_) == 2 else scores.argmax(axis=1)
        return np.asarray(self.classes_[best])


def _classes(
    y: NDArray[Any], weight: NDArray[np.float64], names: NDArray[Any] | None
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the sorted labels of samples with positive weight, and every sample's index into them.

    Samples of weight zero may have other labels; their index means nothing. `names` are the labels that y has the
    places of.
    """
    present = np.unique(y[weight > 0])
    classes = present if names is None else names[present]
    if len(classes) == 1:
        raise InvalidData(
            f"y has only one class, {classes.tolist()[0]!r}: there is nothing to tell apart. "
            "Give samples of two classes or more."
        )
    index = np.searchsorted(present, y)
    return classes, np.minimum(index, len(classes) - 1)
