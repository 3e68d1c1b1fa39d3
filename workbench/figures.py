"""Figures without a screen: drawn once in light and once in dark colours, as data for a page."""

from __future__ import annotations

import base64
import io
import logging
import warnings
from typing import Any, Callable, NamedTuple

# Where HOME cannot be written matplotlib keeps its cache in a temporary folder, and says so at
# length on every start.
logging.getLogger("matplotlib").setLevel(logging.ERROR)

import matplotlib  # noqa: E402
from cycler import cycler  # noqa: E402
from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

# Pixels an inch of a PNG.
RESOLUTION = 150

# The colours to draw with; each is another shade in the dark scheme. Told apart by people who see
# few colours, and by their lightness in print (Okabe and Ito, "Color Universal Design", 2008).
BLUE, ORANGE, GREEN, RED, PURPLE, SKY, GREY = (f"C{number}" for number in range(7))
_LIGHT = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#808a94")
_DARK = ("#56b4e9", "#e69f00", "#2fc79a", "#ff8a3d", "#e09bc4", "#9fd8f7", "#9aa5b0")

_COMMON = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "legend.frameon": False,
    # A name of the user's may hold a dollar; it is no formula.
    "text.parse_math": False,
    # The same picture has the same bytes.
    "svg.hashsalt": "workbench",
}
_THEMES = {
    theme: {
        **_COMMON,
        "figure.facecolor": paper,
        "savefig.facecolor": paper,
        "axes.facecolor": paper,
        "grid.color": line,
        "legend.facecolor": paper,
        **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color"), ink),
        "ytick.color": ink,
        "axes.prop_cycle": cycler(color=colours),
    }
    # Paper, ink and lines are those of templates/base.html.
    for theme, paper, ink, line, colours in (
        ("light", "#ffffff", "#1c2126", "#d4d9de", _LIGHT),
        ("dark", "#15191d", "#e4e8ec", "#38414a", _DARK),
    )
}

Draw = Callable[[Figure], Any]


class Picture(NamedTuple):
    """An image as two ``data:`` URLs, one for each colour scheme of a page."""

    light: str
    dark: str


def picture(draw: Draw, width: float, height: float, *, form: str = "svg") -> Picture:
    """Return what ``draw`` puts on a figure of ``width`` by ``height`` inches, for a page.

    ``draw`` is called once for each colour scheme. ``form`` is svg, sharp at every size, or png,
    smaller where there are thousands of shapes.
    """
    kind = {"svg": "image/svg+xml", "png": "image/png"}[form]
    light, dark = (
        f"data:{kind};base64,{base64.b64encode(_drawn(draw, width, height, theme, form)).decode()}"
        for theme in ("light", "dark")
    )
    return Picture(light, dark)


def png(draw: Draw, width: float, height: float) -> bytes:
    """Return what ``draw`` puts on a figure of ``width`` by ``height`` inches as a PNG file."""
    return _drawn(draw, width, height, "light", "png")


def _drawn(draw: Draw, width: float, height: float, theme: str, form: str) -> bytes:
    stream = io.BytesIO()
    with matplotlib.rc_context(_THEMES[theme]), warnings.catch_warnings():
        # A letter that the font lacks is drawn as a box; that needs no line on the terminal.
        warnings.filterwarnings("ignore", message="Glyph .* missing from current font")
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        draw(figure)
        # No date in it.
        metadata = {"Date": None} if form == "svg" else None
        figure.savefig(stream, format=form, dpi=RESOLUTION, metadata=metadata)
    return stream.getvalue()
