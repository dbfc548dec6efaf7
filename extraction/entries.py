"""The entries of report.json that are counts: its parts `budgets`, `families` and `low_entropy`."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from extraction.counts import Counter, Found, Ints, Tally
from extraction.growth import Estimate, chao2_estimate, distinct_count, unseen_mass
from extraction.identifiers.records import SINGLE_NAME
from extraction.shares import share_interval

Entry = dict[str, object]

WITH_INTERVAL = ("distinct_windows", "private_windows", "distinct_passages", "private_passages")
ESTIMATES = ("unseen_mass", "chao2_windows", "unseen_mass_passages", "chao2_passages")
STRATA = "prompt families are sampled apart, so there is no estimate over all of them"


def count_budgets(found: Found, shares: Mapping[str, float], budgets: Sequence[int]) -> Entry:
    """Count a run.

    Args:
        found: the run.
        shares: each family's share of every budget.
        budgets: in tokens over all families.

    Returns:
        `budgets`, `families` and `low_entropy` as report.json holds them, budgets ascending.
    """
    ascending = sorted(budgets)
    counter = Counter(found, shares, ascending)
    together, in_bytes = counter.tally(counter.families), counter.byte_windows()
    whole = together.with_column("distinct_byte_windows", in_bytes[None])
    return {
        "budgets": _of_all(counter, whole, ascending),
        "families": {name: _of_family(counter, name, in_bytes[name], ascending) for name in counter.families},
        "low_entropy": [_filler(together, place, budget) for place, budget in enumerate(ascending)],
    }


def _of_all(counter: Counter, tally: Tally, budgets: Sequence[int]) -> list[Entry]:
    """Every budget's entry over all families, with the intervals of its counts."""
    intervals: list[Entry] = [{} for _ in budgets]
    for name in WITH_INTERVAL:  # one after another: the classes of a large run are large
        classes = counter.classes_of(name)
        for place, own in enumerate(intervals):
            own[name] = asdict(distinct_count(*counter.incidence_of_all(place, classes)))
    nothing = {name: asdict(Estimate(None, reason=STRATA)) for name in ESTIMATES}
    return [
        {**_counts(counter, counter.families, tally, place, budget), "count_intervals": own, **nothing}
        for place, (budget, own) in enumerate(zip(budgets, intervals, strict=True))
    ]


def _of_family(counter: Counter, name: str, byte_windows: Ints, budgets: Sequence[int]) -> list[Entry]:
    """Every budget's entry of one family, with estimates of what it has not given yet."""
    tally = counter.tally([name]).with_column("distinct_byte_windows", byte_windows)
    classes = [counter.classes_of(count) for count in ("distinct_windows", "distinct_passages")]
    entries = []
    for place, budget in enumerate(budgets):
        windows, passages = (counter.incidence(name, place, own) for own in classes)
        made = (
            unseen_mass(windows),
            chao2_estimate(windows),
            unseen_mass(passages),
            chao2_estimate(passages),
        )
        estimates = {key: asdict(value) for key, value in zip(ESTIMATES, made, strict=True)}
        entries.append({**_counts(counter, [name], tally, place, budget), **estimates})
    return entries


def _filler(tally: Tally, place: int, budget: int) -> Entry:
    names = ("windows", "passages", "tokens")
    return {"budget": budget, **{name: int(tally.columns[f"low_entropy_{name}"][place]) for name in names}}


def _counts(counter: Counter, families: Sequence[str], tally: Tally, place: int, budget: int) -> Entry:
    """The counts of some families at one budget, given by its place, without estimates."""
    column = {name: int(values[place]) for name, values in tally.columns.items() if "low_entropy" not in name}
    identifiers = {
        kind: {name: None if values is None else int(values[place]) for name, values in by_name.items()}
        for kind, by_name in tally.identifiers.items()
    }
    # A single name stands in every corpus: it has a row of its own and is in no number over all types.
    counted = [counts for kind, counts in identifiers.items() if kind != SINGLE_NAME]
    return {
        "budget": budget,
        "reached": all(bool(counter.cutoffs[name].reached[place]) for name in families),
        **column,
        "extracted_share": column["extracted_tokens"] / column["generated_tokens"]
        if column["generated_tokens"]
        else None,
        "extracted_share_interval": asdict(share_interval(counter.strata(families, place))),
        "identifiers_in_corpus": sum(counts["in_corpus"] or 0 for counts in counted),
        "identifiers_by_chance": sum(counts["chance"] or 0 for counts in counted),
        "identifiers": identifiers,
    }
