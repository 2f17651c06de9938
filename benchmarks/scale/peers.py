"""Part `peers`: localsvm against liquidSVM on whole sets, cells of 2000 rows, 5 folds, 10 x 10 grids.

Both work on min-max scaled rows; liquidSVM with 1 or 2 threads, whichever is better, localsvm with all
cores and its own grid: with liquidSVM's Gaussian kernel, and in a second line with a kernel that it chooses, as it does
where none is asked for. Rows of skin and cod-rna occur many times, and so a random split leaves many
test rows in the training set: the error on the other ones stands beside the plain error.
"""

from __future__ import annotations

from benchmarks.csv_store import Figures, fastest, training
from benchmarks.scale.problems import ALL, PAPER, Problem
from benchmarks.scale.programs import local
from benchmarks.scale.store import Run, Store
from benchmarks.tables import at_most, number, print_table, ratio

THREADS = (1, 2)
LIQUIDSVM_KERNEL: dict[str, str] = {}
KERNELS = (LIQUIDSVM_KERNEL, {"kernel": "auto"})
REAL_GOAL, GENERATED_GOAL, PREDICT_GOAL = 20, 15, 30
HEADER = (
    *("", "train: liquidSVM", "localsvm", "ratio", "goal", "cpu: liquidSVM", "localsvm"),
    *("predict: liquidSVM", "localsvm", "ratio", "goal"),
    *("error: liquidSVM", "localsvm", "unseen: liquidSVM", "localsvm", "GB: liquidSVM", "localsvm"),
    *("cells: liquidSVM", "localsvm"),
)


def compare(store: Store, sets: list[str], programs: list[str], threads: list[int], partition: str) -> None:
    """Measure the programs on these sets, and print what there is of both."""
    rows = []
    for problem in (ALL[name] for name in sets):
        theirs = liquidsvm(store, problem, threads) if "liquidsvm" in programs else None
        for kernel in KERNELS if "localsvm" in programs else (LIQUIDSVM_KERNEL,):
            settings = local(partition) | kernel
            ours = store.best(Run(problem, "localsvm", settings)) if "localsvm" in programs else None
            rows.append(_row(problem, theirs or {}, ours or {}, kernel))
    print_table(
        "liquidSVM and localsvm, cells of 2000 rows; seconds, cpu: of training, all threads; * goal reached",
        HEADER,
        rows,
    )


def liquidsvm(store: Store, problem: Problem, threads: list[int]) -> Figures | None:
    """Return the best of these numbers of threads."""
    runs = [store.best(Run(problem, "liquidsvm", {"threads": count})) for count in threads]
    known = [run for run in runs if run is not None]
    return fastest(known) if known else None


def _row(problem: Problem, theirs: Figures, ours: Figures, kernel: dict[str, str]) -> list[str]:
    goal = REAL_GOAL if problem.name in PAPER else GENERATED_GOAL
    train = [training(run) if run else None for run in (theirs, ours)]
    cpu = [run.get("cpu") for run in (theirs, ours)]
    predict = [run.get("predict") for run in (theirs, ours)]
    errors = [run.get("error") for run in (theirs, ours)]
    unseen = [run.get("error_unseen") for run in (theirs, ours)]
    peak = [run["peak"] / 1e9 if run else None for run in (theirs, ours)]
    cells = [run.get("cells") for run in (theirs, ours)]
    return [
        f"{problem.name}, kernel chosen" if kernel else problem.name,
        *(number(train[0]), number(train[1], ".2f"), ratio(train[0], train[1], goal), f"{goal}x"),
        *(number(cpu[0]), number(cpu[1], ".2f")),
        *(
            number(predict[0], ".2f"),
            number(predict[1], ".3f"),
            ratio(predict[0], predict[1], PREDICT_GOAL),
            f"{PREDICT_GOAL}x",
        ),
        *(number(errors[0], ".5f"), at_most(errors[1], errors[0], ".5f")),
        *(number(unseen[0], ".5f"), at_most(unseen[1], unseen[0], ".5f")),
        *(number(value, ".2f") for value in peak),
        *(number(value, ".0f") for value in cells),
    ]
