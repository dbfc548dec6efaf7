"""A run whose corpus cannot be searched: what was generated, and which of it people should check; no matches."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from extraction.budgets import Cutoffs, prefix_cutoffs
from pipelines.assemble import incomplete_reasons
from pipelines.config import RunConfig
from pipelines.finish import Again, publish_report
from pipelines.generate import failed_requests
from pipelines.method import sampled_section
from pipelines.parts import PartStore
from pipelines.pool import cluster
from pipelines.progress import inert
from pipelines.rank.stage import rank_run
from pipelines.rundir import RunDirectory
from pipelines.sample import Generator, sample, sampling_fingerprints, workers_of
from pipelines.work import Work

NOT_SEARCHED = "the corpus was not searched"
# What a searched run counts at each budget.
UNKNOWN = (
    "extracted_tokens",
    "extracted_share",
    "distinct_windows",
    "private_windows",
    "distinct_passages",
    "private_passages",
    "clusters",
    "identifiers_in_corpus",
    "identifiers",
)


def run_unsearched(config: RunConfig, out: Path, ray_address: str | None, generator: Generator) -> Path:
    """Generate, rank, and report what was ranked.

    Args:
        config: what to sample and how to rank.
        out: the run directory; this process holds it.
        ray_address: a Ray cluster; None starts Ray on this machine.
        generator: the configuration, resolved.

    Returns:
        The path of report.json.

    Raises:
        InputError: something the user can mend; nothing half-written counts.
    """
    if config.ranking is None:
        raise ValueError("a run without a corpus ranks")  # a configuration without both is refused
    directory = RunDirectory(out)
    prints = {"corpus_kind": config.corpus.kind, **sampling_fingerprints(config, generator)}
    work = Work(directory, directory.open(config.model_dump(mode="json", by_alias=True), prints))
    with cluster(ray_address, workers_of(config)):
        sample(config, work, generator)
        ranking = rank_run(config, config.ranking, work, generator.tokenizer)
    return _finish(config, work, generator, ranking)


def _finish(config: RunConfig, work: Work, generator: Generator, ranking: dict[str, Any]) -> Path:
    name = work.directory.path.name
    commands = [
        f"extraction run {config.name}.yaml --out {name}",
        f"extraction confirm {name} candidates.csv",
    ]
    sections = {
        **efforts(work.generations, config.prompts.shares(), sorted(config.budgets)),
        "control": None,
        "ranking": ranking,
        "method": {
            **sampled_section(config, work.run, generator.sampling),
            "corpus": None,
            "corpus_reason": NOT_SEARCHED,
        },
    }
    again = Again(config.seed, [inert(command) for command in commands])
    incomplete = incomplete_reasons(failed_requests(work.generations), {})
    return publish_report(work.directory, work.run, again, incomplete, sections)


def efforts(generations: PartStore, shares: dict[str, float], budgets: list[int]) -> dict[str, Any]:
    """The report's `budgets` and `families`: what was generated at each budget, and null for all that was not searched.

    Args:
        generations: what was generated.
        shares: each family's share of every budget.
        budgets: ascending, in tokens over all families.
    """
    cutoffs = prefix_cutoffs(lengths_of(generations), shares, budgets)
    return {
        "budgets": [_effort(list(cutoffs.values()), place, budget) for place, budget in enumerate(budgets)],
        "families": {
            name: [_effort([own], place, budget) for place, budget in enumerate(budgets)]
            for name, own in cutoffs.items()
        },
    }


def _effort(families: list[Cutoffs], place: int, budget: int) -> dict[str, Any]:
    return {
        "budget": budget,
        "reached": all(bool(own.reached[place]) for own in families),
        "generated_tokens": sum(int(own.tokens[place]) for own in families),
        "requests": sum(int(own.requests[place]) for own in families),
        **dict.fromkeys(UNKNOWN),
        **dict.fromkeys(("unseen_mass", "chao2_windows"), {"estimate": None, "reason": NOT_SEARCHED}),
    }


def lengths_of(generations: PartStore) -> dict[str, Any]:
    """For each family the generated tokens of its requests, in order of their numbers: int64[requests]."""
    schema = pa.schema([("family", pa.string()), ("number", pa.int64()), ("tokens", pa.int64())])
    tables = []
    for name in generations.complete():
        part = generations.read(name, ["family", "number", "token_ids"])
        columns = [part["family"], part["number"], pc.list_value_length(part["token_ids"])]
        tables.append(pa.table(columns, names=schema.names).cast(schema))
    table = pa.concat_tables([schema.empty_table(), *tables])
    found = {}
    for family in pc.unique(table["family"]).to_pylist():
        rows = table.filter(pc.equal(table["family"], family)).sort_by("number")
        found[family] = np.asarray(rows["tokens"].to_numpy(), dtype=np.int64)
    return found
