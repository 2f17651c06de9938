"""How a command ends when it cannot go on: one sentence on stderr, and an exit code that says of what kind."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from localsvm.errors import CannotWrite, InvalidParameter, LocalSVMError, MissingPackage

USAGE, DATA, SYSTEM, UNEXPECTED, STOPPED = 2, 3, 4, 70, 130
"""Exit codes: bad options; bad data or a bad model; disk, memory, permissions; an error of ours; Ctrl-C."""


@contextmanager
def sentences() -> Iterator[None]:
    """Turn what a command raises into a sentence and an exit code."""
    try:
        yield
    except (typer.Exit, typer.BadParameter):
        raise
    except KeyboardInterrupt:
        raise _end("Stopped.", STOPPED) from None
    except BrokenPipeError:
        # The reader of our output has gone; nobody is left to tell, and Python must not try at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(SYSTEM) from None
    except CannotWrite as error:
        raise _end(f"Error: {error}", SYSTEM) from None
    except (InvalidParameter, MissingPackage) as error:
        raise _end(f"Error: {error}", USAGE) from None
    except LocalSVMError as error:
        raise _end(f"Error: {error}", DATA) from None
    except MemoryError:
        raise _end(
            "Error: the memory is used up. Make cells smaller, or allow less with --max-memory.", SYSTEM
        ) from None
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        raise _end(f"Error: {place}{error.strerror or error}.", SYSTEM) from None
    except Exception as error:
        if os.environ.get("LOCALSVM_TRACEBACK"):
            raise
        raise _end(
            f"Error: this should not have happened ({type(error).__name__}: {error}). Please report it, with what is "
            "shown when LOCALSVM_TRACEBACK=1 is set.",
            UNEXPECTED,
        ) from None


def _end(message: str, code: int) -> typer.Exit:
    typer.echo(message, err=True)
    return typer.Exit(code)
