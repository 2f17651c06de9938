"""
Imbalanced classes, false alarms, and the ROC front
===================================================

There is one positive sample for every fifteen negative ones, and maximizing accuracy detects few of the positives. The
decision can optimize another criterion: the product of true-positive and true-negative rate, or the detection rate
under a bound on false alarms. The bound can also be chosen after training, along the ROC front.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from localsvm import LocalSVC

X, y = make_moons(16_000, noise=0.4, random_state=0)
kept = (y == 0) | (np.arange(len(y)) % 15 == 0)
X, y = X[kept], y[kept]
half = len(X) // 2
X_train, y_train, X_test, y_test = X[:half], y[:half], X[half:], y[half:]


def rates(clf):
    positive = clf.predict(X_test) == 1
    return positive[y_test == 0].mean(), positive[y_test == 1].mean()


plain = LocalSVC(n_folds=3).fit(X_train, y_train)
both = LocalSVC(objective="tpr_tnr", n_folds=3).fit(X_train, y_train)
bounded = LocalSVC(false_alarm=0.05, n_folds=3).fit(X_train, y_train)
front = LocalSVC(positive_weights=[1, 4, 16], n_folds=3).fit(X_train, y_train)

# %%
# The front is computed from out-of-fold scores; the points are rates on test rows. Moving along the front needs no
# training.

bounds = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
moved = np.array([rates(front.at_false_alarm(bound)) for bound in bounds])
figure, axes = plt.subplots(figsize=(6, 5), layout="constrained")
axes.plot(front.roc_front_.false_alarm, front.roc_front_.detection, color="#98a1ab", label="ROC front, out-of-fold")
axes.plot(*moved.T, "o", color="#2667c9", markersize=5, label="at_false_alarm(.01, ..., .4), test rows")
points = {"accuracy": (plain, "s"), 'objective="tpr_tnr"': (both, "D"), "false_alarm=0.05": (bounded, "^")}
for name, (clf, marker) in points.items():
    alarm, detection = rates(clf)
    print(f"{name}: false alarms {alarm:.3f}, detections {detection:.3f}, TPR x TNR {detection * (1 - alarm):.3f}")
    axes.plot(alarm, detection, marker, markersize=9, color="#d9661f", markeredgecolor="black", label=name)
axes.axvline(0.05, color="#d9661f", linewidth=0.8, linestyle="dotted")
axes.set(xlabel="false-alarm rate", ylabel="detection rate", xlim=(-0.01, 0.6), ylim=(0, 1.01))
axes.legend(loc="lower right", fontsize=8)
plt.show()
