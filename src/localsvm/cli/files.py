"""Commands on models and files: predict, evaluate, inspect, report, export, convert."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from localsvm.cli.evaluation import show_evaluation
from localsvm.cli.facts import found_in_words, model_facts
from localsvm.cli.output import Output
from localsvm.cli.progress import Work
from localsvm.data.durable import replacing
from localsvm.data.files import FileOptions, Schema, TableFile, convert_file, open_file, open_writer
from localsvm.errors import InvalidParameter
from localsvm.estimators.base import LocalEstimator
from localsvm.estimators.classifier import LocalSVC
from localsvm.estimators.stored import estimator_of, user_info
from localsvm.evaluation import Evaluation
from localsvm.evaluation.streaming import evaluate_file, predict_batches
from localsvm.model.ensemble import Member
from localsvm.storage.model_file import StoredModel, open_model


def run_predict(
    model: Path,
    data: str,
    output: str,
    keep: tuple[str, ...],
    probabilities: bool,
    jobs: int | None,
    file: dict[str, Any],
    out: Output,
) -> None:
    """Predict the rows of a file and write the predictions to another one."""
    begin = time.perf_counter()
    opened = _Opened.of(model, jobs)
    if probabilities and not isinstance(opened.estimator, LocalSVC):
        raise InvalidParameter(
            f"--probabilities: {model} is a regression ({type(opened.estimator).__name__}), which predicts numbers. "
            "Leave the option out."
        )
    source = open_file(data, FileOptions(**file))
    with Work(quiet=out.quiet) as work:
        batches = predict_batches(
            opened.estimator, source, keep=keep, probabilities=probabilities, target=opened.target
        )
        n_rows = _write(output, batches, source, work)
    if output != "-":
        seconds = time.perf_counter() - begin
        out.summary(
            {
                "predictions": output,
                "rows": n_rows,
                "seconds": round(seconds, 3),
                "rows per second": int(n_rows / seconds),
            }
        )


def _write(output: str, batches: Iterator[Any], source: TableFile, work: Work) -> int:
    n_rows = 0
    first = next(batches, None)
    if first is None:
        raise InvalidParameter(f"{source.name} has no rows.")
    with open_writer(output, Schema.of(first.schema, output)) as writer:
        for batch in chain([first], batches):
            writer.write(batch)
            n_rows += batch.num_rows
            work.read(n_rows, source.n_rows)
    return n_rows


@dataclass(frozen=True)
class _Opened:
    """An open model file."""

    stored: StoredModel
    estimator: LocalEstimator
    target: str | None
    """Name of the target column in training, if known."""

    @classmethod
    def of(cls, model: Path, jobs: int | None = None) -> _Opened:
        stored = open_model(model)
        estimator = estimator_of(stored, repr(str(model)))
        estimator.n_jobs = jobs
        return cls(stored, estimator, user_info(stored).get("target"))

    def evaluate(
        self, data: str, target: str | None, weight: str | None, file: dict[str, Any], work: Work
    ) -> Evaluation:
        name = target or self.target
        if name is None:
            raise InvalidParameter("the model does not store the name of its target. Give --target.")
        source = open_file(data, FileOptions(**file))
        return evaluate_file(self.estimator, source, name, weight, on_rows=work.read)


def run_evaluate(
    model: Path,
    data: str,
    target: str | None,
    weight: str | None,
    worst: int,
    jobs: int | None,
    file: dict[str, Any],
    out: Output,
) -> None:
    """Evaluate a model on labeled data."""
    with Work(quiet=out.quiet) as work:
        evaluation = _Opened.of(model, jobs).evaluate(data, target, weight, file, work)
    if out.json:
        out.result(evaluation.summary())
    else:
        show_evaluation(evaluation, worst)


def run_inspect(model: Path, verify: bool, out: Output) -> None:
    """Show the contents of a model file."""
    opened = _Opened.of(model)
    stored, estimator = opened.stored, opened.estimator
    if verify:
        stored.verify()
    names = getattr(estimator, "feature_names_in_", None)
    encoding = [] if estimator.columns_ is None else estimator.encoding_
    members = [_member(member) for member in estimator.members_]
    found = {
        "model": str(model),
        "estimator": type(estimator).__name__,
        "localsvm": stored.library,
        "bytes": model.stat().st_size,
        **({"checksums": "all are right"} if verify else {}),
        "target": opened.target,
        **model_facts(estimator),
        **({} if names is None else {"columns": names.tolist()}),
        "rows": int(stored.table.size.sum()),
        "smallest cell": int(stored.table.size.min()),
        "largest cell": int(stored.table.size.max()),
        "support vectors": sum(member["support vectors"] for member in members),
        "training seconds": stored.seconds.get("total"),
    }
    if out.json:
        out.result({**found, "members": members, **({"encoding": encoding} if encoding else {})})
        return
    out.result(found_in_words(found))
    if len(members) > 1:
        out.table(members)
    if encoding:
        out.table(encoding)


def _member(member: Member) -> dict[str, Any]:
    return {
        "weight": member.weight,
        "kernel": member.model.cells[0].functions.kernel,
        "scaling": member.model.scaling.method,
        "cells": len(member.model.cells),
        "support vectors": sum(cell.n_support for cell in member.model.cells),
    }


def run_report(
    model: Path,
    output: Path,
    data: str | None,
    target: str | None,
    title: str | None,
    jobs: int | None,
    file: dict[str, Any],
    out: Output,
) -> None:
    """Write the report of a model."""
    from localsvm.report import write_report

    opened = _Opened.of(model, jobs)
    with Work(quiet=out.quiet) as work:
        evaluation = None if data is None else opened.evaluate(data, target, None, file, work)
    write_report(opened.estimator, output, evaluation, title or model.stem)
    out.note(f"Report written to {output}.")


def run_export(model: Path, output: Path, options: dict[str, Any], out: Output) -> None:
    """Write a model as ONNX."""
    exported = _Opened.of(model).estimator.to_onnx(**options)
    with replacing(output) as file:
        file.write(exported.SerializeToString())
    out.summary(
        {
            "file": str(output),
            "bytes": output.stat().st_size,
            "inputs": [value.name for value in exported.graph.input],
            "outputs": [value.name for value in exported.graph.output],
        }
    )


def run_convert(source: str, destination: str, file: dict[str, Any], out: Output) -> None:
    """Convert a file."""
    begin = time.perf_counter()
    with Work(quiet=out.quiet) as work:
        n_rows = convert_file(source, destination, FileOptions(**file), on_rows=lambda count: work.read(count, None))
    if destination != "-":
        out.summary({"file": destination, "rows": n_rows, "seconds": round(time.perf_counter() - begin, 3)})
