"""Tables on the terminal and on pages: a missing figure is a dash, a goal that is reached has a star."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def print_table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print columns as wide as they have to be, the first one to the left."""
    lines = [list(header), *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    print(f"\n{title}\n")
    for line in lines:
        cells = [text.rjust(width) for text, width in zip(line, widths, strict=True)]
        cells[0] = line[0].ljust(widths[0])
        print("  ".join(cells).rstrip())
    print(flush=True)


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def number(value: float | None, form: str = ".1f") -> str:
    return "-" if value is None else format(value, form)


def ratio(above: float | None, below: float | None, goal: float | None = None) -> str:
    """Return above / below as "12.3x", starred if it reaches the goal."""
    if above is None or not below:
        return "-"
    star = "*" if goal is not None and above / below >= goal else ""
    return f"{above / below:.1f}x{star}"


def at_most(value: float | None, limit: float | None, form: str) -> str:
    """Return a value, starred if it is at most the limit."""
    star = "*" if value is not None and limit is not None and value <= limit else ""
    return number(value, form) + star
