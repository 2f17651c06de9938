"""`LocalSVC`: classification by local support vector machines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from localsvm.cell.trained import OutOfFold
from localsvm.data.labels import Labels
from localsvm.data.types import FloatArray
from localsvm.decision.cross_validated import cross_validated
from localsvm.decision.decide import PLAIN_OBJECTIVES, Decision, DecisionPlan, OutOfFoldScores, at_point, decide
from localsvm.decision.operating_point import SCORES, OperatingPoint, RocPoints
from localsvm.errors import InvalidData, InvalidParameter
from localsvm.estimators.base import LocalEstimator
from localsvm.estimators.docs import with_common_docs
from localsvm.estimators.parameters import (
    check_choice,
    check_class_weight,
    check_fraction,
    check_positive_weights,
)
from localsvm.estimators.predictor import ClassPredictor
from localsvm.estimators.rows import RowsLike, member_rows
from localsvm.estimators.state import DECISION, OUT_OF_FOLD, storable
from localsvm.estimators.targets import check_labels, check_magnitude, check_weights, class_masses, class_weights
from localsvm.estimators.warn import warn_of_rare_class
from localsvm.fit.ensemble import EnsembleResult
from localsvm.fit.settings import LearningTask
from localsvm.model.ensemble import Member
from localsvm.storage.model_file import StoredModel
from localsvm.storage.schema import Fields, array, maybe
from localsvm.tasks import Binary, OneVsOne, OneVsRest, Probabilities
from localsvm.tasks.losses import Hinge, Loss, Squared, SquaredMargin

_LOSSES = ("auto", "logistic", "hinge", "squared")
_REDUCTIONS: dict[str, type[OneVsOne] | type[OneVsRest]] = {"ovo": OneVsOne, "ovr": OneVsRest}
_MOST_CLASSES_IN_PAIRS = 100  # pairs take twice the time of one-vs-rest there, six times with 300 classes


@with_common_docs
@dataclass(kw_only=True, eq=False, repr=False)
class LocalSVC(ClassifierMixin, LocalEstimator):  # type: ignore[misc]
    """Support vector classification that tunes itself.

    The input space is partitioned into cells of bounded size. In every cell width and regularization are
    chosen by cross-validation on a grid, and the solutions of the folds are combined into one
    decision function (Alg. 1 of the paper). A new sample is predicted from its own cell only.

    Parameters
    ----------
    %(common_parameters)s
    class_weight : dict, "balanced" or None, default=None
        Factors on the weights of the classes.
    multiclass : {"auto", "ovo", "ovr"}, default="auto"
        More than two classes, with the hinge or the squared loss: one binary problem for each pair of
        classes ("ovo"), or for each class against the rest ("ovr"). Pairs usually have a lower error, but
        their number grows with the square of the classes: "auto" uses them for up to 100 classes. The
        score of a class is its score against its strongest rival. All problems of a cell share distances
        and kernels. A cell that misses some classes predicts among those it has seen.
    loss : {"auto", "logistic", "hinge", "squared"}, default="auto"
        The loss that is minimized. "logistic" learns the probabilities of all classes together, "hinge"
        is the loss of support vector machines, which learns the more probable class. "auto" is
        "logistic" with ``objective="log_loss"``, unless `false_alarm`, `positive_weights` or `multiclass`
        ask for decisions, which the hinge loss makes.
    objective : {"log_loss", "accuracy", "balanced_accuracy", "tpr_tnr", "f1"}, default="log_loss"
        What the classifier is for. "log_loss": probabilities and rankings; width and lam are chosen by
        the log-loss. "accuracy": the most probable class; they are chosen by the classification error.
        The others are measures that the decision between two classes maximizes; "tpr_tnr" is the product
        of the true positive and the true negative rate. For these, solutions with several
        weights of ``classes_[1]`` are trained on the same kernels, and the best one and its threshold
        are chosen by out-of-fold values.
    false_alarm : float, optional
        Neyman-Pearson: upper bound on the rate at which ``classes_[0]`` is taken for ``classes_[1]``;
        within it the detection rate of ``classes_[1]`` is maximized. The bound holds on new samples
        with a confidence of 95 %. With ``refit="retrain"`` it holds for the solutions of the folds;
        about one retrained solution in ten exceeds it by more than chance.
    positive_weights : sequence of float, optional
        Weights of ``classes_[1]`` to train with; all solutions are kept, and `roc_front_` has the
        operating points that no other dominates. See `at_false_alarm`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    operating_point_ : OperatingPoint
        Solution, threshold, false-alarm and detection rate on out-of-fold samples, if `objective`,
        `false_alarm` or `positive_weights` is given.
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

    class_weight: Any = None
    multiclass: str = "auto"
    loss: str = "auto"
    objective: str = "log_loss"
    false_alarm: float | None = None
    positive_weights: Sequence[float] | None = None

    # Set by fit.
    classes_: NDArray[Any] = field(init=False)
    operating_point_: OperatingPoint = field(init=False)
    roc_front_: RocPoints = field(init=False)
    _out_of_fold: OutOfFoldScores | None = field(init=False)

    def _check_loss(self) -> None:
        decision_plan(self)

    def _check_targets(self, y: Any, sample_weight: Any, n_samples: int) -> tuple[FloatArray, FloatArray, LearningTask]:
        codes, names = (y.codes, np.array(y.names)) if isinstance(y, Labels) else (y, None)
        labels = check_labels(codes, n_samples)
        weight = check_weights(sample_weight, n_samples)
        classes, index = _classes(labels, weight, names)
        task = class_task(self, classes, cache(partial(class_masses, index, weight, len(classes))))
        factor = np.asarray(task.class_factor)[index] if task.class_factor else 1.0
        check_magnitude(float((weight * factor).max()), n_samples)
        target = np.where(index == 1, 1.0, -1.0) if len(classes) == 2 else index.astype(np.float64)
        return target, weight, task

    def _set_fitted(self, fitted: EnsembleResult, task: LearningTask, *others: Any) -> None:
        super()._set_fitted(fitted, task, *others)
        assert task.classes is not None
        result = fitted.results[0]
        self.classes_, self._out_of_fold = task.classes, result.out_of_fold
        self._set_decision(result.decision)
        warn_of_rare_class(result.decision, self.objective, stacklevel=4)

    def _set_decision(self, decision: Decision | None) -> None:
        for name in ("operating_point_", "roc_front_"):
            self.__dict__.pop(name, None)  # of a fit before
        if decision is not None:
            self.operating_point_, self.roc_front_ = decision.point, decision.front

    def _fitted_values(self) -> dict[str, Any]:
        chosen = hasattr(self, "operating_point_")
        return {
            **super()._fitted_values(),
            "classes_": storable("a label", self.classes_),
            "decision": maybe(DECISION).write(Decision(self.operating_point_, self.roc_front_) if chosen else None),
            "left_out": maybe(OUT_OF_FOLD).write(self._out_of_fold),
        }

    def _restore(self, stored: StoredModel, fitted: Fields) -> None:
        super()._restore(stored, fitted)
        reduction = stored.model.reduction
        if isinstance(reduction, Probabilities):
            n_classes = reduction.n_classes
        elif stored.model.calibration is None:
            raise fitted.refuse("its model has no probabilities of classes")
        else:
            n_classes = stored.model.calibration.present.shape[1]
        self.classes_ = fitted.read("classes_", array(None, n_classes))
        self._set_decision(fitted.read("decision", maybe(DECISION)))
        self._out_of_fold = fitted.read("left_out", maybe(OUT_OF_FOLD), n_machines=reduction.n_outputs)

    def at_false_alarm(self, false_alarm: float) -> Self:
        """Return this classifier at another point of its ROC front; nothing is trained again.

        Parameters
        ----------
        false_alarm : float
            Upper bound on the rate at which ``classes_[0]`` is taken for ``classes_[1]``.

        Returns
        -------
        LocalSVC
            A fitted classifier that shares its solutions with this one.

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
        self._require_fitted()
        bound = check_fraction("false_alarm", false_alarm)
        scores = self._out_of_fold
        if scores is None:
            raise InvalidParameter(
                "at_false_alarm needs the solutions of several weights: fit with positive_weights=[...]."
            )
        plan = DecisionPlan(false_alarm=bound, keeps_all=True)
        moved = copy(self)
        moved.operating_point_ = decide(scores, plan).point
        reduction, calibration = at_point(scores, self.model_.reduction, moved.operating_point_)
        moved.model_ = replace(self.model_, reduction=reduction, calibration=calibration)
        moved.members_ = (Member(moved.model_),)
        samples = OutOfFold(scores.scores, scores.y.astype(np.float64), scores.count)
        moved._cv = cross_validated(reduction, [samples], moved.operating_point_)
        return moved

    def predict_proba(self, X: RowsLike) -> FloatArray:
        """Return the probabilities of the classes.

        The logistic loss learns them; of other losses they are calibrated by out-of-fold decision values.
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
        self._require_fitted()
        rows = member_rows(self, X)
        return self._ensemble.probabilities(rows, self._threads_for(rows))

    def predictor(self) -> ClassPredictor:
        """Return an object that predicts with little overhead, for servers.

        It takes arrays of float32 or float64 only, whose columns it knows by position; if the model was trained with
        categories or dates, data frames, which are checked as `predict` checks them. Any number of threads may use
        it, and it can be pickled. Its predictions are those of this classifier, to the bit; if that is fitted again,
        the predictor stays what it was.

        Returns
        -------
        ClassPredictor
            With the methods `predict`, `predict_proba` and `decision_function`.

        Examples
        --------
        >>> import numpy as np
        >>> from localsvm import LocalSVC
        >>> clf = LocalSVC().fit([[0.0], [0.1], [1.0], [1.1]], ["no", "no", "yes", "yes"])
        >>> clf.predictor().predict(np.array([[0.0], [1.2]]))
        array(['no', 'yes'], dtype='<U3')
        """
        self._require_fitted()
        return ClassPredictor(self)

    def predict_log_proba(self, X: RowsLike) -> FloatArray:
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

    def decision_function(self, X: RowsLike) -> FloatArray:
        """Return the decision values: positive ones predict ``classes_[1]``, of several classes the largest one.

        With the logistic loss they are log-odds, of several classes logarithms of probabilities but for a constant.

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
        return self._predicted_of(self._scores(X))

    def _predicted_of(self, scores: FloatArray) -> NDArray[Any]:
        best = (scores[:, 0] >= 0).astype(np.intp) if len(self.classes_) == 2 else scores.argmax(axis=1)
        return np.asarray(self.classes_[best])


def decision_plan(estimator: LocalSVC) -> DecisionPlan:
    """Check the parameters of classification; return what decisions are for."""
    check_choice("loss", estimator.loss, _LOSSES)
    check_choice("multiclass", estimator.multiclass, ("auto", *_REDUCTIONS))
    check_class_weight(estimator.class_weight)
    check_choice("objective", estimator.objective, ("log_loss", *SCORES))
    bound = None if estimator.false_alarm is None else check_fraction("false_alarm", estimator.false_alarm)
    if bound is not None and estimator.objective not in PLAIN_OBJECTIVES:
        raise InvalidParameter(
            f"false_alarm={bound!r} and objective={estimator.objective!r} exclude each other: give one of them."
        )
    if estimator.positive_weights is not None:
        check_positive_weights(estimator.positive_weights)
    plan = DecisionPlan(estimator.objective, bound, keeps_all=estimator.positive_weights is not None)
    if estimator.loss == "logistic" and not (plan.is_plain and estimator.multiclass == "auto"):
        raise InvalidParameter(
            "loss='logistic' learns probabilities of all classes: objective, false_alarm, positive_weights and "
            "multiclass, which are for decisions, need loss='auto', 'hinge' or 'squared'."
        )
    return plan


def learns_probabilities(estimator: LocalSVC, plan: DecisionPlan) -> bool:
    """Return whether the loss is logistic: as given, or because nothing asks for decisions."""
    by_default = plan.objective == "log_loss" and plan.is_plain and estimator.multiclass == "auto"
    return estimator.loss == "logistic" or (estimator.loss == "auto" and by_default)


def _loss(estimator: LocalSVC) -> Loss:
    """Return the loss of decision functions."""
    if estimator.loss != "squared":
        return Hinge()
    return Squared() if estimator.objective == "log_loss" else SquaredMargin()


def class_task(estimator: LocalSVC, classes: NDArray[Any], masses: Callable[[], FloatArray]) -> LearningTask:
    """Return what is learned from these classes; `masses` returns the total weight of each."""
    decision, loss = decision_plan(estimator), _loss(estimator)
    factor = class_weights(estimator.class_weight, classes, masses)
    class_factor = tuple(factor.tolist()) if (factor != 1).any() else ()
    if learns_probabilities(estimator, decision):
        weighted = factor * masses()
        return LearningTask(Probabilities(tuple((weighted / weighted.sum()).tolist())), decision, class_factor, classes)
    if len(classes) == 2:
        weights = _positive_weights(estimator, decision, lambda: factor * masses())
        return LearningTask(Binary(loss, weights), decision, class_factor, classes)
    if not decision.is_plain:
        raise InvalidParameter(
            f"objective, false_alarm and positive_weights are for two classes, but y has {len(classes)}. "
            "For rare classes among many pass class_weight='balanced'."
        )
    by_default = "ovo" if len(classes) <= _MOST_CLASSES_IN_PAIRS else "ovr"
    reduction = _REDUCTIONS[by_default if estimator.multiclass == "auto" else estimator.multiclass]
    return LearningTask(reduction(len(classes), loss), decision, class_factor, classes)


def _positive_weights(
    estimator: LocalSVC, decision: DecisionPlan, masses: Callable[[], FloatArray]
) -> tuple[float, ...]:
    """Return the weights of the positive class: as given, or from none to balance if the decision needs several."""
    if estimator.positive_weights is not None:
        return tuple(float(weight) for weight in estimator.positive_weights)
    if decision.is_plain:
        return (1.0,)
    negative, positive = masses().tolist()
    balance = negative / positive
    return tuple(dict.fromkeys((1.0, balance**0.5, balance)))


def _classes(y: NDArray[Any], weight: FloatArray, names: NDArray[Any] | None) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the sorted labels of samples with positive weight, and the index of every sample into them.

    Samples of weight zero may have other labels; their index has no meaning. If `names` are given, y has indices of
    them.
    """
    present = np.unique(y[weight > 0])
    classes = present if names is None else names[present]
    if len(classes) == 1:
        raise InvalidData(
            f"y contains only one class ({classes.tolist()[0]!r}). A classifier needs samples of at least two classes."
        )
    index = np.searchsorted(present, y)
    return classes, np.minimum(index, len(classes) - 1)
