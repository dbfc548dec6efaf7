"""The page of a run whose corpus cannot be searched: candidates and verdicts, nothing that could pass for a count."""

from collections.abc import Iterator

from pipelines.report.pages import render_page
from pipelines.report.ranking import better_than_random
from pipelines.report.schema import UnsearchedReport
from pipelines.report.verdict import Verdict
from pipelines.report.words import count, listing, noun


def unsearched_page(report: UnsearchedReport) -> str:
    """Make the HTML of report.html."""
    context = {
        "report": report,
        "method": report.method,
        "verdict": unsearched_verdict(report),
        "last": max(report.budgets, key=lambda effort: effort.budget),
        "better_than_random": better_than_random(report.ranking),
    }
    return render_page("unsearched.html", context)


def unsearched_verdict(report: UnsearchedReport) -> Verdict:
    """Say what is known: what people confirmed. Unchecked candidates are no result, and none is never safe."""
    found = report.ranking.confirmed
    confirmed = found.all.confirmed if found else 0
    level, kicker = ("private", "Confirmed by people") if confirmed else ("none", "No result")
    heading = (
        f"{noun(confirmed, 'candidate')} of those checked {'is' if confirmed == 1 else 'are'} training text."
        if confirmed
        else "How much training text the model gives back is not known."
    )
    sentences = list(_sentences(report))
    if report.status == "incomplete":
        level, kicker, sentences = "incomplete", "Incomplete run", [*_incomplete(report), *sentences]
    return Verdict(level, kicker, heading, sentences)


def _sentences(report: UnsearchedReport) -> Iterator[str]:
    ranking, found = report.ranking, report.ranking.confirmed
    yield (
        f"The corpus was not searched. Of {noun(ranking.generations, 'generation')}, "
        f"{noun(ranking.candidates, 'candidate')} were put forward for people to check."
    )
    if found is None or not found.all.checked:
        yield "None of them was checked yet."
        return
    yield (
        f"{count(found.all.checked)} of them were checked and {count(found.all.confirmed)} confirmed. They were picked "
        "because they are suspicious: this is no share of all text."
    )
    if not found.all.confirmed:
        yield "That none was confirmed does not show that the model is safe: others were not checked."


def _incomplete(report: UnsearchedReport) -> Iterator[str]:
    reasons = listing([f"{item.reason} ({count(item.count)})" for item in report.incomplete])
    yield f"Not everything could be read or done: {reasons}."
