"""The figures of a report: growth with the effort, and passages by number of documents."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from pipelines.report.drawing import DASHES, both_sizes, draw_line, finish_growth, plain_axes, short
from pipelines.report.records import CurvePoint, DocumentCountBin, Growth, GrowthPoint
from pipelines.report.schema import Report
from pipelines.report.svg import COLOURS
from pipelines.report.words import bin_label, count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FEW = 100  # from this ratio on, the smallest bars could not be seen on a linear axis


@dataclass(frozen=True)
class Counted:
    """What a growth figure counts: its name, the suffix of its fields, and where its expected curves stand."""

    name: str
    field: str
    rarefied: str
    extrapolated: str


WINDOWS = Counted("windows", "windows", "rarefied", "extrapolated")
PASSAGES = Counted("passages", "passages", "rarefied_passages", "extrapolated_passages")


def growth_figure(report: Report, counted: Counted, described_by: str) -> Markup:
    """Draw distinct windows or passages against generated tokens: all families with the control, then each family."""

    def draw(axes: Sequence["Axes"]) -> None:
        _draw_together(axes[0], counted, together, report.control.growth if report.control else [])
        if families:
            _draw_families(axes[1], counted, families)

    together = report.growth["all"].observed if "all" in report.growth else []
    families = {name: growth for name, growth in report.growth.items() if name != "all"}
    panels = 2 if families else 1
    label = f"Growth of the distinct {counted.name} with the effort"
    return both_sizes("growth", label, described_by, panels, draw)


def document_count_figure(report: Report, described_by: str) -> Markup:
    """Draw the passages by the number of documents that hold them; the bins widen as powers do."""

    def draw(axes: Sequence["Axes"]) -> None:
        _draw_bins(axes[0], _filled(report.passages_by_document_count))

    return both_sizes("documents", "Passages by number of documents", described_by, 1, draw)


def _draw_together(
    axes: "Axes", counted: Counted, points: Sequence[GrowthPoint], control: Sequence[GrowthPoint]
) -> None:
    plain_axes(axes, "All prompts together")
    name, distinct = counted.name, f"distinct_{counted.field}"
    draw_line(axes, points, distinct, f"All {name}", "shared", "-")
    draw_line(axes, points, f"private_{counted.field}", f"Private {name}", "private", DASHES[1])
    if control:
        draw_line(axes, control, distinct, f"Control, all {name}", "control", DASHES[2])
    finish_growth(axes, f"Distinct {name}")


def _draw_families(axes: "Axes", counted: Counted, families: dict[str, Growth]) -> None:
    plain_axes(axes, "Each kind of prompt by itself")
    for number, (name, growth) in enumerate(families.items()):
        role = f"family-{number % 4 + 1}"
        draw_line(axes, growth.observed, f"distinct_{counted.field}", name, role, DASHES[number % 4])
        _draw_band(axes, [*getattr(growth, counted.rarefied), *getattr(growth, counted.extrapolated)], role)
    finish_growth(axes, f"Distinct {counted.name}")


def _draw_band(axes: "Axes", points: Sequence[CurvePoint], role: str) -> None:
    band = [(p, p.low, p.high) for p in points if p.low is not None and p.high is not None]
    x = [p.generated_tokens for p, _, _ in band]
    low, high = [low for _, low, _ in band], [high for _, _, high in band]
    axes.fill_between(x, low, high, color=COLOURS[role], alpha=0.15, linewidth=0)
    axes.plot(x, [p.estimate for p, _, _ in band], color=COLOURS[role], linewidth=0.8, alpha=0.7)


def _draw_bins(axes: "Axes", bins: Sequence[DocumentCountBin]) -> None:
    plain_axes(axes, "")
    for offset, kind in ((-0.2, "private"), (0.2, "shared")):
        heights = [getattr(item, kind) for item in bins]
        places = [number + offset for number in range(len(bins))]
        bars = axes.bar(places, heights, 0.38, color=COLOURS[kind], label=f"{kind.capitalize()} passages")
        labels = [count(height) if height else "" for height in heights]
        axes.bar_label(bars, labels, color=COLOURS["ink"], fontsize=11, padding=2)
    axes.set_xticks(range(len(bins)), [_tick(item) for item in bins], fontsize=9 if len(bins) > 8 else 10)
    axes.set_xlabel("Documents that hold the passage", color=COLOURS["muted"])
    axes.set_ylabel("Passages", color=COLOURS["muted"])
    _height_axis(axes, [h for item in bins for h in (item.private, item.shared) if h])
    axes.legend(loc="upper right", frameon=False, labelcolor=COLOURS["ink"], fontsize=11)


def _height_axis(axes: "Axes", heights: Sequence[int]) -> None:
    axes.margins(y=0.12)
    if heights and max(heights) >= _FEW * min(heights):
        axes.set_yscale("log", nonpositive="clip")
        axes.set_ylim(bottom=0.5)
    else:
        axes.locator_params(axis="y", nbins=5, integer=True)
    axes.yaxis.set_major_formatter(lambda value, _: short(value))


def _filled(bins: Sequence[DocumentCountBin]) -> list[DocumentCountBin]:
    """The bins up to the last one that holds anything: empty ones beyond it only crowd the axis."""
    last = max((n for n, item in enumerate(bins) if item.private or item.shared), default=len(bins) - 1)
    return list(bins[: last + 1])


def _tick(item: DocumentCountBin) -> str:
    """A bin's name, short enough for an axis: `101\u20131k`; the table below the figure has the exact ends."""
    if item.documents_to is None:
        return f">{short(item.documents_from - 1)}"
    if item.documents_to < 1000:
        return bin_label(item.documents_from, item.documents_to)
    first = item.documents_from - 1 if item.documents_from > 1000 else item.documents_from
    return f"{short(first)}\u2013{short(item.documents_to)}"
