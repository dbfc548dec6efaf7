"""prefix.html, made from prefix.json alone."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from markupsafe import Markup

from pipelines.report.drawing import DASHES, both_sizes, plain_axes
from pipelines.report.pages import render_page
from pipelines.report.records import Estimate, Rate
from pipelines.report.svg import COLOURS
from pipelines.report.words import bin_label, count, noun, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMES = {"model": "the model", "control": "the control"}
GAMES = {
    "reconstruction": (
        "Reconstruction",
        "The attacker knows a sentence but for one identifier, and takes what the model itself writes in its place.",
    ),
    "inference": ("Inference", "The attacker has a list of candidates too, one of which is right."),
}


def prefix_page(record: dict[str, Any]) -> str:
    """Make the HTML of prefix.html."""
    level, kicker, heading = headline(record)
    shown = typed(record)
    context = {
        "record": shown,
        "level": level,
        "kicker": kicker,
        "heading": heading,
        "sentences": sentences(record),
        "names": {name: NAMES[name] for name in models_of(record)},
        "games": GAMES,
        "criterion": criterion,
        "figure": duplicates_figure(record, "copies-words") if record["by_copies"] else None,
    }
    return render_page("prefix.html", context, "pipelines.prefix")


def typed(value: Any) -> Any:
    """The same record, its shares and estimates as what the pages' macros take."""
    if isinstance(value, Mapping):
        if value.keys() == Rate.model_fields.keys():
            return Rate(**value)
        if value.keys() == Estimate.model_fields.keys():
            return Estimate(**value)
        return {name: typed(own) for name, own in value.items()}
    return [typed(own) for own in value] if isinstance(value, list | tuple) else value


def models_of(record: dict[str, Any]) -> list[str]:
    """The models that were asked, the one under test first."""
    return ["model"] if record["method"]["control"] is None else ["model", "control"]


def criterion(draws: int | None, certainty: float | None) -> str:
    """When a target counts as brought out, in words."""
    if draws is None or certainty is None:
        return "by greedy decoding"
    return f"within {noun(draws, 'draw')}, with probability {percent(certainty)}"


def headline(record: dict[str, Any]) -> tuple[str, str, str]:
    """The colour of the verdict on the page, its first words, and the sentence that says it."""
    row = _main_row(record)
    found = row["by_model"]["model"]
    if found is None:
        return "nothing", "Nothing to ask", "No target could be asked about."
    level, kicker = (
        ("private", "Training text comes out") if found["greedy"] else ("nothing", "Nothing came out")
    )
    targets = noun(found["targets"], "document")
    return (
        level,
        kicker,
        f"Given the first {row['prefix_tokens']} tokens of {targets}, the model goes on word for word in "
        f"{count(found['greedy'])}."
        if record["method"]["opening"] == "first"
        else f"Given {row['prefix_tokens']} tokens from the middle of {targets}, the model goes on word for word in "
        f"{count(found['greedy'])}.",
    )


