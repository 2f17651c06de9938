"""The page of results, generated from the CSVs of benchmarks/results when the documentation is built.

Enters: runs, one per line. Leaves: Markdown with one section per comparison, with machine and dates. A CSV without a
section of its own is shown as a table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from benchmarks.accuracy.tables import tables as accuracy_tables
from benchmarks.csv_store import RESULTS, commit_day
from benchmarks.tables import markdown_table

Frame = pd.DataFrame
NAMES = {
    "toy4": "toy mixture",
    "higgslike": "HIGGS-like, generated",
    "covlike": "covtype-like, generated",
    "covtype": "covtype, class 2",
    "covtype7": "covtype, 7 classes",
    "letter": "letter-like, 26 classes, generated",
    "kin40k": "kin40k, means",
    "protein": "protein, means",
    "bike": "bike sharing, quantiles",
    "ecbdllike": "ECBDL-like, generated",
}
SEEDED = "random_seed|random_state"  # in the settings of runs that compare seeds
DEFAULT_CELLS = "partition=voronoi cell_size=2000 scaling=minmax"
HEAD = """# Results

This page is generated from `benchmarks/results/*.csv` when the site is built; [contributing](contributing.md#benchmark)
describes how to repeat the measurements. Times are wall-clock seconds on all cores. Errors are test errors.
"""
TAIL = """
```{toctree}
:maxdepth: 1
:glob:

paper*
peers*
```
"""


def write_page(file: Path, results: Path = RESULTS) -> None:
    """Write the page, unless it has not changed, so that Sphinx does not build it again."""
    parts = [HEAD]
    for path in sorted(results.glob("*.csv")):
        runs = pd.read_csv(path, dtype={"revision": str})
        sections = SECTIONS.get(path.stem, [lambda runs, name=path.stem: _as_it_is(name, runs)])
        parts += [section(runs) for section in sections] + [_origin(path.name, runs)]
    text = "\n".join([*parts, TAIL])
    if not file.exists() or file.read_text() != text:
        file.write_text(text)


def _origin(name: str, runs: Frame) -> str:
    machines = "; and ".join(dict.fromkeys(runs["machine"])) if "machine" in runs else "an unknown machine"
    days = runs["date"] if "date" in runs else runs.get("revision", pd.Series(dtype=str)).map(commit_day)
    known = sorted(set(days.dropna().astype(str)) - {""})
    when = f", {known[0]} to {known[-1]}" if len(known) > 1 else f", {known[0]}" if known else ""
    return f"*`{name}`: {len(runs)} runs on {machines}{when}.*\n"


def _peers(runs: Frame) -> str:
    rows = []
    for (name, n), of_set in runs.groupby(["set", "n_train"], sort=False):
        theirs = of_set[(of_set["program"] == "liquidsvm") & ~of_set["settings"].str.contains(SEEDED)]
        for kernel, settings in (("", DEFAULT_CELLS), (", kernel chosen", f"{DEFAULT_CELLS} kernel=auto")):
            ours = of_set[(of_set["program"] == "localsvm") & (of_set["settings"] == settings)]
            if len(theirs) and len(ours):
                best = [_fastest(theirs), _fastest(ours)]
                rows.append(
                    [
                        *(_named(name) + kernel, f"{n:,}", *_pair(best, "train", 1), *_pair(best, "predict", 2)),
                        *(_decimals(run["error"], 4) for run in best),
                        *(_decimals(run["peak"] / 1e9, 1) for run in best),
                    ]
                )
    header = ["", "rows", "train, s: liquidSVM", "localsvm", "ratio", "predict, s: liquidSVM", "localsvm", "ratio"]
    header += ["error: liquidSVM", "localsvm", "GB: liquidSVM", "localsvm"]
    told = (
        "Cells of at most 2000 rows, 5 folds, 10 x 10 grids; liquidSVM with one or two threads, whichever was faster. "
        'The kernel is the Gaussian, as in liquidSVM, or the one that localsvm selects by default (`kernel="auto"`).'
    )
    return _section("Against liquidSVM", told, header, rows)


def _seeds(runs: Frame) -> str:
    seeded = runs[runs["settings"].str.contains(SEEDED)].groupby(["set", "program", "settings"], sort=False).tail(1)
    rows = []
    for name, of_set in seeded.groupby("set", sort=False):
        by_program = [of_set[of_set["program"] == program] for program in ("liquidsvm", "localsvm")]
        if min(map(len, by_program)) > 1:
            errors = [_mean_and_error(of[column]) for column in ("error", "error_unseen") for of in by_program]
            rows.append([_named(name), ", ".join(str(len(of)) for of in by_program), *errors])
    header = ["", "seeds", "error: liquidSVM", "localsvm", "unseen rows: liquidSVM", "localsvm"]
    told = (
        "The same rows with several random seeds, which determine centers and folds; means and their standard errors. "
        "Unseen rows are test rows without a duplicate among the training rows."
    )
    return _section("Errors over random seeds", told, header, rows)


def _mean_and_error(values: pd.Series) -> str:
    return f"{values.mean():.5f} ± {values.sem():.5f}"


def _millions(runs: Frame) -> str:
    large = runs[(runs["set"] == "higgslike") & (runs["n_train"] >= 100_000) & (runs["program"] == "localsvm")]
    rows = [
        [
            f"{n:,}",
            *(_decimals(best["train"], 1), _decimals(best["predict"], 2), _decimals(best["error"], 4)),
            *(_decimals(best["peak"] / 1e9, 1), f"{best['cells']:,.0f}", f"{best['support_vectors']:,.0f}"),
        ]
        for n, best in ((n, _fastest(group)) for n, group in large.groupby("n_train"))
    ]
    header = ["rows", "train, s", "predict 100 000, s", "error", "GB", "cells", "support vectors"]
    told = "Generated data with the 28 columns and the difficulty of HIGGS; memory includes the caller's array."
    return _section("Millions of rows", told, header, rows)


def _cell_sizes(runs: Frame) -> str:
    some = runs[(runs["n_train"] == 60_000) & (runs["program"] == "localsvm")].copy()
    some["size"] = some["settings"].str.extract(r"cell_size=(\d+)").astype(int)
    rows = [
        [
            _named(name),
            f"{size:,}",
            _decimals(best["train"], 1),
            _decimals(best["predict"], 2),
            _decimals(best["error"], 4),
        ]
        for (name, size), best in ((key, _fastest(group)) for key, group in some.groupby(["set", "size"]))
    ]
    header = ["", "cell size", "train, s", "predict, s", "error"]
    return _section(
        "Larger cells", "60 000 rows: time grows with the cell size, the error decreases slowly.", header, rows
    )


def _chunks(runs: Frame) -> str:
    rows = []
    for (name, n), of_set in runs.groupby(["set", "n_train"], sort=False):
        chunks = of_set[of_set["settings"].str.startswith("partition=chunks")]
        cells = of_set[of_set["settings"] == DEFAULT_CELLS]
        if len(chunks) and len(cells):
            best = [_fastest(chunks), _fastest(cells)]
            rows.append(
                [_named(name), f"{n:,}", *_pair(best, "predict", 2), *(_decimals(run["error"], 4) for run in best)]
            )
    header = ["", "rows", "predict, s: chunks", "cells", "ratio", "error: chunks", "cells"]
    return _section(
        "Random chunks", "Chunks of 2000 rows, all of which predict every row, compared with cells.", header, rows
    )


def _boosting(runs: Frame) -> str:
    chosen = runs[(runs["program"] == "lightgbm") | runs["settings"].str.endswith("scaling=auto")]
    rows = [
        [
            *(_named(name), _told(program, settings), _decimals(best["train"], 1), _decimals(best["predict"], 2)),
            *(_decimals(best["error"], 4), _decimals(best["peak"] / 1e9, 1)),
        ]
        for (name, program, settings), best in (
            (key, _fastest(group)) for key, group in chosen.groupby(["set", "program", "settings"], sort=False)
        )
    ]
    header = ["", "", "train, s", "predict, s", "error", "GB"]
    return _section("Against LightGBM", "All cores; localsvm with its defaults.", header, rows)


def _tasks(runs: Frame) -> str:
    losses = {"classes": "error", "mean": "mse", "quantiles": "pinball"}
    rows = []
    for (name, task, n), of_set in runs[runs["task"].isin(losses)].groupby(["set", "task", "n_train"], sort=False):
        means = [_mean(of_set[of_set["program"] == program]) for program in ("liquidsvm", "localsvm")]
        loss = losses[task]
        rows.append(
            [
                *(_named(name), f"{n:,}", str(of_set["split"].nunique())),
                *(*_pair(means, "train", 1), *_pair(means, "predict", 2), loss),
                *(_decimals(mean[loss], 4) for mean in means),
            ]
        )
    header = [
        "",
        "rows",
        "splits",
        "train, s: liquidSVM",
        "localsvm",
        "ratio",
        "predict, s: liquidSVM",
        "localsvm",
        "ratio",
    ]
    told = "Multiclass classification, means and quantiles; averages over random splits."
    return _section("Other learning tasks", told, [*header, "loss", "liquidSVM", "localsvm"], rows)


def _probabilities(runs: Frame) -> str:
    some = runs[runs["task"] == "probabilities"]
    rows = [
        [
            name,
            program,
            *(
                _decimals(mean[column], digits)
                for column, digits in (("log_loss", 4), ("calibration_error", 4), ("train", 1))
            ),
        ]
        for (name, program), mean in (
            (key, _mean(group)) for key, group in some.groupby(["set", "program"], sort=False)
        )
    ]
    header = ["", "", "log-loss", "calibration error", "train, s"]
    told = "8000 training rows, averages over five splits; SVC is calibrated by `CalibratedClassifierCV`."
    return _section("Probabilities", told, header, rows)


def _rates(runs: Frame) -> str:
    some = runs[runs["task"] == "rates"].fillna({"settings": "plain"})
    rows = [
        [name, settings, *(_decimals(mean[column], 4) for column in ("tpr", "tnr", "tpr_tnr"))]
        for (name, settings), mean in (
            (key, _mean(group)) for key, group in some.groupby(["set", "settings"], sort=False)
        )
    ]
    told = "One positive in ten, averages over five splits; the best class weight is selected on the test rows."
    return _section("Rare classes", told, ["", "", "TPR", "TNR", "TPR x TNR"], rows)


def learned_metric_lines(runs: Frame) -> list[list[str]]:
    """Return losses and seconds of the learned metric and the other programs, header first.

    For LightGBM, the better of two sizes on each split counts.
    """
    runs = runs.fillna({"settings": ""})
    runs["column"] = [_column(*run) for run in zip(runs["program"], runs["settings"], strict=True)]
    columns = ("localsvm", "the paper's metric", "LightGBM", "xRFM", "liquidSVM")
    rows = []
    by_size = runs.sort_values("n_train", ascending=False, kind="stable")
    for (name, task, n), of_set in by_size.groupby(["set", "task", "n_train"], sort=False):
        means = [_mean(_best(of_set[of_set["column"] == column])) for column in columns]
        digits = 4 if task == "classes" else 3
        losses = [_decimals(mean.get("loss"), digits) for mean in means]
        seconds = [_decimals(mean.get("train"), 1) for mean in means]
        last = of_set.groupby(["column", "split", "settings"]).tail(1)
        for column, limit in last.dropna(subset=["limit"]).set_index("column")["limit"].items():
            seconds[columns.index(str(column))] = f"> {limit:.0f}"
        kind = "error" if task == "classes" else "MSE"
        rows.append([name, f"{n:,}", str(of_set["split"].nunique()), kind, *losses, *seconds])
    return [["", "rows", "splits", "loss", *columns, *(f"{program}, s" for program in columns)], *rows]


def _column(program: str, settings: str) -> str:
    if program == "localsvm" and settings:
        return "the paper's metric"
    return {"LightGBM of a size": "LightGBM", "liquidsvm": "liquidSVM"}.get(program, program)


def _learned_metric(runs: Frame) -> str:
    header, *rows = learned_metric_lines(runs)
    told = (
        '`localsvm` with its defaults, and with `relevance=None, kernel="gauss"`; of LightGBM the better of two sizes, '
        "chosen on the test rows; xRFM with its defaults and liquidSVM with one thread, both on one split. Averages "
        "over random splits; squared errors in units of the target's variance; training seconds, > if stopped."
    )
    return _section("A learned metric", told, header, rows)


def _accuracy(runs: Frame) -> str:
    told = (
        "Defaults of all programs, two threads; of LightGBM also 500 trees x 255 leaves, and the better of the two by "
        "each measure on the test rows. Averages over random splits; the standard error of a paired difference is the "
        "larger of two estimates, over splits and over ten parts of the test rows. > is the limit of processor seconds "
        "at which a program was stopped. No setting of localsvm was chosen on a reserve set."
    )
    parts = [
        f"### {table.title}\n\n{table.note}\n\n{markdown_table(table.lines[0], table.lines[1:])}\n"
        for table in accuracy_tables(runs, reserve=True)
    ]
    return "\n".join(["## Probabilities, ranking and mixed types", "", told, "", *parts])


def _best(runs: Frame) -> Frame:
    """Return the run with the lowest loss of each split."""
    last = runs.groupby(["split", "settings"]).tail(1).dropna(subset=["loss"])  # failed runs have no loss
    return last.loc[last.groupby("split")["loss"].idxmin()]


def _spark(runs: Frame) -> str:
    rows = [
        [
            *(_named(run["set"]), f"{run['n_train']:,}", f"{run['program']}, {run['cores']} cores", run["settings"]),
            *(_decimals(run["train"], 1), f"{run['n_train'] / run['train']:,.0f}", _decimals(run["predict"], 1)),
            *(_decimals(run["shuffle"] / 1e6, 0), _decimals(run["error"], 4), _decimals(run["tpr"] * run["tnr"], 3)),
        ]
        for _, run in runs.groupby(["set", "n_train", "program", "cores", "settings"], sort=False).tail(1).iterrows()
    ]
    header = ["", "rows", "", "", "train, s", "rows/s", "predict, s", "shuffle, MB", "error", "TPR x TNR"]
    told = (
        "A standalone cluster on one machine with two cores, one worker per core; the start of the session is excluded."
    )
    return _section("Apache Spark", told, header, rows)


def _as_it_is(name: str, runs: Frame) -> str:
    shown = runs.drop(columns=["revision", "machine", "date"], errors="ignore").dropna(axis="columns", how="all")
    rows = [[_plain(value) for value in line] for line in shown.itertuples(index=False)]
    return _section(name.replace("_", " ").capitalize(), "", list(shown.columns), rows)


SECTIONS: dict[str, Sequence[Callable[[Frame], str]]] = {
    "accuracy": (_accuracy,),
    "learned_metric": (_learned_metric,),
    "spark": (_spark,),
    "scale": (_peers, _seeds, _millions, _cell_sizes, _chunks, _boosting),
    "tasks": (_tasks, _probabilities, _rates),
}


def _fastest(runs: Frame) -> pd.Series:
    """Return the fastest training, with the fastest prediction; of repeated measurements the last counts."""
    runs = _with_select(runs.groupby(["settings", "repeat"]).tail(1))
    best = runs.loc[runs["train"].idxmin()].copy()
    best["predict"] = runs["predict"].min()
    return best


def _mean(runs: Frame) -> pd.Series:
    """Return the means over splits, from the last run of each."""
    return _with_select(runs.groupby("split").tail(1)).mean(numeric_only=True)


def _with_select(runs: Frame) -> Frame:
    """Return the runs with liquidSVM's selection time added to its training time."""
    return runs.assign(train=runs["train"] + runs["select"].fillna(0.0))


def _pair(runs: Sequence[pd.Series], column: str, digits: int) -> list[str]:
    first, second = (run[column] for run in runs)
    return [_decimals(first, digits), _decimals(second, digits), f"{first / second:.0f}x"]


def _decimals(value: float | None, digits: int) -> str:
    """Format a number with this many decimals, with more if it would be zero."""
    return "-" if value is None or pd.isna(value) else f"{value:.{digits}f}" if value >= 10**-digits else f"{value:.1g}"


def _plain(value: object) -> str:
    if isinstance(value, float):
        return "-" if pd.isna(value) else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _named(name: str) -> str:
    return NAMES.get(name, name)


def _told(program: str, settings: str) -> str:
    if program != "lightgbm":
        return program
    trees, leaves = re.findall(r"\d+", settings)
    return f"LightGBM, {trees} trees x {leaves} leaves"


def _section(title: str, told: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return f"## {title}\n\n{told}\n\n{markdown_table(header, rows)}\n"
