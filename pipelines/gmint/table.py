"""AUCs in the paper's layout (a row for each model, a column for each number of samples), beside the paper's own."""

from collections.abc import Iterator, Sequence

from extraction.membership.intervals import Interval
from pipelines.gmint.config import INTRA, MIXED
from pipelines.gmint.findings import sentences
from pipelines.gmint.paper import is_published, published
from pipelines.gmint.result import LIMITATIONS, Cell

TITLES = {
    INTRA: "Intra-database: members and others are of one data set",
    MIXED: "Mixed-database: the others are of several data sets",
}
CONTROLS = ("permuted labels", "untrained model", "words alone", "loss alone", "embeddings", "fitted to")


def in_markdown(cells: Sequence[Cell]) -> str:
    """Tables of AUCs and controls, the paper's findings here, and what all this does not say."""
    parts = []
    for protocol, title in TITLES.items():
        own = [cell for cell in cells if cell.protocol == protocol]
        if own:
            parts += [
                f"### {title}",
                _aucs(own),
                _controls(own),
                *_doubts(own),
                *dict.fromkeys(_left_out(own)),
            ]
    parts += ["### The paper's findings here", _list(sentences(cells)), "### Limits", _list(LIMITATIONS)]
    return "\n\n".join(parts) + "\n"


def _aucs(cells: Sequence[Cell]) -> str:
    counts = sorted({one.samples_per_side for cell in cells for one in cell.findings}, reverse=True)
    rows = []
    for cell in cells:
        found = {one.samples_per_side: _interval(one.gradients.auc) for one in cell.findings}
        rows.append([_model(cell), cell.data, *(found.get(count, "") for count in counts)])
        figures = [published(cell.protocol, cell.model, cell.data, count) for count in counts]
        if any(figures):
            said = "the paper" if is_published(cell.data) else "the paper, mean of six"
            rows.append(["", said, *("" if one is None else f"{one:.3f}" for one in figures)])
    return _table(("model", "data", *(f"{count:,} a side" for count in counts)), rows)


def _controls(cells: Sequence[Cell]) -> str:
    rows = []
    for cell in cells:
        for one in cell.findings:
            repeated = (one.permuted, one.untrained)
            words = "none" if one.words is None else _interval(one.words.auc)
            rows.append(
                [
                    _model(cell),
                    cell.data,
                    f"{one.samples_per_side:,}",
                    *(_interval(control.auc) for control in repeated),
                    words,
                    _interval(one.loss),
                    _interval(one.embeddings.auc),
                    f"{sum(one.gradients.training_aucs) / len(one.gradients.training_aucs):.3f}",
                ]
            )
    return _table(("model", "data", "a side", *CONTROLS), rows)


def _doubts(cells: Sequence[Cell]) -> Iterator[str]:
    for cell in cells:
        if cell.holds:
            yield f"{cell.model} on {cell.data}: {_why(cell)}; its AUC is no evidence of membership."


def _why(cell: Cell) -> str:
    differing = dict.fromkeys(one.name for one in cell.largest.differences if one.beyond)
    return ", ".join(cell.holds) + (
        f" (members differ from others in {', '.join(differing)})" if differing else ""
    )


def _left_out(cells: Sequence[Cell]) -> Iterator[str]:
    for cell in cells:
        for name, side in (("members", cell.members), ("others", cell.others)):
            if side.dropped:
                reasons = ", ".join(f"{count:,} {reason}" for reason, count in side.dropped.items())
                yield f"{cell.data}: of {side.loaded:,} {name} were left out: {reasons}."


def _model(cell: Cell) -> str:
    return f"{cell.model} ({cell.weights / 1e6:.1f} M)"


def _interval(found: Interval) -> str:
    return f"{found.estimate:.3f} ({found.low:.2f} to {found.high:.2f})"


def _list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
