"""Help that shows the choices and the kinds of values, and nothing where an option takes no value."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from typer.core import TyperCommand

_WORDS = {"str": "text", "int range": "int"}


class Command(TyperCommand):
    """A command with readable help."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, those for help included, with readable types."""
        found = super().get_params(ctx)
        for parameter in found:
            # Recent versions of typer have this method, and say <bool> and <list[str]>.
            shown = getattr(parameter, "display_type_rich", None)
            if shown is not None and "display_type_rich" not in vars(parameter):
                parameter.display_type_rich = _readable(shown)  # type: ignore[attr-defined]
        return found


def _readable(shown: Callable[..., str | None]) -> Callable[..., str | None]:
    def display(ctx: Any) -> str | None:
        kind = shown(ctx=ctx) or ""
        kind = re.sub(r"list\[(.*)\]", r"\1", kind.strip("<>"))
        return None if kind in ("", "bool") else f"<{_WORDS.get(kind, kind)}>"

    return display
