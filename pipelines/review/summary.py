"""What a review came to, as counts for the report."""

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from pipelines.parts import write_json
from pipelines.review.items import PASSAGES
from pipelines.review.store import FILE, Store
from pipelines.review.verdicts import DISAGREE, NONE, TWO_PEOPLE, VERDICTS, Standing, agreement


def add_review(run: Path, report: dict[str, Any]) -> dict[str, Any]:
    """Count the verdicts into report.json, so that the page has them from there.

    Args:
        run: the run directory.
        report: the content of its report.json.

    Returns:
        The same with `review`, where there is a review.
    """
    section = review_section(run)
    if section is None:
        return report
    counted = report | {"review": section}
    write_json(str(run / "report.json"), counted)
    return counted


def review_section(run: Path) -> dict[str, Any] | None:
    """Count the verdicts on the run's passages; None where nobody has reviewed it.

    Args:
        run: the run directory.
    """
    if not (run / FILE).exists() or not (run / PASSAGES).exists():
        return None
    store = Store(run)
    try:
        two_people = store.fact(TWO_PEOPLE) is not None
        standing = Standing(store, two_people)
        standing.refresh()
    finally:
        store.close()
    table = pq.read_table(run / PASSAGES, columns=["passage_id", "kind"])
    kinds = dict(zip(table["passage_id"].to_pylist(), table["kind"].to_pylist(), strict=True))
    totals = Counter(kinds.values())
    judged = Counter((kinds[item], said) for item, said, _ in standing.settled() if item in kinds)
    return {
        "two_people": two_people,
        "kinds": {kind: _counts(kind, totals[kind], judged) for kind in sorted(totals)},
        "agreement": agreement(standing.pairs())[0],
    }


def _counts(kind: str, total: int, judged: Counter[tuple[str, str]]) -> dict[str, int]:
    said = {name: judged[kind, name] for name in (*VERDICTS, DISAGREE)}
    return {"passages": total, NONE: total - sum(said.values()), **said}
