"""
A function of varying frequency
===============================

Least-squares regression of a chirp, whose frequency is high on the left and low on the right. A single SVM has one
width. It must be narrow enough for the left part, and therefore overfits the noise on the right. Each cell has its own
width.
"""

import matplotlib.pyplot as plt
import numpy as np

from localsvm import Grid, LocalSVR


def chirp(x):
    return np.sin(4 / (x + 0.06))


rng = np.random.default_rng(0)
x = rng.uniform(size=3000)
y = chirp(x) + 0.2 * rng.normal(size=3000)
one = LocalSVR(partition="none", grid=Grid(width=(0.01, 1)), n_folds=3).fit(x[:, None], y)
local = LocalSVR(cell_size=600).fit(x[:, None], y)

# %%
# The error with respect to the noise-free function, and the width selected in each cell, in units of the scaled
# feature.

grid = np.linspace(0, 1, 2000)
for name, model in {"single SVM": one, "cells": local}.items():
    rmse = np.sqrt(np.mean((model.predict(grid[:, None]) - chirp(grid)) ** 2))
    print(f"{name}: root mean squared error {rmse:.3f}, {model.timings_['total']:.2f} s")

figure, (above, below) = plt.subplots(2, 1, figsize=(7, 5.5), sharex=True, height_ratios=(3, 1), layout="constrained")
above.scatter(x, y, s=2, color="#b8c0ca")
above.plot(grid, chirp(grid), color="black", linewidth=1, label="true function")
above.plot(grid, one.predict(grid[:, None]), color="#d9661f", linewidth=1.5, label="single SVM")
above.plot(grid, local.predict(grid[:, None]), color="#2667c9", linewidth=1.5, label=f"{local.n_cells_} cells")
above.legend(loc="lower right")
above.set(ylabel="target")
widths = np.array([cell["width"] for cell in local.cells_])[local.apply(grid[:, None])]
below.step(grid, widths, color="#2667c9")
below.axhline(one.cells_[0]["width"], color="#d9661f", linewidth=1)
below.set(yscale="log", xlabel="feature", ylabel="width")
plt.show()
