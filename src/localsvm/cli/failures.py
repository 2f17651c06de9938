"""How a command fails: one message on stderr, and an exit code for the kind of failure."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from localsvm.cli.wording import in_options
from localsvm.errors import CannotWrite, InvalidParameter, LocalSVMError, MissingPackage

USAGE, DATA, SYSTEM, UNEXPECTED, STOPPED = 2, 3, 4, 70, 130
"""Exit codes: invalid options; invalid data or model; disk, memory, permissions; internal error; Ctrl-C."""


_OPTIONAL = ("rich", "pyarrow")


@contextmanager
def failures_as_messages() -> Iterator[None]:
    """Turn exceptions of a command into a message and an exit code."""
    try:
        yield
    except (typer.Exit, typer.BadParameter):
        raise
    except KeyboardInterrupt:
        raise _end("Interrupted.", STOPPED) from None
    except BrokenPipeError:
        # The reader of stdout has closed it; redirect it, so that Python does not fail when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(SYSTEM) from None
    except CannotWrite as error:
        raise _end(f"Error: {in_options(str(error))}", SYSTEM) from None
    except (InvalidParameter, MissingPackage) as error:
        raise _end(f"Error: {in_options(str(error))}", USAGE) from None
    except LocalSVMError as error:
        raise _end(f"Error: {in_options(str(error))}", DATA) from None
    except ModuleNotFoundError as error:
        if error.name not in _OPTIONAL:
            raise
        raise _end(f"The command line needs the package {error.name!r}: pip install 'localsvm[cli]'", USAGE) from None
    except MemoryError:
        raise _end(
            "Error: out of memory. Use smaller cells (--cell-size) or a lower limit (--max-memory).", SYSTEM
        ) from None
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        raise _end(f"Error: {place}{error.strerror or error}.", SYSTEM) from None
    except Exception as error:
        if os.environ.get("LOCALSVM_TRACEBACK"):
            raise
        raise _end(
            f"Error: internal error ({type(error).__name__}: {error}). Please report it with the traceback that "
            "LOCALSVM_TRACEBACK=1 shows.",
            UNEXPECTED,
        ) from None


def _end(message: str, code: int) -> typer.Exit:
    typer.echo(message, err=True)
    return typer.Exit(code)
