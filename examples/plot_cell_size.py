"""
A grid search over the cell size
================================

The cell size trades time for error; all other hyper-parameters are selected by the fit itself. ``GridSearchCV`` works
with ``LocalSVC`` as with any other estimator. Each fit uses all cores, so the search runs one fit at a time.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV

from localsvm import LocalSVC
from localsvm.data import load_covtype_sample

X, y = load_covtype_sample()
sizes = [100, 250, 500, 1000, 2000]
search = GridSearchCV(LocalSVC(n_folds=3, grid=6), {"cell_size": sizes}, cv=3).fit(X[:4500], y[:4500])
print(search.best_params_, f"test error {1 - search.score(X[10_000:], y[10_000:]):.3f}")

# %%
found = search.cv_results_
error = 1 - found["mean_test_score"]
spread = found["std_test_score"] / np.sqrt(3)
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
left.errorbar(sizes, error, yerr=spread, marker="o", capsize=3, color="#2667c9")
left.set(xscale="log", xlabel="cell size", ylabel="cross-validated error")
right.plot(sizes, found["mean_fit_time"], marker="o", color="#d9661f")
right.set(xscale="log", xlabel="cell size", ylabel="fitting time in seconds", ylim=(0, None))
for axes in (left, right):
    axes.set_xticks(sizes, map(str, sizes))
    axes.minorticks_off()
plt.show()
