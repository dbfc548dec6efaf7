"""Reads the records of a gMINT audit and turns them into samples of a model."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from extraction.errors import InputError
from extraction.gmint.audit import Labelled
from extraction.gmint.samples import Sample
from extraction.gmint.splits import joined_groups
from pipelines.gmint.config import GmintConfig
from pipelines.membership.cohorts import Cohort, Columns, Record, parted_cohorts, read_records


@dataclass(frozen=True)
class Sides:
    """The records of one data set and protocol.

    Attributes:
        members: that the models were trained on.
        others: that they were not.
        groups: for each record that was kept, members first, what it belongs to, near duplicates joined.
    """

    members: Cohort
    others: Cohort
    groups: Sequence[str]

    @property
    def kept(self) -> list[Record]:
        """Those that can be used, members first."""
        return [*self.members.kept, *self.others.kept]


def read_sides(config: GmintConfig, data: str, protocol: str) -> Sides:
    """Read members and others, and drop what cannot be used: without text, twice, or on both sides.

    Raises:
        InputError: a file cannot be read or lacks a column, or too few records can be used.
    """
    labels = (config.label_column,) if config.kind == "classifier" else ()
    columns = Columns(config.id_column, config.text_column, config.group_column, labels)
    found = config.data[data]
    members = read_records(found.members, columns)
    others = _of_several(found.others[protocol], columns)
    sides = parted_cohorts(members, others, config.near_duplicate)
    _refuse_few(config, found.members, sides[0])
    _refuse_few(config, found.others[protocol][0], sides[1])
    kept = [*sides[0].kept, *sides[1].kept]
    texts, groups = [one.text or "" for one in kept], [one.group for one in kept]
    return Sides(*sides, joined_groups(texts, groups, config.near_duplicate))


def labelled_samples(config: GmintConfig, sides: Sides, tokenizer: Any, model: Any) -> Labelled:
    """Turn records into samples.

    Args:
        config: of the audit.
        sides: the records.
        tokenizer: the model's.
        model: a `transformers` model.

    Raises:
        InputError: a label is none of the model's, or a text is one token long and so has no next one.
    """
    records = sides.kept
    labels = _labels(config, records, model) if config.kind == "classifier" else [0] * len(records)
    start = tokenizer.bos_token_id if config.kind == "causal" else None
    samples = []
    for record, label in zip(records, labels, strict=True):
        encoded = tokenizer(record.text, truncation=True, max_length=config.max_tokens)
        ids, types = encoded["input_ids"], encoded.get("token_type_ids") or ()
        whole = ids if start is None or ids[:1] == [start] else [start, *ids]
        if config.kind == "causal" and len(whole) < 2:
            raise InputError("text_column: a text is one token long, which no token follows; leave it out")
        samples.append(Sample(whole, label, types if any(types) else ()))
    return Labelled(
        samples=samples,
        texts=[record.text or "" for record in records],
        member=np.arange(len(records)) < len(sides.members.kept),
        groups=sides.groups,
    )


def _refuse_few(config: GmintConfig, path: Path, cohort: Cohort) -> None:
    most = max(config.samples)
    if len(cohort.kept) < most:
        raise InputError(
            f"{path}: {len(cohort.kept):,} records can be used, and `samples` asks for {most:,}; ask for fewer"
        )


def _of_several(paths: Sequence[Path], columns: Columns) -> list[Record]:
    """Records of several files in turn, as many of each, under ids of their own."""
    files = [read_records(path, columns) for path in paths]
    if len(files) == 1:
        return files[0]
    named = [[replace(one, id=f"{n}/{one.id}") for one in file] for n, file in enumerate(files)]
    return list(itertools.chain.from_iterable(zip(*named, strict=False)))


def _labels(config: GmintConfig, records: Sequence[Record], model: Any) -> list[int]:
    known = {str(name): int(number) for name, number in model.config.label2id.items()}
    known |= {str(number): number for number in known.values()}
    found = [known.get(str(record.values[config.label_column])) for record in records]
    if None in found:
        names = ", ".join(itertools.islice(known, 10))
        raise InputError(
            f"label_column: `{config.label_column}` holds what is no class of the model, which has: {names}"
        )
    return [label for label in found if label is not None]
