"""The sets that programs are compared on: classes, means and quantiles, a fifth of the rows for testing.

Those of the folder $LOCALSVM_DATA, and those that come inside packages, which nobody has chosen for us. Large sets
are cut to 100 000 training rows, so that most programs finish.
"""

from __future__ import annotations

from benchmarks.tasks.problems import Problem

MOST_ROWS = 100_000
_CLASSES = {
    **{
        "covtype7": 581_012,
        "cod-rna": 331_152,
        "skin": 245_057,
        "ijcnn1": 49_990,
        "higgs_26k": 25_970,
        "susy_10k": 10_000,
    },
    **{"gas_drift_partial": 6697, "letter-recognition": 20_000, "magic": 19_020, "penbased": 10_992, "satimage": 6435},
    **{"optdigits": 5620, "texture": 5500, "phoneme": 5404, "spambase": 4597, "digits": 1797, "breast_cancer": 569},
}
_MEANS = {"kin40k": 40_000, "protein": 45_730, "bike": 17_379, "diamonds": 53_940, "diabetes": 442}
_QUANTILES = {"kin40k": 40_000, "protein": 45_730, "bike": 17_379, "diamonds": 53_940}
TITLES = {"classes": "error", "mean": "squared error, variance 1", "quantiles": "pinball loss, variance 1"}


def _problem(name: str, task: str, n_rows: int) -> Problem:
    n_train = min(MOST_ROWS, n_rows * 4 // 5)
    return Problem(name, task, n_train, min(n_rows - n_train, n_train // 4))


PROBLEMS = {
    f"{name}{suffix}": _problem(name, task, n_rows)
    for task, suffix, sizes in (
        ("classes", "", _CLASSES),
        ("mean", "-mean", _MEANS),
        ("quantiles", "-quantiles", _QUANTILES),
    )
    for name, n_rows in sizes.items()
}
