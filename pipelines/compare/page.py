"""compare.html, made from compare.json alone."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from markupsafe import Markup

from pipelines.compare.schema import Comparison
from pipelines.compare.words import headline, sentences
from pipelines.report.drawing import DASHES, both_sizes, draw_line, finish_growth, plain_axes
from pipelines.report.pages import render_page

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROLES = ("shared", "private", "family-1", "family-2", "family-3", "family-4")


def comparison_page(comparison: Comparison) -> str:
    """Make the HTML of compare.html."""
    level, kicker, heading = headline(comparison)
    context = {
        "comparison": comparison,
        "level": level,
        "kicker": kicker,
        "heading": heading,
        "sentences": sentences(comparison),
        "figure": growth_figure(comparison, "growth-words"),
        "measures": [*MEASURES, *(IN_BYTES if comparison.different_tokenizers else ())],
    }
    return render_page("compare.html", context, "pipelines.compare")


MEASURES = (
    ("Private passages", "private_passages"),
    ("All passages", "distinct_passages"),
    ("Private windows", "private_windows"),
    ("All windows", "distinct_windows"),
    ("Identifiers found in the corpus, single names apart", "identifiers_in_corpus"),
)
IN_BYTES = (
    ("Bytes generated", "generated_bytes"),
    ("Bytes that are training text", "extracted_bytes"),
    ("Windows in bytes", "distinct_byte_windows"),
)


def growth_figure(comparison: Comparison, described_by: str) -> Markup:
    """Draw the growth curves of all runs on one figure: all windows, then private ones."""

    def draw(axes: Sequence["Axes"]) -> None:
        panels = (("All windows", "distinct_windows"), ("Private windows", "private_windows"))
        for panel, (title, field) in zip(axes, panels, strict=True):
            plain_axes(panel, title)
            for number, (letter, points) in enumerate(comparison.growth.items()):
                dashes = DASHES[number % len(DASHES)]
                draw_line(panel, points, field, letter, ROLES[number % len(ROLES)], dashes)
            finish_growth(panel, "Distinct windows")

    return both_sizes("growth", "Growth curves of all runs", described_by, 2, draw)
