"""
Prediction bands: quantiles and expectiles
==========================================

If the noise depends on the feature, the conditional mean describes the targets poorly. Quantiles of several levels are
trained together and never cross. About 80 % of the targets lie between the .1 and .9 quantiles.
"""

import matplotlib.pyplot as plt
import numpy as np

from localsvm import LocalExpectileRegressor, LocalQuantileRegressor

rng = np.random.default_rng(0)
x = rng.uniform(-3, 3, size=4000)
y = np.sin(2 * x) + (0.1 + 0.25 * np.abs(x)) * rng.standard_t(df=4, size=4000)
X = x[:, None]
quantiles = LocalQuantileRegressor(quantile=[0.1, 0.5, 0.9], cell_size=800, n_folds=3).fit(X[:3000], y[:3000])
expectiles = LocalExpectileRegressor(expectile=[0.1, 0.9], cell_size=800, n_folds=3).fit(X[:3000], y[:3000])

low, middle, high = quantiles.predict(X[3000:]).T
inside = np.mean((low <= y[3000:]) & (y[3000:] <= high))
print(f"{inside:.1%} of the test targets lie between the quantiles .1 and .9")

# %%
grid = np.linspace(-3, 3, 600)
low, middle, high = quantiles.predict(grid[:, None]).T
figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
axes.scatter(x[3000:], y[3000:], s=3, color="#98a1ab")
axes.fill_between(grid, low, high, color="#2667c9", alpha=0.2, label="quantiles .1 to .9")
axes.plot(grid, middle, color="#2667c9", label="median")
for number, bound in enumerate(expectiles.predict(grid[:, None]).T):
    label = "expectiles .1 and .9" if number == 0 else None
    axes.plot(grid, bound, color="#d9661f", linestyle="dashed", linewidth=1.2, label=label)
axes.set(xlabel="feature", ylabel="target", ylim=(-4, 4))
axes.legend(loc="lower left")
plt.show()
