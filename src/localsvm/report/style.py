"""Colours and words of all plots.

Enters: nothing. Leaves: colours by name, each once, so that a page can replace them by those of its theme.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from localsvm.errors import MissingPackage

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import BoundaryNorm, ListedColormap

INK = {"ink": "#1b2430", "muted": "#5d6875", "line": "#d5dae1", "surface": "#fefefe"}
"""Text, text that may be overlooked, lines, background."""

ACCENT = {"accent": "#2667c9", "contrast": "#d9661f"}
"""What a plot is about, and what stands against it."""

RAMP = ("#e6f0fb", "#cbdff5", "#a9caee", "#82b1e5", "#5b96d9", "#3b7ac6", "#245eaa", "#174786", "#0e3160")
"""From little to much."""

SIDES = ("#1d5bab", "#437fc9", "#7ea9dd", "#b8d0ec", "#dfe2e6", "#f3d0b0", "#e6a76a", "#d07a30", "#a65512")
"""From one class over evenly mixed to the other."""

CLASSES = ("#2f70d0", "#df7a2a", "#1e9c6c", "#bf4690", "#b98d0b", "#1593a6", "#7759cc", "#cc463d")
"""Classes by their order; those after the last share `OTHER`."""

OTHER = "#98a1ab"

_MANY_VALUES, _SHARE_SHOWN = 50, (0.0, 0.98)


def theme() -> dict[str, str]:
    """Return all colours by the names that a page gives them."""
    numbered = {"ramp": RAMP, "sides": SIDES, "class": CLASSES}
    steps = {f"{name}-{step}": colour for name, colours in numbered.items() for step, colour in enumerate(colours)}
    return INK | ACCENT | steps | {"other": OTHER}


def require(package: str) -> None:
    """Say how to get a package that is missing."""
    if find_spec(package) is None:
        raise MissingPackage(f"Reports and plots need the package {package!r}: pip install 'localsvm[report]'")


def steps(values: NDArray[np.float64], *, logarithmic: bool = False) -> tuple[ListedColormap, BoundaryNorm]:
    """Return a map from finite values to the ramp, in steps of equal width, or of equal ratio.

    Of many values a few outliers share the last colours, so that the others are told apart.
    """
    from matplotlib.colors import BoundaryNorm, ListedColormap

    finite = values[np.isfinite(values)]
    ends = _SHARE_SHOWN if len(finite) >= _MANY_VALUES else (0.0, 1.0)
    low, high = np.quantile(finite, ends).tolist() if len(finite) else (0.0, 1.0)
    if high <= low:
        low, high = low - 0.5 * (abs(low) or 1.0), high + 0.5 * (abs(high) or 1.0)
    spaced = np.geomspace if logarithmic else np.linspace
    return ListedColormap(list(RAMP)), BoundaryNorm(spaced(low, high, len(RAMP) + 1), len(RAMP))


def colour_scale(ax: Axes, drawn: Any, label: str) -> None:
    """Add the scale of a map of colours beside its plot, with few numbers."""
    bar = ax.figure.colorbar(drawn, ax=ax, pad=0.02, fraction=0.05, aspect=24, spacing="uniform")
    edges = drawn.norm.boundaries
    ticks = edges[:: (len(edges) - 1) // 3]
    labels = [f"{tick:.2g}" for tick in ticks]
    if np.nanmax(np.ma.filled(drawn.get_array(), np.nan), initial=-np.inf) > edges[-1]:
        labels[-1] += " +"
    bar.set_ticks(ticks, labels=labels)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, which="both")
    bar.set_label(label, parse_math=False)


def short(text: str, most: int = 24) -> str:
    r"""Return a user's text on one line, not too long for a plot.

    Examples
    --------
    >>> from localsvm.report.style import short
    >>> short("a\nb"), short("a name that is much too long for a legend")
    ('a b', 'a name that is much too…')
    """
    line = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def percent(share: float, digits: int = 0) -> str:
    """Return a share as text.

    Examples
    --------
    >>> from localsvm.report.style import percent
    >>> percent(0.256), percent(0.256, 2)
    ('26 %', '25.60 %')
    """
    return f"{100 * share:.{digits}f} %"