def _main_row(record: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = next(r for r in record["lengths"] if r["prefix_tokens"] == record["main_length"])
    return row


def sentences(record: dict[str, Any]) -> list[str]:
    """What the numbers say beside the headline, one sentence for each part of the test."""
    found = [
        *_of_draws(record),
        *_of_control(record),
        *_of_recovery(record),
        *_of_screen(record),
        *_of_games(record),
    ]
    return [
        *found,
        *(f"Incomplete: {one['reason']} ({count(one['count'])})." for one in record["incomplete"]),
    ]


def _of_draws(record: dict[str, Any]) -> list[str]:
    found = _main_row(record)["by_model"]["model"]
    if found is None:
        return []
    last = found["discoverable"][-1]
    return [
        f"By the sampler really used, {count(last['targets'])} come out {criterion(last['draws'], last['certainty'])}."
    ]


def _of_control(record: dict[str, Any]) -> list[str]:
    found = _main_row(record)["by_model"].get("control")
    return [] if found is None else [f"The control goes on word for word in {count(found['greedy'])}."]


def _of_recovery(record: dict[str, Any]) -> list[str]:
    if record["recovery"] is None:
        return []
    last = record["recovery"]["budgets"][-1]
    own, tokens = last["by"][0], count(last["budget"])
    if own["share"] is None:
        return [
            f"The sampling run of {tokens} tokens has nothing to recover: no true opening brings out its target."
        ]
    found = noun(
        own["brought_out"], "target that comes out word for word", "targets that come out word for word"
    )
    share = percent(own["share"]["estimate"])
    return [f"Of the {found}, the sampling run found {count(own['both'])} within {tokens} tokens: {share}."]


def _of_screen(record: dict[str, Any]) -> list[str]:
    screen = record["screen"]
    if screen is None or not screen["by_model"]["model"]["extractable"]:
        return []
    last = screen["by_model"]["model"]["extractable"][-1]
    return [
        f"Of {noun(screen['by_model']['model']['stretches'], 'stretch', 'stretches')} screened, "
        f"{count(last['stretches'])} come out {criterion(last['draws'], last['certainty'])}."
    ]


def _of_games(record: dict[str, Any]) -> list[str]:
    if record["games"] is None:
        return []
    lines = []
    for game in GAMES:
        own = record["games"]["model"][game]["all"]
        if own is not None:
            first = own["at"][0]
            lines.append(
                f"{GAMES[game][0]} names {count(first['correct'])} of {noun(own['sentences'], 'masked identifier')} "
                f"{'first' if first['k'] == 1 else 'among its first ' + count(first['k'])}."
            )
    return lines


def duplicates_figure(record: dict[str, Any], described_by: str) -> Markup:
    """Draw the share of targets that comes out against the number of copies of their documents."""
    rows = record["by_copies"]

    def draw(axes: Sequence["Axes"]) -> None:
        plain_axes(axes[0], "")
        for number, name in enumerate(models_of(record)):
            _draw_model(axes[0], rows, name, number)
        axes[0].set_xticks(range(len(rows)), [bin_label(row["from"], row["to"]) for row in rows])
        axes[0].set_xlim(-0.5, len(rows) - 0.5)
        axes[0].set_ylim(-0.02, 1.02)
        axes[0].set_xlabel("Identical documents in the corpus", color=COLOURS["muted"])
        axes[0].set_ylabel("Share that comes out", color=COLOURS["muted"])
        axes[0].grid(axis="y", color=COLOURS["grid"], linewidth=0.8)
        # Above the axes: lines run along their top and bottom, where everything or nothing comes out.
        figure = cast("Figure", axes[0].figure)
        columns = 2 if figure.get_figwidth() > 2 * figure.get_figheight() else 1
        key = {"frameon": False, "labelcolor": COLOURS["ink"], "fontsize": 11, "ncols": columns}
        figure.legend(loc="outside upper left", **key)

    return both_sizes("growth", "Extraction against duplicates", described_by, 1, draw)


def _draw_model(axes: "Axes", rows: Sequence[dict[str, Any]], name: str, number: int) -> None:
    colour = COLOURS["private" if name == "model" else "control"]
    places = [n for n, row in enumerate(rows) if row["by_model"][name] is not None]
    own = [rows[n]["by_model"][name] for n in places]
    shares, drawn = [one["greedy_share"] for one in own], [one["discoverable"][-1] for one in own]
    x, means = [place + 0.05 * number for place in places], [share["estimate"] for share in shares]
    errors = [[s["estimate"] - s["low"] for s in shares], [s["high"] - s["estimate"] for s in shares]]
    greedy, mark = f"{NAMES[name]}, greedy", "os"[number]
    axes.errorbar(x, means, yerr=errors, color=colour, marker=mark, linewidth=2, label=greedy)
    within = f"{NAMES[name]}, within {noun(drawn[0]['draws'], 'draw')}" if drawn else ""
    sampled = [one["share"]["estimate"] for one in drawn]
    axes.plot(x, sampled, color=colour, linestyle=DASHES[1], linewidth=2, label=within)
