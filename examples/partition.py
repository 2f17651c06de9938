"""Draws docs/partition.png: the cells of the paper's toy mixture (Sec. 4), and the boundary that they learn.

python examples/partition.py
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from localsvm import LocalSVC
from localsvm.data import toy_mixture, toy_posterior

X, y = toy_mixture(20_000, 2, random_state=0)
clf = LocalSVC(cell_size=2000, scaling=None).fit(X, y)
cells = clf.model_.partition

side = np.linspace(-2, 2, 400, dtype=np.float32)
points = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
values = clf.decision_function(points).reshape(400, 400)
owner = cells.assign(points).reshape(400, 400)
posterior = np.asarray(toy_posterior(points)).reshape(400, 400)

figure, axes = plt.subplots(figsize=(6, 5.2), layout="constrained")
shades = axes.contourf(side, side, np.clip(values, -1, 1), levels=21, cmap="RdBu_r", alpha=0.6, vmin=-1.4, vmax=1.4)
axes.contour(side, side, owner, levels=np.arange(clf.n_cells_) + 0.5, colors="white", linewidths=1)
axes.scatter(*cells.centers.T, s=14, color="white", edgecolors="#444444", linewidths=0.6, label="centre of a cell")
axes.contour(side, side, values, levels=[0], colors="black", linewidths=1.8)
axes.contour(side, side, posterior, levels=[0.5], colors="black", linestyles="dashed", linewidths=1.2)
axes.plot([], [], color="black", linewidth=1.8, label="learned boundary")
axes.plot([], [], color="black", linestyle="dashed", linewidth=1.2, label="Bayes boundary")
axes.set(
    title=f"20 000 rows in {clf.n_cells_} cells, a machine in each",
    xlabel="first feature",
    ylabel="second feature",
    aspect="equal",
)
axes.legend(loc="upper left", framealpha=0.9, fontsize=8)
figure.colorbar(shades, label="decision value, clipped", ticks=[-1, 0, 1])
figure.savefig(Path(__file__).parents[1] / "docs" / "partition.png", dpi=110)
