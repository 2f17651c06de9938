"""
Cells and the decision boundary
===============================

The toy problem of the paper (Sec. 4) has a wide class around the origin, and a narrow one inside it. The plane is
partitioned into Voronoi cells of at most 2000 rows, and a model is trained in each. By default four such models, with
partitions of their own, predict together. The figure has the cells of the first one, and the decision boundary of all:
it approximates the optimal boundary, an ellipse, and does not follow the edges of the cells.
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
# The cell of each point in the first model, the probability that all models predict, and the true one.

side = np.linspace(-2, 2, 400, dtype=np.float32)
points = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
probability = clf.predict_proba(points)[:, 1].reshape(400, 400)
owner = clf.apply(points).reshape(400, 400)
posterior = np.asarray(toy_posterior(points)).reshape(400, 400)

figure, axes = plt.subplots(figsize=(6, 5.2), layout="constrained")
shades = axes.contourf(side, side, probability, levels=np.linspace(0, 1, 21), cmap="RdBu_r", alpha=0.6)
axes.contour(side, side, owner, levels=np.arange(clf.n_cells_) + 0.5, colors="white", linewidths=1)
axes.scatter(*clf.model_.partition.centers.T, s=14, color="white", edgecolors="#444444", linewidths=0.6)
axes.contour(side, side, probability, levels=[0.5], colors="black", linewidths=1.8)
axes.contour(side, side, posterior, levels=[0.5], colors="black", linestyles="dashed", linewidths=1.2)
axes.scatter([], [], s=14, color="white", edgecolors="#444444", linewidths=0.6, label="center of a cell")
axes.plot([], [], color="black", linewidth=1.8, label="learned boundary")
axes.plot([], [], color="black", linestyle="dashed", linewidth=1.2, label="Bayes boundary")
axes.set(
    title=f"20 000 rows, {clf.n_cells_} cells of the first of {len(clf.members_)} models",
    xlabel="first feature",
    ylabel="second feature",
    aspect="equal",
)
axes.legend(loc="upper left", framealpha=0.9, fontsize=8)
figure.colorbar(shades, label="predicted probability", ticks=[0, 0.25, 0.5, 0.75, 1])
plt.show()

# %%
# Width and regularization of each cell were selected by cross-validation. Every solve has a certificate, its duality
# gap. Lams beyond the end of a path were not solved; their gap is NaN.

largest = max(np.nanmax(cell.certificates.gap) for cell in clf.model_.cells if cell.certificates.gap.size)
print(clf.cells_[0])
print(f"largest duality gap: {largest:.1e}")
