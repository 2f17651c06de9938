"""`localsvm train` and `localsvm resume`: from a data file to a model file."""

from __future__ import annotations

import shlex
import tempfile
import time
import warnings
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import typer

from localsvm import LocalExpectileRegressor, LocalQuantileRegressor, LocalSVC, LocalSVR, advise
from localsvm.cli.columns import column_notes
from localsvm.cli.facts import found_in_words, model_facts
from localsvm.cli.failures import STOPPED
from localsvm.cli.output import Output, duration
from localsvm.cli.progress import Work
from localsvm.cli.wording import in_options
from localsvm.data.disk import RowFile
from localsvm.data.files import FileOptions, open_file
from localsvm.data.files.formats import STANDARD
from localsvm.data.files.loading import Loaded, MemoryBudget, Roles, load
from localsvm.data.files.table import listed
from localsvm.data.labels import Labels
from localsvm.errors import InvalidParameter
from localsvm.estimators.base import LocalEstimator
from localsvm.estimators.parameters import check_memory
from localsvm.estimators.progress import shares
from localsvm.fit.forecast import Forecast
from localsvm.fit.memory import available_memory, give_back_large_blocks
from localsvm.storage.checkpoint import Checkpoint
from localsvm.storage.kept_cells import count_cells
from localsvm.storage.manifest import NAME as MANIFEST
from localsvm.storage.manifest import read_manifest

ESTIMATORS: dict[str, type[LocalEstimator]] = {
    "classify": LocalSVC,
    "regress": LocalSVR,
    "quantile": LocalQuantileRegressor,
    "expectile": LocalExpectileRegressor,
}
TASKS = ("auto", *ESTIMATORS)

# Integers with more distinct values are regression targets.
_MOST_CLASSES = 50
_MEMORY_FOR_ROWS = 0.5  # fraction; the rest is for training


@dataclass(frozen=True)
class TrainOptions:
    """Options of `train`, serializable as JSON: a checkpoint stores them for `resume`."""

    data: str
    target: str
    output: str
    task: str = "auto"
    weight: str | None = None
    groups: str | None = None
    time: str | None = None
    features: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    levels: tuple[float, ...] = ()
    parameters: dict[str, Any] | None = None
    """Parameters of the estimator."""
    file: dict[str, Any] | None = None
    """Arguments of `FileOptions`."""
    checkpoint: str | None = None
    workspace: str | None = None

    @classmethod
    def read(cls, checkpoint: Path) -> TrainOptions:
        """Return the options that are stored in a checkpoint."""
        kept = read_manifest(checkpoint).info.get("train")
        if not isinstance(kept, dict) or {"data", "target", "output"} - kept.keys():
            raise InvalidParameter(
                f"{str(checkpoint)!r} was not created by `localsvm train`. Continue it from Python: fit an estimator "
                "with the same data, parameters and checkpoint."
            )
        known = {field.name for field in fields(cls)}
        return cls(**{name: _tuples(value) for name, value in kept.items() if name in known})


def _tuples(value: Any) -> Any:
    """Return a list, which JSON has in place of tuples, as a tuple."""
    return tuple(value) if isinstance(value, list) else value


def run_train(options: TrainOptions, out: Output) -> None:
    """Read, fit, save, and print a summary."""
    begin = time.perf_counter()
    _check_output(options)
    work = Work(quiet=out.quiet)
    try:
        with work, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            done = _train(options, work)
            for warning in caught:
                work.note(in_options(str(warning.message)))
    except KeyboardInterrupt:
        raise typer.Exit(_stopped(options, work)) from None
    found = _summary(done, options, time.perf_counter() - begin)
    out.summary(found, _in_words(found, work))


@dataclass(frozen=True)
class _Trained:
    estimator: LocalEstimator
    task: str
    n_rows: int


