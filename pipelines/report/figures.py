"""The figures of a report, each drawn wide for a desk and narrow for a telephone.

Matplotlib is loaded when the first one is drawn.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from pipelines.report.schema import DocumentCountBin, Growth, GrowthPoint, Report
from pipelines.report.svg import COLOURS, SETTINGS, inline_svg
from pipelines.report.words import bin_label, count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDE, NARROW = (9.6, 3.7), (5.0, 3.5)  # inches of one row and of one panel; 72 points an inch
DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (2, 2)), (0, (8, 2, 2, 2)))
_FEW = 100  # from this ratio on, the smallest bars could not be seen on a linear axis


def growth_figure(report: Report, described_by: str) -> Markup:
    """Draw distinct windows against generated tokens: all families with the control, then each family."""

    def draw(axes: Sequence["Axes"]) -> None:
        _draw_together(axes[0], together, report.control.growth if report.control else [])
        if families:
            _draw_families(axes[1], families)

    together = report.growth["all"].observed if "all" in report.growth else []
    families = {name: growth for name, growth in report.growth.items() if name != "all"}
    panels = 2 if families else 1
    return _both_sizes("growth", "Growth of what was found with the effort", described_by, panels, draw)


def document_count_figure(report: Report, described_by: str) -> Markup:
    """Draw the passages by the number of documents that hold them; the bins widen as powers do."""

    def draw(axes: Sequence["Axes"]) -> None:
        _draw_bins(axes[0], report.passages_by_document_count)

    return _both_sizes("documents", "Passages by number of documents", described_by, 1, draw)


def _both_sizes(
    name: str, label: str, described_by: str, panels: int, draw: Callable[[Sequence["Axes"]], None]
) -> Markup:
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    result = Markup()
    for size in ("wide", "narrow"):
        rows, columns = (1, panels) if size == "wide" else (panels, 1)
        inches = WIDE if size == "wide" else (NARROW[0], NARROW[1] * panels)
        with matplotlib.rc_context(SETTINGS):  # type: ignore[arg-type]  # a plain dict of known keys
            figure = Figure(figsize=inches, layout=ConstrainedLayoutEngine(h_pad=0.12))
            grid = figure.subplots(rows, columns, squeeze=False)
            draw(list(grid.flat))
            result += inline_svg(figure, f"{name}-{size}", label, described_by)
    return result


def _draw_together(axes: "Axes", points: Sequence[GrowthPoint], control: Sequence[GrowthPoint]) -> None:
    _style(axes, "All prompts together")
    _line(axes, points, "distinct_windows", "All windows", "shared", "-")
    _line(axes, points, "private_windows", "Private windows", "private", DASHES[1])
    if control:
        _line(axes, control, "distinct_windows", "Control, all windows", "control", DASHES[2])
    _finish_growth(axes)


def _draw_families(axes: "Axes", families: dict[str, Growth]) -> None:
    _style(axes, "Each kind of prompt by itself")
    for number, (name, growth) in enumerate(families.items()):
        role = f"family-{number % 4 + 1}"
        _line(axes, growth.observed, "distinct_windows", name, role, DASHES[number % 4])
        points = [*growth.rarefied, *growth.extrapolated]
        band = [(p, p.low, p.high) for p in points if p.low is not None and p.high is not None]
        if band:
            x = [p.generated_tokens for p, _, _ in band]
            low, high = [low for _, low, _ in band], [high for _, _, high in band]
            axes.fill_between(x, low, high, color=COLOURS[role], alpha=0.15, linewidth=0)
            axes.plot(x, [p.estimate for p, _, _ in band], color=COLOURS[role], linewidth=0.8, alpha=0.7)
    _finish_growth(axes)


def _line(
    axes: "Axes", points: Sequence[GrowthPoint], field: str, label: str, role: str, dashes: Any
) -> None:
    x = [0, *(p.generated_tokens for p in points)]
    y = [0, *(getattr(p, field) for p in points)]
    axes.plot(x, y, color=COLOURS[role], linestyle=dashes, linewidth=2, label=label, clip_on=False)


def _finish_growth(axes: "Axes") -> None:
    axes.set_xlabel("Generated tokens", color=COLOURS["muted"])
    axes.set_ylabel("Distinct windows", color=COLOURS["muted"])
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", color=COLOURS["grid"], linewidth=0.8)
    axes.locator_params(axis="x", nbins=5)
    axes.locator_params(axis="y", nbins=5)
    axes.legend(loc="best", frameon=False, labelcolor=COLOURS["ink"], handlelength=2.6, fontsize=11)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: short(value))


def _draw_bins(axes: "Axes", bins: Sequence[DocumentCountBin]) -> None:
    _style(axes, "")
    for offset, kind in ((-0.2, "private"), (0.2, "shared")):
        heights = [getattr(item, kind) for item in bins]
        places = [number + offset for number in range(len(bins))]
        bars = axes.bar(places, heights, 0.38, color=COLOURS[kind], label=f"{kind.capitalize()} passages")
        labels = [count(height) if height else "" for height in heights]
        axes.bar_label(bars, labels, color=COLOURS["ink"], fontsize=11, padding=2)
    axes.set_xticks(range(len(bins)), [_tick(item) for item in bins], fontsize=10)
    axes.set_xlabel("Documents that hold the passage", color=COLOURS["muted"])
    axes.set_ylabel("Passages", color=COLOURS["muted"])
    heights = [h for item in bins for h in (item.private, item.shared) if h]
    if heights and max(heights) >= _FEW * min(heights):
        axes.set_yscale("log", nonpositive="clip")
        axes.set_ylim(bottom=0.5)
    axes.yaxis.set_major_formatter(lambda value, _: short(value))
    axes.legend(loc="upper right", frameon=False, labelcolor=COLOURS["ink"], fontsize=11)
    axes.margins(y=0.12)


def _tick(item: DocumentCountBin) -> str:
    if item.documents_to is None:
        return f"{short(item.documents_from)}+"
    return bin_label(item.documents_from, item.documents_to)


def _style(axes: "Axes", title: str) -> None:
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
