"""Reads the records of a gMINT audit and turns them into samples of a model."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from extraction.errors import InputError
from extraction.gmint.audit import Labelled
from extraction.gmint.samples import SHORTEST
from extraction.gmint.splits import joined_groups
from extraction.gmint.texts import Encoder
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
    others = {path: read_records(path, columns) for path in found.others[protocol]}
    sides = parted_cohorts(members, _in_turn(list(others.values())), config.near_duplicate)
    _refuse_few(config, found.members, sides[0])
    _refuse_few(config, min(others, key=lambda path: len(others[path])), sides[1])
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
    causal = config.kind == "causal"
    labels = [0] * len(records) if causal else labels_of(config, records, model)
    encoder = Encoder.of(model, tokenizer, causal, config.max_tokens)
    samples = [encoder.sample(one.text or "", label) for one, label in zip(records, labels, strict=True)]
    if causal and any(len(sample.tokens) < SHORTEST for sample in samples):
        raise InputError("text_column: a text is one token long, which no token follows; leave it out")
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
            f"{path}: {len(cohort.kept):,} records of {cohort.loaded:,} can be used, and `samples` asks for {most:,}; "
            "ask for fewer, or add records"
        )


def _in_turn(files: Sequence[Sequence[Record]]) -> Sequence[Record]:
    """Records of several files in turn, of each as many as the shortest has, under ids of their own."""
    if len(files) == 1:
        return files[0]
    named = [[replace(one, id=f"{n}/{one.id}") for one in file] for n, file in enumerate(files)]
    return list(itertools.chain.from_iterable(zip(*named, strict=False)))


def labels_of(config: GmintConfig, records: Sequence[Record], model: Any) -> list[int]:
    """The records' classes, all of them given by name or all by number: one may be named as another is numbered.

    Raises:
        InputError: a label is none of the model's.
    """
    named = {str(name): int(number) for name, number in model.config.label2id.items()}
    numbered = {str(number): number for number in named.values()}
    values = [record.values[config.label_column] for record in records]
    asked = ["" if value is None else str(value) for value in values]
    for known in (named, numbered):
        if all(label in known for label in asked):
            return [known[label] for label in asked]
    strange = sum(label not in named and label not in numbered for label in asked)
    classes = ", ".join(itertools.islice((*named, *numbered), 10))
    raise InputError(
        f"label_column: {strange or len(asked):,} values of `{config.label_column}` are no class of the model, which "
        f"has, by name or by number: {classes}"
    )
