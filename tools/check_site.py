"""Checks the built site: every link within it leads to a page, and to a place on it; nothing is loaded from elsewhere.

python tools/check_site.py build/docs/html

External links are for `make linkcheck`, which needs the network.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("img", "src"), ("script", "src"), ("source", "src"), ("iframe", "src"), ("object", "data"), ("link", "href")}


@dataclass
class Page(HTMLParser):
    """The places of a page, its links, and what it loads."""

    places: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> Page:
        page = cls()
        page.feed(path.read_text())
        return page

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value is None:
                continue
            if name == "id" or (tag == "a" and name == "name"):
                self.places.add(value)
            elif (tag, name) in LOADED:
                self.loaded.append(value)
            elif tag == "a" and name == "href":
                self.links.append(value)


def faults(site: Path) -> Iterator[str]:
    """Yield a sentence for everything that is wrong with a site."""
    pages = {path.resolve(): Page.read(path) for path in site.rglob("*.html") if "_static" not in path.parts}
    for path, page in pages.items():
        name = path.relative_to(site.resolve())
        for target in page.loaded:
            if urlsplit(target).netloc:
                yield f"{name} loads {target}: the site must work without network."
        for target in dict.fromkeys([*page.links, *page.loaded]):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not file.is_file():
                yield f"{name} links to {target}, which is not there."
            elif parts.fragment and file in pages and unquote(parts.fragment) not in pages[file].places:
                yield f"{name} links to {target}, but that page has no such place."


def main() -> None:
    site = Path(sys.argv[1])
    found = list(faults(site))
    if not site.is_dir() or found:
        raise SystemExit("\n".join(found) or f"{site} is not there: make docs builds it.")
    print(f"All links within {site} lead somewhere.")


if __name__ == "__main__":
    main()
