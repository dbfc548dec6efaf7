"""Says of each of the paper's findings whether it holds in what was measured, and how far; never beforehand."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from pipelines.gmint.result import Cell

LARGER = "-Large"
EMBEDDINGS_IN_PAPER = "0.49 to 0.52"


def sentences(cells: Sequence[Cell]) -> list[str]:
    """One sentence for each finding that these cells can speak of, for each protocol."""
    by_protocol = groupby(sorted(cells, key=lambda cell: cell.protocol), lambda cell: cell.protocol)
    return [said for protocol, group in by_protocol for said in _of_protocol(protocol, list(group))]


def _of_protocol(protocol: str, cells: Sequence[Cell]) -> Iterator[str]:
    yield from (f"{protocol}-database: {said}" for said in _all(cells))


def _all(cells: Sequence[Cell]) -> Iterator[str]:
    yield from _more_samples(cells)
    yield from _larger_models(cells)
    yield from _weights(cells)
    yield _embeddings(cells)


def _more_samples(cells: Sequence[Cell]) -> Iterator[str]:
    """How much the AUC rises from the fewest samples to the most."""
    counts = sorted({one.samples_per_side for cell in cells for one in cell.findings})
    if len(counts) < 2:
        return
    rises = [_auc(cell, counts[-1]) - _auc(cell, counts[0]) for cell in cells]
    yield (
        f"more samples help in {_share(rises)}: from {counts[0]:,} to {counts[-1]:,} samples a side the AUC changes by "
        f"{_span(rises)}."
    )


def _larger_models(cells: Sequence[Cell]) -> Iterator[str]:
    """A model beside its larger kin, at the most samples."""
    by_name = {(cell.model, cell.data): cell for cell in cells}
    rises = [
        _auc(by_name[f"{model}{LARGER}", data]) - _auc(cell)
        for (model, data), cell in by_name.items()
        if (f"{model}{LARGER}", data) in by_name
    ]
    if rises:
        yield f"larger models leak more in {_share(rises)} pairs of a kind: the AUC changes by {_span(rises)}."


def _weights(cells: Sequence[Cell]) -> Iterator[str]:
    """How the order by number of weights agrees with that by AUC, over all kinds of models."""
    from scipy.stats import spearmanr

    weights, aucs = [cell.weights for cell in cells], [_auc(cell) for cell in cells]
    if len(set(weights)) > 2 and len(set(aucs)) > 2:
        found = spearmanr(weights, aucs)
        yield (
            f"over {len(cells)} models of different kinds the AUC goes with the number of weights with a rank "
            f"correlation of {found.statistic:+.2f} (p = {found.pvalue:.2f})."
        )


def _embeddings(cells: Sequence[Cell]) -> str:
    every = [one for cell in cells for one in cell.findings]
    rises = [one.gradients.auc.estimate - one.embeddings.auc.estimate for one in every]
    clear = sum(one.gradients.auc.low > one.embeddings.auc.high for one in every)
    low, high = (pick(one.embeddings.auc.estimate for one in every) for pick in (min, max))
    return (
        f"gradients beat embeddings in {_share(rises)}, in {clear} beyond both intervals: the AUC is {_span(rises)} "
        f"higher; that of embeddings is {low:.2f} to {high:.2f} (the paper's {EMBEDDINGS_IN_PAPER})."
    )


def _auc(cell: Cell, count: int | None = None) -> float:
    """The AUC at a number of samples, or at the largest."""
    wanted = count or cell.largest.samples_per_side
    return next(one.gradients.auc.estimate for one in cell.findings if one.samples_per_side == wanted)


def _share(rises: Sequence[float]) -> str:
    return f"{sum(rise > 0 for rise in rises)} of {len(rises)}"


def _span(rises: Sequence[float]) -> str:
    mean = sum(rises) / len(rises)
    if len(rises) == 1:
        return f"{mean:+.3f}"
    return f"{min(rises):+.3f} to {max(rises):+.3f}, {mean:+.3f} on average"
