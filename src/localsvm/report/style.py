"""Colors of all plots, text in them, and their export as SVG.

Every color has a name and occurs once, so that `draw_svg` can replace it by a CSS variable of the page's theme.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np

from localsvm.data.types import FloatArray
from localsvm.errors import MissingPackage

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import BoundaryNorm, ListedColormap

INK = {"ink": "#1b2430", "muted": "#5d6875", "line": "#d5dae1", "surface": "#fefefe"}
"""Text, secondary text, lines, background."""

ACCENT = {"accent": "#2667c9", "contrast": "#d9661f"}
"""Main color, and a contrasting one."""

RAMP = ("#e6f0fb", "#cbdff5", "#a9caee", "#82b1e5", "#5b96d9", "#3b7ac6", "#245eaa", "#174786", "#0e3160")
"""Sequential, from low to high."""

SIDES = ("#1d5bab", "#437fc9", "#7ea9dd", "#b8d0ec", "#dfe2e6", "#f3d0b0", "#e6a76a", "#d07a30", "#a65512")
"""Diverging, from one class to the other."""

CLASSES = ("#2f70d0", "#df7a2a", "#1e9c6c", "#bf4690", "#b98d0b", "#1593a6", "#7759cc", "#cc463d")
"""One per class; further classes are drawn in `OTHER`."""

OTHER = "#98a1ab"

_MANY_VALUES, _SHOWN_QUANTILES = 50, (0.0, 0.98)


def theme() -> dict[str, str]:
    """Return all colors by the names of their CSS variables."""
    numbered = {"ramp": RAMP, "sides": SIDES, "class": CLASSES}
    steps = {f"{name}-{step}": colour for name, colours in numbered.items() for step, colour in enumerate(colours)}
    return INK | ACCENT | steps | {"other": OTHER}


def require(package: str) -> None:
    """Raise an error that says how to install a package, if it is missing."""
    if find_spec(package) is None:
        raise MissingPackage(f"Reports and plots need the package {package!r}: pip install 'localsvm[report]'")


def steps(values: FloatArray, *, logarithmic: bool = False) -> tuple[ListedColormap, BoundaryNorm]:
    """Return a colormap of finite values, in steps of equal width or of equal ratio.

    The largest 2 % of many values have the last color, so that outliers do not hide the differences of the others.
    """
    from matplotlib.colors import BoundaryNorm, ListedColormap

    finite = values[np.isfinite(values)]
    ends = _SHOWN_QUANTILES if len(finite) >= _MANY_VALUES else (0.0, 1.0)
    low, high = np.quantile(finite, ends).tolist() if len(finite) else (1.0, 2.0)
    if high <= low:
        low, high = low - 0.5 * (abs(low) or 1.0), high + 0.5 * (abs(high) or 1.0)
    spaced = np.geomspace if logarithmic else np.linspace
    return ListedColormap(list(RAMP)), BoundaryNorm(spaced(low, high, len(RAMP) + 1), len(RAMP))


def colour_scale(ax: Axes, drawn: Any, label: str) -> None:
    """Add a colorbar with few tick labels."""
    bar = ax.figure.colorbar(drawn, ax=ax, pad=0.02, fraction=0.05, aspect=24, spacing="uniform")
    edges = drawn.norm.boundaries
    ticks = edges[:: (len(edges) - 1) // 3]
    labels = [plain(tick) for tick in ticks]
    if np.nanmax(np.ma.filled(drawn.get_array(), np.nan), initial=-np.inf) > edges[-1]:
        labels[-1] += " +"
    bar.set_ticks(ticks, labels=labels)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, which="both")
    bar.set_label(label, parse_math=False)


def short(text: str, most: int = 24) -> str:
    r"""Return a user's text on one line of limited length, cut in the middle: names often differ at their ends.

    >>> short("a\nb"), short("a name that is much too long for a legend")
    ('a b', 'a name that…for a legend')
    """
    line = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    if len(line) <= most:
        return line
    half = (most - 1) // 2
    return f"{line[:half].rstrip()}…{line[-(most - 1 - half) :].lstrip()}"


def plain(value: float) -> str:
    """Return a number with two digits, without an exponent where it can be read without one.

    >>> plain(163.2), plain(0.0213), plain(1.64e-6), plain(240_000.0)
    ('160', '0.021', '1.6e-6', '2.4e5')
    """
    rounded = float(f"{value:.2g}")
    if rounded == 0 or 1e-3 <= abs(rounded) < 1e5:
        return f"{rounded:.10g}"
    digits, _, exponent = f"{rounded:.1e}".partition("e")
    return f"{float(digits):g}e{int(exponent)}"


def percent(fraction: float, digits: int = 0) -> str:
    """Return a fraction as a percentage.

    >>> percent(0.256), percent(0.256, 2)
    ('26 %', '25.60 %')
    """
    return f"{100 * fraction:.{digits}f} %"


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
        (r"<style.*?</style>\s*", ""),  # would apply to the whole page
        (r'^<svg [^>]*?viewBox="([^"]*)"[^>]*>', r'<svg viewBox="\1" aria-hidden="true">'),
        (r"font-family: [^;\"]*; ?", ""),
        (r"font: (?:normal )*(\d+ )?([\d.]+px)[^;\"]*", r"font-weight: \1; font-size: \2"),
        (r">\s+<", "><"),
    )
)
_COORDINATES = re.compile(r' (?:d|x|y|transform)="[^"]*"')
_DIGITS = re.compile(r"(\d+\.\d\d)\d+")


def draw_svg(paint: Callable[[Axes], object], name: str, size: tuple[float, float]) -> str:
    """Draw on new axes and return an `<svg>` element; `name` is unique on the page, `size` is in inches."""
    import matplotlib
    from matplotlib.figure import Figure

    out = StringIO()
    with matplotlib.rc_context(), warnings.catch_warnings():
        # The browser's fonts have glyphs that matplotlib's font lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        figure = Figure(figsize=size, layout="constrained")
        paint(figure.subplots())
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(out, format="svg", transparent=True, metadata=nothing)
    return _for_page(out.getvalue(), name)


def _for_page(svg: str, name: str) -> str:
    """Return the `<svg>` element alone, with ids prefixed by the name and colors as CSS variables."""
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
