"""What an installed wheel must be able to do; run with -I, so that the source tree is not seen."""

from importlib import resources

import numpy as np

import localsvm
from localsvm import LocalSVC
from localsvm.data import load_covtype_sample, toy_mixture

for name in (
    "py.typed",
    "_native.pyi",
    "data/COVTYPE_LICENSE.txt",
    "report/page.html",
    "report/page.css",
    "report/page.js",
):
    if not resources.files("localsvm").joinpath(name).is_file():
        raise SystemExit(f"the wheel lacks localsvm/{name}")

X, y = toy_mixture(400, n_features=2, random_state=0)
model = LocalSVC(partition="none", n_folds=3, random_state=0).fit(X[:200], y[:200])
error = np.mean(model.predict(X[200:]) != y[200:])
if error > 0.3:
    raise SystemExit(f"the fitted model errs on {error:.0%} of the toy problem; 14 % is optimal")
if load_covtype_sample()[0].shape != (20_000, 54):
    raise SystemExit("the bundled covtype sample is not 20 000 x 54")
print(f"the wheel works: {localsvm.__version__}, {localsvm.simd_level()}, toy error {error:.3f}")