def _train(options: TrainOptions, work: Work) -> _Trained:
    loaded = _load(options, work)
    task = _task(options, loaded)
    estimator = _estimator(task, options)
    if options.checkpoint is not None:
        columns = list(loaded.table.shown or ())
        _check_columns(options.checkpoint, columns)
        info = {"train": _for_resume(options, task), "columns": columns}
        estimator.checkpoint = Checkpoint(options.checkpoint, info)
    estimator.fit(loaded.table, loaded.target, loaded.weight, **_ties(loaded), callback=work)
    work.phase("writing the model")
    estimator.save(options.output, info={"target": options.target})
    return _Trained(estimator, task, len(loaded.table.X))


def _check_columns(checkpoint: str, columns: list[str]) -> None:
    """Raise `InvalidParameter` if the columns of a checkpoint are others; the fit itself only sees their values."""
    if not Path(checkpoint, MANIFEST).exists():
        return
    known = read_manifest(checkpoint).info.get("columns", columns)
    if known == columns:
        return
    gone, new = sorted(set(known) - set(columns)), sorted(set(columns) - set(known))
    found = [f"it has {listed(gone)} that the data lacks"] if gone else []
    found += [f"it lacks {listed(new)} of the data"] if new else []
    difference = " and ".join(found) or "its columns have another order"
    raise InvalidParameter(
        f"checkpoint={checkpoint!r} was made by another fit: {difference}. Give another directory, or train as before."
    )


def run_forecast(options: TrainOptions, out: Output) -> None:
    """Read, train a few cells, and print the forecast."""
    begin = time.perf_counter()
    with Work(quiet=out.quiet) as work:
        loaded = _load(options, work)
        read = time.perf_counter() - begin
        task = _task(options, loaded)
        estimator = _estimator(task, options)
        forecast = estimator.forecast(loaded.table, loaded.target, loaded.weight, **_ties(loaded), callback=work)
    out.result(_forecast(forecast, task, read), title="Forecast")


def run_advice(options: TrainOptions, out: Output) -> None:
    """Read, compare partitions, and print the recommendation."""
    with Work(quiet=out.quiet) as work:
        loaded = _load(options, work)
        estimator = _estimator(_task(options, loaded), options)
        given = {**_ties(loaded), "estimator": estimator, "callback": work}
        verdict = advise(loaded.table, loaded.target, loaded.weight, **given)
    chosen = verdict.chosen.parameters
    flags = f"--partition {chosen['partition']} --cell-size {chosen['cell_size']}"
    data, target = shlex.quote(options.data), shlex.quote(options.target)
    if out.json:
        out.result({**asdict(verdict), "options": flags})
        return
    sample = f", on {verdict.chosen.n_rows:,} random rows" if chosen["partition"] == "none" else ""
    typer.echo(f"{verdict}\n\nTrain with: localsvm train {data} --target {target} {flags}{sample}")


def _check_output(options: TrainOptions) -> None:
    """Refuse an output that cannot be written before training starts."""
    folder = Path(options.output).resolve().parent
    if not folder.is_dir():
        raise InvalidParameter(f"--output {options.output}: there is no directory {str(folder)!r}. Create it first.")
    if Path(options.output).is_dir():
        raise InvalidParameter(f"--output {options.output} is a directory. Give the name of a file.")
    with tempfile.TemporaryFile(dir=folder):
        pass


def _load(options: TrainOptions, work: Work) -> Loaded:
    file = open_file(
        options.data, FileOptions(**{name: _tuples(value) for name, value in (options.file or {}).items()})
    )
    roles = Roles(
        options.target, options.weight, options.features, options.ignore, groups=options.groups, time=options.time
    )
    loaded = load(file, roles, _memory_budget(options), work.read)
    for note in column_notes(file.schema, roles, loaded):
        work.note(note)
    if isinstance(loaded.table.X, RowFile):  # return unused memory to the system
        give_back_large_blocks()
        pa.default_memory_pool().release_unused()
    return loaded


def _ties(loaded: Loaded) -> dict[str, Any]:
    return {"groups": loaded.groups, "time": loaded.time}


