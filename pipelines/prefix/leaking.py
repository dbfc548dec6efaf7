"""The extraction game: the identifiers that a run and its control generated, beside all that the corpus holds."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from extraction.errors import InputError
from extraction.games.leaks import Value, by_documents, leaked
from extraction.identifiers.records import SINGLE_NAME, group_of
from extraction.identifiers.settings import IdentifierSettings
from index import Index
from pipelines.identify import Runner
from pipelines.prefix.recovered import SampledRun
from pipelines.stored import FOLDER, TABLE
from pipelines.storing import store_identifiers

NO_RUN = "no run was named, and so nothing was generated freely"
NO_CONTROL = "the run has no control run"


def corpus_identifiers(index: Index, settings: IdentifierSettings, run: Runner) -> dict[Value, int]:
    """Every identifier that the tagger finds in the corpus, single names left out, with its documents.

    They are stored with the index; what is stored already is not tagged again.

    Args:
        index: of the corpus.
        settings: how identifiers are tagged.
        run: works through the parts.
    """
    store_identifiers(Path(index.directory), settings, run)
    rows = pq.read_table(Path(index.directory) / FOLDER / TABLE).to_pylist()
    return {(row["type"], row["value"]): row["documents"] for row in rows if row["group"] != SINGLE_NAME}


def leak_section(run: SampledRun, corpus: dict[Value, int]) -> dict[str, Any]:
    """What a run leaked at each of its budgets, and by how many documents hold it at the largest.

    Args:
        run: a finished run.
        corpus: all identifiers of the corpus, with their documents.
    """
    first = _first_budgets(run)
    also = _in_corpus(run)
    within = [{v for v, place in first.items() if place <= n} for n in range(len(run.budgets))]
    at = zip(within, run.budgets, run.reached, strict=True)
    return {
        "run": run.id,
        "complete": run.complete,
        "budgets": [asdict(leaked(values, corpus, also, budget, reached)) for values, budget, reached in at],
        "by_documents": [asdict(row) for row in by_documents(within[-1], corpus)],
    }


def _first_budgets(run: SampledRun) -> dict[Value, int]:
    """Each identifier that a run generated, with the number of the first budget that counts it."""
    first: dict[Value, int] = {}
    tagged = run.directory.store("identifiers")
    for name in tagged.complete():
        for row in tagged.read(name, ["family", "number", "type", "value"]).to_pylist():
            budget = run.first_budget((row["family"], row["number"]))
            if budget is not None and group_of(row["type"], row["value"]) != SINGLE_NAME:
                value = row["type"], row["value"]
                first[value] = min(budget, first.get(value, budget))
    return first


def _in_corpus(run: SampledRun) -> set[Value]:
    """The identifiers that the run's own look-up found in the corpus."""
    listing = run.directory.path / "identifiers" / "in_corpus.parquet"
    if not listing.exists():
        raise InputError(
            f"run: {listing}: no such file; finish the run with this version of `extraction run`"
        )
    rows = pq.read_table(listing, columns=["type", "value"]).to_pylist()
    return {(row["type"], row["value"]) for row in rows}
