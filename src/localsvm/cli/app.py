"""The commands, as typer sees them."""

from __future__ import annotations

from typing import Annotated

import typer

from localsvm.cli.demo import run_demo

app = typer.Typer(
    help="Kernel machines for millions of rows that tune themselves.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def _commands() -> None:
    """Keep `demo` a command of its own while it is the only one."""


@app.command()
def demo(
    rows: Annotated[int, typer.Option(min=100, max=15000, help="Training rows of each data set.")] = 15000,
    jobs: Annotated[int | None, typer.Option(min=1, help="Threads; all cores by default.")] = None,
) -> None:
    """Train on bundled forest data and on the paper's toy mixture, and show what came out.

    Examples: localsvm demo; localsvm demo --rows 2000 --jobs 1
    """
    try:
        run_demo(rows, jobs)
    except KeyboardInterrupt:
        typer.echo("Stopped.", err=True)
        raise typer.Exit(130) from None
