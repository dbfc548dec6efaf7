"""What all figures share: two sizes, plain axes, growth curves. The first one loads matplotlib."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from pipelines.report.records import GrowthPoint
from pipelines.report.svg import COLOURS, SETTINGS, inline_svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDE, NARROW = (9.6, 3.7), (5.0, 3.5)  # inches: of a row on a desk, of each panel on a telephone
_LONGEST = 28  # characters of a name in a key; a longer one would push the axes aside
DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (2, 2)), (0, (8, 2, 2, 2)))


def both_sizes(
    name: str, label: str, described_by: str, panels: int, draw: Callable[[Sequence["Axes"]], None]
) -> Markup:
    """Draw a figure twice: panels side by side for a desk, one above the other for a telephone.

    Args:
        name: the classes are `<name>-wide` and `<name>-narrow`; the style sheet shows one of them.
        label: its name for a screen reader.
        described_by: id of the element that says the same in words.
        panels: number of axes.
        draw: draws on them.
    """
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    result = Markup()
    for size in ("wide", "narrow"):
        rows, columns = (1, panels) if size == "wide" else (panels, 1)
        inches = WIDE if size == "wide" else (NARROW[0], NARROW[1] * panels)
        with matplotlib.rc_context(SETTINGS):  # type: ignore[arg-type]  # a plain dict of known keys
            figure = Figure(figsize=inches, layout=ConstrainedLayoutEngine(h_pad=0.12))
            draw(list(figure.subplots(rows, columns, squeeze=False).flat))
            result += inline_svg(figure, f"{name}-{size}", label, described_by)
    return result


def draw_line(
    axes: "Axes", points: Sequence[GrowthPoint], field: str, label: str, role: str, dashes: Any
) -> None:
    """Draw one observed growth curve from the origin on, in the colour of a role of `COLOURS`."""
    x = [0, *(p.generated_tokens for p in points)]
    y = [0, *(getattr(p, field) for p in points)]
    shown = label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1]}\u2026"
    axes.plot(x, y, color=COLOURS[role], linestyle=dashes, linewidth=2, label=shown, clip_on=False)


def finish_growth(axes: "Axes", counted: str) -> None:
    """Label the axes of growth curves and add their key; `counted` names the vertical axis."""
    axes.set_xlabel("Generated tokens", color=COLOURS["muted"])
    axes.set_ylabel(counted, color=COLOURS["muted"])
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0, top=None if axes.get_ylim()[1] > 0.1 else 1)
    axes.grid(axis="y", color=COLOURS["grid"], linewidth=0.8)
    axes.locator_params(axis="x", nbins=5)
    axes.locator_params(axis="y", nbins=5, integer=True)
    axes.legend(loc="best", frameon=False, labelcolor=COLOURS["ink"], handlelength=2.6, fontsize=11)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: short(value))


def plain_axes(axes: "Axes", title: str) -> None:
    """Strip axes to what carries meaning and set their title."""
    axes.set_title(title, loc="left", color=COLOURS["ink"], fontsize=12, fontweight="bold")
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(COLOURS["muted"])
    axes.tick_params(colors=COLOURS["muted"], length=0)
    axes.set_axisbelow(True)


def short(value: float) -> str:
    """Write an axis value shortly: `500`, `2k`, `1.5M`, `1B`."""
    for size, unit in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"
