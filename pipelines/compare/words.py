"""A comparison in words: what is new, what cannot be said."""

from collections.abc import Iterator

from pipelines.compare.schema import Comparison, PassageComparison
from pipelines.report.words import SINGLE_NAME, count, identifier, listing, noun


def headline(comparison: Comparison) -> tuple[str, str, str]:
    """The comparison's level (as in a report's verdict), its kicker and its heading."""
    if incomplete_runs(comparison):
        return "incomplete", "Incomplete run", "A run is incomplete, so the comparison is not a result."
    if new := [p.letter for p in comparison.passages if p.private.new]:
        return "private", "New private text", f"{_give(new)} back private text that A did not."
    if new := [w.letter for w in comparison.windows if w.private and w.private.new]:
        return (
            "private",
            "New private text",
            f"{_give(new)} back more of the private text that A gave back too.",
        )
    if new := [run.letter for run in comparison.runs[1:] if _new_identifiers(comparison, run.letter)]:
        heading = (
            f"{_give(new)} back names or numbers of the corpus that A did not; no new private text was found."
        )
        return "private", "New identifiers", heading
    if any(p.shared.new for p in comparison.passages):
        heading = "Only shared text is new; no new private text was found."
        return "shared", "No new private text found", heading
    return "nothing", "Nothing new found", "Nothing was found that A did not give back, at this effort."


def _give(letters: list[str]) -> str:
    return f"{listing(letters)} {'gives' if len(letters) == 1 else 'give'}"


def sentences(comparison: Comparison) -> list[str]:
    """What supports the heading, a sentence or two for each run after the first."""
    said = []
    if comparison.different_settings:
        names = listing([item.name for item in comparison.different_settings])
        said.append(
            f"These runs were measured differently ({names}), so their counts do not compare directly."
        )
    if comparison.different_tokenizers:
        said.append(
            "The models cut text into tokens differently, so counts of tokens and of windows do not compare directly; "
            "the counts in bytes do."
        )
    if incomplete_runs(comparison):
        said.append(
            f"Incomplete: {listing(incomplete_runs(comparison))}. What is new or gone may come from that."
        )
    for passages in comparison.passages:
        said.append(_passages(passages))
    said += _identifiers(comparison)
    return [*said, *_curves(comparison)]


def incomplete_runs(comparison: Comparison) -> list[str]:
    """Letters of the runs that are not complete."""
    return [run.letter for run in comparison.runs if run.status == "incomplete"]


def build_limitations(comparison: Comparison) -> list[str]:
    """Say what the comparison cannot show."""
    return [
        "All counts are lower bounds set by effort, prompts, settings, corpus and match rule; text that is "
        "new or gone may have come out or stayed away by chance.",
        "Two passages count as the same if they share a run of text as long as a window "
        f"({count(comparison.min_tokens)} tokens); a passage is compared by its longest part.",
        "Intervals take the runs to be independent, and say what the same plans, run with other seeds, are expected to "
        "give.",
        *_not_reached(comparison),
    ]


def _passages(passages: PassageComparison) -> str:
    private = passages.private
    return (
        f"{passages.letter} gave back {noun(private.new, 'private passage')} that A did not, and "
        f"{count(private.common)} that A gave back too; {count(private.gone)} of A's did not come out again. "
        f"Shared passages: {count(passages.shared.new)} new, {count(passages.shared.common)} in common."
    )


def _identifiers(comparison: Comparison) -> Iterator[str]:
    for run in comparison.runs[1:]:
        if new := _new_identifiers(comparison, run.letter):
            kinds = ", ".join(f"{identifier(kind)}: {count(number)}" for kind, number in new.items())
            yield (
                f"{run.letter} gave back identifiers of the corpus that A did not ({kinds}; single names apart), over "
                "all that each generated."
            )


def _new_identifiers(comparison: Comparison, letter: str) -> dict[str, int]:
    """How many identifiers of the corpus a run gave back and the first did not, by type, single names apart."""
    new = {i.type: i.against_first[letter].new for i in comparison.identifiers if letter in i.against_first}
    return {kind: number for kind, number in new.items() if number and kind != SINGLE_NAME}


def _curves(comparison: Comparison) -> Iterator[str]:
    for item in comparison.crossings:
        if item.generated_tokens:
            places = listing([count(at) for at in item.generated_tokens])
            yield f"The growth curves of A and {item.letter} cross at about {places} generated tokens."


def _not_reached(comparison: Comparison) -> Iterator[str]:
    for budget in comparison.budgets:
        short = [run.letter for run in budget.runs if not run.reached]
        if short:
            yield f"The budget of {count(budget.budget)} tokens was not reached by {listing(short)}."
