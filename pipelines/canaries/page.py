"""exposures.html, made from exposures.json alone."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from pipelines.report.drawing import both_sizes, plain_axes
from pipelines.report.pages import render_page
from pipelines.report.svg import COLOURS
from pipelines.report.words import count, label, noun

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKS = "osD^"  # told apart without colours too
POOR_FIT = 0.01  # from this p-value down, a fit is said to be poor
METHODS = {
    "enumeration": "every filling was scored",
    "search": "found by search",
    "extrapolation": "extrapolated from a sample",
}


def exposures_page(record: dict[str, Any]) -> str:
    """Make the HTML of exposures.html."""
    level, kicker, heading = headline(record)
    context = {
        "record": record,
        "level": level,
        "kicker": kicker,
        "heading": heading,
        "sentences": sentences(record),
        "methods": METHODS,
        "bits": bits,
        "figure": exposure_figure(record, "exposure-words"),
    }
    return render_page("exposures.html", context, "pipelines.canaries")


def bits(value: float) -> str:
    """Write a number of bits: with two decimals."""
    return f"{value:,.2f}"


def headline(record: dict[str, Any]) -> tuple[str, str, str]:
    """The colour of the verdict on the page, its first words, and the sentence that says it."""
    inserted, first = record["totals"]["inserted"], record["totals"]["inserted_first"]
    if not inserted:
        return "nothing", "Nothing was inserted", "No canary was inserted, so nothing could be remembered."
    level, kicker = (
        ("private", "Canaries are remembered")
        if first
        else ("nothing", "No canary is preferred to all others")
    )
    canaries = noun(inserted, "inserted canary", "inserted canaries")
    return (
        level,
        kicker,
        f"Of {canaries}, the model prefers {count(first)} to every other value of its blank.",
    )


def sentences(record: dict[str, Any]) -> list[str]:
    """What the numbers say, insertion count by insertion count, then what they cannot say."""
    lines = [_of_times(row, record["chance_exposure"]) for row in _together(record)]
    if any(row["tied"] for row in _by_format(record)):
        lines.append("Some canaries tie with alternatives; they have the mean of the ranks that they share.")
    for form in record["formats"]:
        if form["fit"] is not None and form["fit"]["p_value"] < POOR_FIT:
            lines.append(
                f"{label(form['name']).capitalize()}: the fitted distribution does not describe the sample well; "
                "extrapolated exposures are rough."
            )
    if record["run"] is not None and not record["run"]["complete"]:
        lines.append("The extraction run is not complete: it may have written more canaries than were found.")
    return lines


def _of_times(row: dict[str, Any], chance: float) -> str:
    if row["insertions"] == 0:
        return (
            f"Never inserted: {bits(row['mean'])} bits on average over {_canaries(row)}. Chance alone gives "
            f"{bits(chance)}."
        )
    return f"Inserted {count(row['insertions'])}\u00d7: {bits(row['mean'])} bits on average over {_canaries(row)}."


def _canaries(row: dict[str, Any]) -> str:
    return noun(row["canaries"], "canary", "canaries")


def _by_format(record: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for row in record["summary"] if row["format"] is not None]


def _together(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows over all formats; a single format is all of them."""
    return [row for row in record["summary"] if row["format"] is None] or _by_format(record)


def exposure_figure(record: dict[str, Any], described_by: str) -> Markup:
    """Draw each canary's exposure and each format's mean against the number of insertions, under the maximum."""
    times = sorted({canary["insertions"] for canary in record["canaries"]})

    def draw(axes: Sequence["Axes"]) -> None:
        plain_axes(axes[0], "")
        for number, form in enumerate(record["formats"]):
            _draw_format(axes[0], record, form, number, times)
        axes[0].set_xticks(range(len(times)), [count(n) for n in times])
        axes[0].set_xlim(-0.5, len(times) - 0.5)
        axes[0].set_ylim(bottom=0)
        axes[0].set_xlabel("Times that the canary was inserted", color=COLOURS["muted"])
        axes[0].set_ylabel("Exposure in bits", color=COLOURS["muted"])
        axes[0].grid(axis="y", color=COLOURS["grid"], linewidth=0.8)
        axes[0].legend(loc="best", frameon=False, labelcolor=COLOURS["ink"], fontsize=11)

    return both_sizes("growth", "Exposure against the number of insertions", described_by, 1, draw)


def _draw_format(
    axes: "Axes", record: dict[str, Any], form: dict[str, Any], number: int, times: Sequence[int]
) -> None:
    colour, mark = COLOURS[f"family-{number % 4 + 1}"], MARKS[number % len(MARKS)]
    offset = 0.08 * (number - (len(record["formats"]) - 1) / 2)
    own = [canary for canary in record["canaries"] if canary["format"] == form["name"]]
    x = [times.index(canary["insertions"]) + offset for canary in own]
    axes.plot(x, [c["exposure"] for c in own], mark, color=colour, markersize=5, alpha=0.45)
    means = [row for row in record["summary"] if row["format"] == form["name"]]
    x = [times.index(row["insertions"]) + offset for row in means]
    axes.plot(
        x, [row["mean"] for row in means], color=colour, linewidth=2, label=f"{label(form['name'])}, mean"
    )
    axes.axhline(form["maximum"], color=colour, linewidth=1.2, linestyle=(0, (6, 3)))
