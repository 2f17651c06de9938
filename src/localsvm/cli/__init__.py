"""The command line interface."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command `localsvm`."""
    try:
        from localsvm.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich", "pyarrow"):
            raise
        print(
            f"The command line needs the package {error.name!r}: pip install 'localsvm[cli]'",
            file=sys.stderr,
        )
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    app(prog_name="localsvm")
