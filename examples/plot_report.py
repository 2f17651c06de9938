"""
Save, load, and a page about the model
======================================

A model file opens at once, whatever its size, and holds no pickle. The report is one HTML file; its plots can be had
by themselves.
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
    print(f"a page of {page.stat().st_size / 1e6:.1f} MB")

# %%
# Where it errs: cells in the plane of the first two principal axes, by their error on test rows.

PartitionDisplay.from_estimator(clf, color="loss", evaluation=result)
plt.show()

# %%
# What cells chose: the validation risk over the grid of widths and lams,

ValidationSurfaceDisplay.from_estimator(clf)
plt.show()

# %%
# and what cells are like.

CellsDisplay.from_estimator(clf)
plt.show()
