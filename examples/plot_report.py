"""
Save and load a model, and report on it
=======================================

A model file is memory-mapped, so that it loads immediately whatever its size, and contains no pickle. The report is a
single HTML file. Its plots are also available separately.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

import localsvm
from localsvm import LocalSVC
from localsvm.data import load_covtype_sample
from localsvm.evaluation import Evaluator
from localsvm.report import CellsDisplay, PartitionDisplay, ValidationSurfaceDisplay, write_report

X, y = load_covtype_sample()
clf = LocalSVC(cell_size=500, n_folds=3).fit(X[:6000], y[:6000])

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "covtype.lsvm"
    clf.save(path, info={"rows": "the first 6000"})
    print(f"{path.stat().st_size / 1e6:.1f} MB")
    again = localsvm.load(path)
    print("the same predictions:", (again.predict(X[6000:7000]) == clf.predict(X[6000:7000])).all())

    evaluator = Evaluator(again)
    evaluator.add(X[6000:12000], y[6000:12000])
    result = evaluator.result()
    print(result.headline)
    page = write_report(again, Path(folder) / "report.html", result, title="Forest cover")
    print(f"report of {page.stat().st_size / 1e6:.1f} MB")

# %%
# Where errors occur: the cells in the plane of the first two principal components, colored by test error.

PartitionDisplay.from_estimator(clf, color="loss", evaluation=result)
plt.show()

# %%
# The validation risk over the grid of widths and lams, and how many cells selected each point.

ValidationSurfaceDisplay.from_estimator(clf)
plt.show()

# %%
# Histograms of the cells: size, radius, selected hyper-parameters, support vectors and risk.

CellsDisplay.from_estimator(clf)
plt.show()
