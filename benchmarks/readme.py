"""The README's table: localsvm beside LightGBM and CatBoost on six data sets, from benchmarks/results/accuracy.csv.

python -m benchmarks.readme            print it
python -m benchmarks.readme --write    write it to README.md
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks.accuracy.comparison import last_runs
from benchmarks.accuracy.measures import HIGHER_IS_BETTER, MEASURES
from benchmarks.accuracy.programs import BETTER_LIGHTGBM
from benchmarks.command_line import command_parser
from benchmarks.csv_store import RESULTS
from benchmarks.marked import replace_marked
from benchmarks.tables import markdown_table

PAGE = Path(__file__).resolve().parents[1] / "README.md"
MARK = "benchmarks.readme"
SHOWN = {
    "bird_strikes": "damage by bird strikes",
    "hr_job_change": "job changes",
    "adult": "adult income",
    "chile_vote": "votes, 4 classes",
    "kc_house": "house prices",
    "kin40k": "robot arm",
}
PROGRAMS = {"localsvm": "localsvm", BETTER_LIGHTGBM: "LightGBM", "CatBoost": "CatBoost"}
MEASURE_NAMES = {"auc": "AUC", "log_loss": "log-loss", "rmse": "RMSE"}


def table() -> str:
    """Return the table: the primary measure of each program, the best in bold, and processor seconds of the fit."""
    runs = last_runs(pd.read_csv(RESULTS / "accuracy.csv"))
    lines = [_line(runs[runs["set"] == name], text) for name, text in SHOWN.items()]
    return markdown_table(["", "rows", "measure", *PROGRAMS.values()], lines) + "\n"


def _line(runs: pd.DataFrame, text: str) -> list[str]:
    measure = MEASURES[runs["kind"].iloc[0]][0]
    runs = runs[runs["program"].isin(PROGRAMS)]
    common = runs.groupby("split")["program"].transform("nunique") == len(PROGRAMS)
    mean = runs[common].groupby("program")[[measure, "processor_seconds"]].mean().reindex(list(PROGRAMS))
    best = mean[measure].max() if measure in HIGHER_IS_BETTER else mean[measure].min()
    cells = [_cell(value, seconds, value == best) for value, seconds in mean.itertuples(index=False)]
    return [text, f"{runs['n_train'].iloc[0]:,}", MEASURE_NAMES[measure], *cells]


def _cell(value: float, seconds: float, is_best: bool) -> str:
    shown = f"{value:.3f}"
    return f"{f'**{shown}**' if is_best else shown} ({seconds:.1f} s)"


def main() -> None:
    parser = command_parser("readme", __doc__)
    parser.add_argument("--write", action="store_true", help="write the table to README.md")
    if parser.parse_args().write:
        replace_marked(PAGE, MARK, table())
    else:
        print(table(), end="")


if __name__ == "__main__":
    main()
