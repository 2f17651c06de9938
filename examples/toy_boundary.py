"""Draws docs/toy.png: what LocalSVC learns of the paper's toy mixture (Sec. 4), beside the best possible boundary.

python examples/toy_boundary.py
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from localsvm import LocalSVC
from localsvm.data import toy_mixture, toy_posterior

X, y = toy_mixture(2000, 2, random_state=0)
clf = LocalSVC().fit(X, y)

side = np.linspace(-2, 2, 200, dtype=np.float32)
points = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
values = clf.decision_function(points).reshape(200, 200)
posterior = np.asarray(toy_posterior(points)).reshape(200, 200)

figure, axes = plt.subplots(figsize=(6, 5.2), layout="constrained")
shades = axes.contourf(side, side, np.clip(values, -1, 1), levels=21, cmap="RdBu_r", alpha=0.6, vmin=-1.4, vmax=1.4)
axes.scatter(*X[y > 0].T, s=4, color="#b2182b", label="class +1")
axes.scatter(*X[y < 0].T, s=4, color="#2166ac", label="class -1")
axes.contour(side, side, values, levels=[0], colors="black", linewidths=2)
axes.contour(side, side, posterior, levels=[0.5], colors="black", linestyles="dashed", linewidths=1.5)
axes.plot([], [], color="black", linewidth=2, label="learned boundary")
axes.plot([], [], color="black", linestyle="dashed", linewidth=1.5, label="Bayes boundary")
axes.set(title="2000 rows of the toy mixture", xlabel="first feature", ylabel="second feature", aspect="equal")
axes.legend(loc="upper left", framealpha=0.9, fontsize=8)
figure.colorbar(shades, label="decision value, clipped", ticks=[-1, 0, 1])
figure.savefig(Path(__file__).parents[1] / "docs" / "toy.png", dpi=110)
