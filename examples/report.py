"""Writes localsvm-report.html: a page about the cells of the paper's toy mixture (Sec. 4), with test rows.

python examples/report.py
"""

from localsvm import LocalSVC
from localsvm.data import toy_mixture
from localsvm.evaluation import Evaluator
from localsvm.report import write_report

X, y = toy_mixture(40_000, 2, random_state=0)
clf = LocalSVC(cell_size=500).fit(X[:20_000], y[:20_000])

evaluator = Evaluator(clf)
evaluator.add(X[20_000:], y[20_000:])
result = evaluator.result()
error = result.headline
print(f"error {error.value:.4f}, between {error.low:.4f} and {error.high:.4f} with 95 % confidence")
print(write_report(clf, "localsvm-report.html", result, title="The toy mixture"))
