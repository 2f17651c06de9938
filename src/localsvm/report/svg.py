"""From a plot to SVG for a page: text as text, colours by name, no size of its own.

Enters: a function that draws on axes. Leaves: an `<svg>` element whose colours are those of the page's theme.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from io import StringIO
from typing import TYPE_CHECKING, Any

from localsvm.report.style import INK, theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SETTINGS: dict[Any, Any] = {
    "axes.edgecolor": INK["line"],
    "axes.facecolor": "none",
    "axes.labelcolor": INK["muted"],
    "axes.labelsize": 9.5,
    "axes.titlecolor": INK["ink"],
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "font.size": 9.5,
    "legend.frameon": False,
    "legend.labelcolor": INK["ink"],
    "path.simplify": True,
    "svg.fonttype": "none",
    "svg.hashsalt": "localsvm",
    "text.color": INK["ink"],
    "xtick.color": INK["line"],
    "xtick.labelcolor": INK["muted"],
    "xtick.labelsize": 9,
    "ytick.color": INK["line"],
    "ytick.labelcolor": INK["muted"],
    "ytick.labelsize": 9,
}

_FOR_PAGE = tuple(
    (re.compile(pattern, re.DOTALL), replacement)
    for pattern, replacement in (
        (r"<metadata>.*?</metadata>\s*", ""),
        (r"<!--.*?-->\s*", ""),
        (r"<style.*?</style>\s*", ""),  # would be the page's
        (r'^<svg [^>]*?viewBox="([^"]*)"[^>]*>', r'<svg viewBox="\1" aria-hidden="true">'),
        (r"font-family: [^;\"]*; ?", ""),
        (r"font: (?:normal )*(\d+ )?([\d.]+px)[^;\"]*", r"font-weight: \1; font-size: \2"),
        (r">\s+<", "><"),
    )
)
_COORDINATES = re.compile(r' (?:d|x|y|transform)="[^"]*"')
_DIGITS = re.compile(r"(\d+\.\d\d)\d+")


def draw_svg(paint: Callable[[Axes], object], name: str, size: tuple[float, float]) -> str:
    """Draw on new axes; `name` is different for every plot of a page, `size` in inches."""
    import matplotlib
    from matplotlib.figure import Figure

    out = StringIO()
    with matplotlib.rc_context(), warnings.catch_warnings():
        # The browser's fonts have glyphs that those of the layout lack.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        figure = Figure(figsize=size, layout="constrained")
        paint(figure.subplots())
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(out, format="svg", transparent=True, metadata=nothing)
    return _for_page(out.getvalue(), name)


def _for_page(svg: str, name: str) -> str:
    """Return the element alone, with names of its own and the colours of the theme."""
    svg = svg[svg.index("<svg") :]
    for pattern, replacement in _FOR_PAGE:
        svg = pattern.sub(replacement, svg)
    svg = _COORDINATES.sub(lambda found: _DIGITS.sub(r"\1", re.sub(r"\s+", " ", found[0])), svg)
    svg = re.sub(r' id="', f' id="{name}-', svg)
    svg = re.sub(r'(xlink:)?href="#', f'href="#{name}-', svg)
    svg = svg.replace("url(#", f"url(#{name}-")
    for colour, value in theme().items():
        svg = svg.replace(value, f"var(--{colour})")
    return svg.strip()