def _memory_budget(options: TrainOptions) -> MemoryBudget:
    limit = check_memory("max_memory", (options.parameters or {}).get("max_memory")) or available_memory() or 1 << 62
    directory = options.workspace or str(Path(options.output).resolve().parent)
    return MemoryBudget(int(_MEMORY_FOR_ROWS * limit), directory)


def _task(options: TrainOptions, loaded: Loaded) -> str:
    """Return the task, inferred from the target if it is not given."""
    if options.task != "auto":
        if isinstance(loaded.target, Labels) and options.task != "classify":
            raise InvalidParameter(
                f"--task {options.task} needs numbers, but the target {options.target!r} is text (first: "
                f"{loaded.target.names[0]!r}). Use --task classify, or another target."
            )
        return options.task
    if options.levels:
        return "quantile"
    if isinstance(loaded.target, Labels) or loaded.target.dtype.kind == "b":
        return "classify"
    values = np.unique(loaded.target)
    return "classify" if len(values) <= _MOST_CLASSES and (values == np.floor(values)).all() else "regress"


def _estimator(task: str, options: TrainOptions) -> LocalEstimator:
    kind = ESTIMATORS[task]
    parameters = dict(options.parameters or {})
    known = kind._get_param_names()
    foreign = [name for name in parameters if name not in known]
    if foreign:
        flags = ", ".join("--" + name.replace("_", "-") for name in foreign)
        raise InvalidParameter(f"{flags}: not an option of --task {task}.")
    if options.levels:
        if task not in ("quantile", "expectile"):
            raise InvalidParameter(f"--levels are for --task quantile and --task expectile, not for {task}.")
        parameters[task] = list(options.levels) if len(options.levels) > 1 else options.levels[0]
    return kind(**parameters)


def _for_resume(options: TrainOptions, task: str) -> dict[str, Any]:
    """Return the options with absolute paths."""
    kept = {**asdict(options), "task": task}
    for name in ("data", "output", "checkpoint", "workspace"):
        if kept[name] and kept[name] != STANDARD:
            kept[name] = str(Path(kept[name]).resolve())
    return kept


def _stopped(options: TrainOptions, work: Work) -> int:
    if options.checkpoint is None:
        typer.echo("Interrupted; nothing was saved. Use --checkpoint DIR to save finished cells.", err=True)
    else:
        of_all = f" of {work.last.n_cells}" if work.last else ""
        typer.echo(
            f"Interrupted. {count_cells(options.checkpoint)}{of_all} cells are kept in {options.checkpoint}. Continue "
            f"with: localsvm resume {options.checkpoint}",
            err=True,
        )
    return STOPPED


def _summary(done: _Trained, options: TrainOptions, seconds: float) -> dict[str, Any]:
    return {
        "model": options.output,
        "bytes": Path(options.output).stat().st_size,
        "task": done.task,
        "target": options.target,
        "rows": done.n_rows,
        **model_facts(done.estimator),
        "seconds": round(seconds, 3),
    }


def _in_words(found: dict[str, Any], work: Work) -> dict[str, Any]:
    """Return a summary to show: what the model is worth first, and what to do next."""
    shown = found_in_words(found)
    first = {name: shown.pop(name) for name in list(shown) if name.startswith("CV ")}
    stages = shares(work.seconds)
    took = {"time": f"{duration(shown.pop('seconds'))}{stages}"}
    return first | shown | took | {"next": f"localsvm evaluate {shlex.quote(found['model'])} TEST_FILE"}


def _forecast(forecast: Forecast, task: str, read: float) -> dict[str, Any]:
    return {
        "task": task,
        "rows": forecast.n_rows,
        "features": forecast.n_features,
        "cells": forecast.n_cells,
        "largest cell": forecast.largest_cell,
        "seconds": round(read + forecast.seconds, 3),
        "memory": forecast.memory,
        "model bytes": forecast.model_bytes,
        "pilot cells": forecast.pilot_cells,
        "pilot seconds": round(forecast.pilot_seconds, 3),
    }
