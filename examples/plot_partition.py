"""
Cells and the decision boundary
===============================

The toy problem of the paper (Sec. 4) has a wide class around the origin, and a narrow one inside it. The plane is
partitioned into Voronoi cells of at most 2000 rows, and one SVM is trained per cell. Together they approximate the
optimal decision boundary, an ellipse.
"""

import matplotlib.pyplot as plt
import numpy as np

from localsvm import LocalSVC
from localsvm.data import toy_bayes_error, toy_mixture, toy_posterior

X, y = toy_mixture(30_000, 2, random_state=0)
clf = LocalSVC(cell_size=2000, scaling=None).fit(X[:20_000], y[:20_000])
error = 1 - clf.score(X[20_000:], y[20_000:])
print(f"{clf.n_cells_} cells; error {error:.4f}; Bayes error {toy_bayes_error(2):.4f}")

# %%
# The cell of each point, the decision value of the cell's model, and the true posterior probability.

side = np.linspace(-2, 2, 400, dtype=np.float32)
points = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
values = clf.decision_function(points).reshape(400, 400)
owner = clf.apply(points).reshape(400, 400)
posterior = np.asarray(toy_posterior(points)).reshape(400, 400)

figure, axes = plt.subplots(figsize=(6, 5.2), layout="constrained")
shades = axes.contourf(side, side, np.clip(values, -1, 1), levels=21, cmap="RdBu_r", alpha=0.6, vmin=-1.4, vmax=1.4)
axes.contour(side, side, owner, levels=np.arange(clf.n_cells_) + 0.5, colors="white", linewidths=1)
axes.scatter(*clf.model_.partition.centers.T, s=14, color="white", edgecolors="#444444", linewidths=0.6)
axes.contour(side, side, values, levels=[0], colors="black", linewidths=1.8)
axes.contour(side, side, posterior, levels=[0.5], colors="black", linestyles="dashed", linewidths=1.2)
axes.scatter([], [], s=14, color="white", edgecolors="#444444", linewidths=0.6, label="center of a cell")
axes.plot([], [], color="black", linewidth=1.8, label="learned boundary")
axes.plot([], [], color="black", linestyle="dashed", linewidth=1.2, label="Bayes boundary")
axes.set(
    title=f"20 000 rows in {clf.n_cells_} cells, one SVM per cell",
    xlabel="first feature",
    ylabel="second feature",
    aspect="equal",
)
axes.legend(loc="upper left", framealpha=0.9, fontsize=8)
figure.colorbar(shades, label="decision value, clipped", ticks=[-1, 0, 1])
plt.show()

# %%
# Width and regularization of each cell were selected by cross-validation. Every solve has a certificate: a duality gap
# of at most 1e-3.

largest = max(cell.certificates.gap.max(initial=0.0) for cell in clf.model_.cells)
print(clf.cells_[0])
print(f"largest duality gap: {largest:.1e}")
