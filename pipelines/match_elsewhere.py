"""Windows, passages, counts and a report for generations made elsewhere."""

import os
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from extraction.entropy import LowEntropyRule
from extraction.errors import InputError
from extraction.identifiers.settings import IdentifierSettings
from extraction.model import ModelSettings, load_tokenizer, tokenizer_fingerprint
from extraction.records import Generation, request_id
from pipelines.analyse import Analysis, analyse
from pipelines.assemble import SKIPPED_GENERATIONS
from pipelines.count import Rules
from pipelines.elsewhere import PART_ROWS, Reader
from pipelines.finish import Analysed, finish
from pipelines.generate import publish_generations
from pipelines.method import searched_section, stages
from pipelines.parts import PartStore
from pipelines.pool import cluster
from pipelines.progress import inert
from pipelines.rundir import RunDirectory, refuse_foreign_files
from pipelines.values import Lookups
from pipelines.work import SearchedWork, one_at_a_time

if TYPE_CHECKING:
    from index import Index

CLUSTER_THRESHOLD = 0.7
WORKERS = 2


def match_generations(
    index_path: Path, generations: Path, tokenizer: str, out: Path, min_tokens: int, skip_bad_records: bool
) -> Path:
    """Match generations made elsewhere, count and report them as one budget: all of them.

    Args:
        index_path: the index of the corpus.
        generations: JSON lines or Parquet: `id`, `text` or `token_ids`, optional `prompt` and `family`.
        tokenizer: folder of the tokenizer of the model that generated.
        out: the run directory.
        min_tokens: tokens of the shortest match that counts.
        skip_bad_records: count records that cannot be read instead of refusing the file.

    Returns:
        The path of report.json.

    Raises:
        InputError: the generations or the tokenizer cannot be read.
        SourceError: the index cannot be read.
    """
    from index import open_index

    index = open_index(index_path)
    rules = Analysis(
        ModelSettings(tokenizer=tokenizer),
        min_tokens,
        max(index.info.min_bytes, min(50, min_tokens)),
        2,
        LowEntropyRule(),
        IdentifierSettings(),
        WORKERS,
    )
    _refuse_missed_windows(index, index_path, min_tokens)
    reader = Reader(generations, load_tokenizer(rules.model), skip_bad_records)
    read = list(reader.generations())
    if not any(g.token_ids for g in read):
        raise InputError(f"{generations}: holds no generated token; check the file")
    refuse_foreign_files(out)
    os.makedirs(out, mode=0o700, exist_ok=True)
    with one_at_a_time(out):
        work = _open(out, index, rules, reader, read)
        _publish(work.generations, read)
        with cluster(None):
            lookup = analyse(work, rules, None)
        return finish(_analysed(work, rules, reader, read, lookup, index_path), None, None)


def _refuse_missed_windows(index: "Index", path: Path, min_tokens: int) -> None:
    """A window has at least as many bytes as tokens, so an index for longer matches would miss some."""
    if index.info.min_bytes > min_tokens:
        raise InputError(
            f"{path}: built for matches of {index.info.min_bytes} bytes; windows of {min_tokens} tokens can be "
            "shorter: raise --min-tokens or build the index with a smaller --min-bytes"
        )


def _open(out: Path, index: "Index", rules: Analysis, reader: Reader, read: list[Generation]) -> SearchedWork:
    import hashlib

    rows = [(g.request_id, g.family, g.prompt_token_ids, g.token_ids) for g in read]
    digest = hashlib.sha256(repr(rows).encode()).hexdigest()
    fingerprints = {
        "generations": digest,
        "tokenizer": tokenizer_fingerprint(rules.model),
        "corpus": index.info.fingerprint,
        **rules.fingerprints(),
    }
    config = {"generations": str(reader.path), "retokenised": reader.retokenised, "bad_records": reader.bad}
    directory = RunDirectory(out)
    return SearchedWork(directory, directory.open(config, fingerprints), index)


def _publish(store: PartStore, read: list[Generation]) -> None:
    complete = set(store.complete())
    rows = iter(read)
    for number in range(-(-len(read) // PART_ROWS)):
        name, part = f"part-{number:05d}", list(islice(rows, PART_ROWS))
        if name not in complete:
            publish_generations(store, name, part)


def _analysed(
    work: SearchedWork,
    rules: Analysis,
    reader: Reader,
    read: list[Generation],
    lookup: Lookups,
    index_path: Path,
) -> Analysed:
    tokens: dict[str, int] = {}
    for generation in read:
        tokens[generation.family] = tokens.get(generation.family, 0) + len(generation.token_ids)
    total = sum(tokens.values())
    # Half a token less than all, so that rounding never asks for one token more than there is.
    shares = {family: (count - 0.5) / total for family, count in tokens.items() if count}
    longest = {f: max(len(g.token_ids) for g in read if g.family == f) for f in tokens}
    return Analysed(
        directory=work.directory,
        run=work.run,
        index=work.index,
        rules=Rules(
            shares=shares,
            budgets=[total],
            longest=longest,
            min_tokens=rules.min_tokens,
            private_documents=rules.private_documents,
            cluster_threshold=CLUSTER_THRESHOLD,
        ),
        identifiers=rules.identifiers,
        lookup=lookup,
        method=_method(work, rules, reader, shares, longest),
        seed=0,
        command=inert(
            f"extraction match {index_path.name} {reader.path.name} --tokenizer TOKENIZER --out DIR"
        ),
        unread={SKIPPED_GENERATIONS: reader.bad},
        names={request_id(g.family, g.number): g.request_id for g in read},
    )


def _method(
    work: SearchedWork, rules: Analysis, reader: Reader, shares: dict[str, float], longest: dict[str, int]
) -> dict[str, Any]:
    return {
        "min_tokens": rules.min_tokens,
        "min_bytes": rules.min_bytes,
        "private_documents": rules.private_documents,
        "low_entropy_rule": rules.low_entropy.model_dump(mode="json"),
        "near_duplicate_threshold": CLUSTER_THRESHOLD,
        "prompt_families": {
            family: {"share": share, "chat_template": False, "max_tokens": longest[family]}
            for family, share in shares.items()
        },
        "prompts_fingerprint": "made elsewhere",
        "identifier_types": sorted(rules.identifiers.types),
        "sampling": {},
        "engine": {"kind": "elsewhere", "tokenised_again": reader.retokenised},
        "model": {
            "name": inert(reader.path.name),
            "fingerprint": "none",
            "tokenizer_fingerprint": tokenizer_fingerprint(rules.model),
        },
        **searched_section("training", work.index, reader.tokenizer),
        "versions": work.run["versions"],
        "stages": stages(work.run),
    }
