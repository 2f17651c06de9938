"""Run the Python code of the pages, and compare what it prints with what the pages show.

    python tools/page_outputs.py --write     write the outputs into the pages

A block of Python code that prints is followed by a block of text with its output. In the text `...` stands for
anything, such as seconds, as in doctests.
"""

from __future__ import annotations

import argparse
import contextlib
import doctest
import io
import os
import re
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
NAMES = ("quickstart", "mathematics", "from-svc", "from-liquidsvm", "from-boosting", "report")
PAGES = [DOCS / f"{name}.md" for name in NAMES] + sorted((DOCS / "guide").glob("*.md"))
BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<shown>.*?)^```\n)?", re.MULTILINE | re.DOTALL)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def outputs(page: Path) -> Iterator[tuple[re.Match[str], str]]:
    """Run the blocks of a page from top to bottom; yield each with what it prints."""
    names = {"__name__": page.stem}
    for block in BLOCK.finditer(page.read_text()):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block["code"], str(page), "exec"), names)
        yield block, printed.getvalue()


def is_shown(block: re.Match[str], printed: str) -> bool:
    """Return whether the page shows what a block prints."""
    return doctest.OutputChecker().check_output(block["shown"] or "", printed, OPTIONS)


def with_outputs(page: Path) -> str:
    """Return the page with the outputs of its code."""
    text, parts, end = page.read_text(), [], 0
    for block, printed in outputs(page):
        parts += [text[end : block.start()], f"```python\n{block['code']}```\n"]
        shown = block["shown"] if block["shown"] and is_shown(block, printed) else printed
        if shown:
            parts.append(f"\n```text\n{shown}```\n")
        end = block.end()
    return "".join([*parts, text[end:]])


def main() -> None:
    """Write the outputs of all pages, or of those that are named."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", required=True)
    parser.add_argument("pages", nargs="*", type=Path, default=PAGES)
    os.environ["MPLBACKEND"] = "agg"
    warnings.simplefilter("ignore", UserWarning)
    pages = [page.resolve() for page in parser.parse_args().pages]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for page in pages:
            if BLOCK.search(page.read_text()):
                page.write_text(with_outputs(page))
                print(page.relative_to(DOCS))


if __name__ == "__main__":
    main()
