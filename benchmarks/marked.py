"""Parts of a page that are made from results: what stands between two marks is replaced."""

from __future__ import annotations

from pathlib import Path


def replace_marked(page: Path, name: str, text: str) -> None:
    """Replace what stands between the marks of this name; without them the page stays as it is."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
    before, mark, rest = page.read_text().partition(begin)
    if mark:
        page.write_text(before + begin + text + end + rest.partition(end)[2])
