"""
Calibrated probabilities
========================

Probabilities are calibrated on out-of-fold decision values. On the toy mixture they can be compared with the true
posterior probabilities, which are known.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import log_loss

from localsvm import LocalSVC
from localsvm.data import toy_mixture, toy_posterior
from localsvm.report import ReliabilityDisplay

X, y = toy_mixture(20_000, 2, random_state=0)
clf = LocalSVC(cell_size=2000, n_folds=3).fit(X[:10_000], y[:10_000])
learned, truth = clf.predict_proba(X[10_000:])[:, 1], np.asarray(toy_posterior(X[10_000:]))
print(f"log-loss {log_loss(y[10_000:], learned):.4f}; with the true probabilities {log_loss(y[10_000:], truth):.4f}")
agree = np.array_equal(clf.classes_[(learned >= 0.5).astype(int)], clf.predict(X[10_000:]))
print(f"the most probable class is the predicted one: {agree}")

# %%
# Of all rows with a predicted probability near 0.8, about 80 % should be positive: the points should lie on the
# diagonal, within their intervals.

ReliabilityDisplay.from_estimator(clf, X[10_000:], y[10_000:])
plt.show()

# %%
# The learned and the true probability in the plane.

side = np.linspace(-2, 2, 200, dtype=np.float32)
points = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
maps = {"learned": clf.predict_proba(points)[:, 1], "true": np.asarray(toy_posterior(points))}
figure, both = plt.subplots(1, 2, figsize=(8, 3.6), sharey=True, layout="constrained")
for axes, (title, values) in zip(both, maps.items(), strict=True):
    shades = axes.contourf(side, side, values.reshape(200, 200), levels=np.linspace(0, 1, 11), cmap="RdBu_r")
    axes.set(title=f"{title} probability of the wide class", aspect="equal")
figure.colorbar(shades, ax=both)
plt.show()
