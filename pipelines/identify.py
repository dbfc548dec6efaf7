"""The tagging stage: names and numbers in every generation; and how the parts of any stage are worked through."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from extraction.engines.settings import ModelSettings
from extraction.errors import InputError
from extraction.identifiers.records import IDENTIFIER_SCHEMA
from extraction.identifiers.settings import IdentifierSettings
from extraction.records import Generation, generations_of
from pipelines.parts import PartStore
from pipelines.pool import Facts, Pool, Resources
from pipelines.progress import progress

if TYPE_CHECKING:
    from extraction.token_bytes import TokenBytes

Value = tuple[str, str]
Runner = Callable[[str, Any, PartStore, Iterable[str]], None]
"""(label, job, where its parts go, all parts): process every part that is not complete yet."""


@dataclass(frozen=True)
class TaggingJob:
    """Tags the generated text of one part after another; prompts are not looked at, filler is."""

    settings: IdentifierSettings
    model: ModelSettings
    generations: PartStore
    tagged: PartStore

    def start(self) -> Callable[[str], Facts]:
        """Load the tagger and the tokenizer in the worker's own process."""
        from extraction.identifiers import Tagger
        from extraction.model import load_tokenizer
        from extraction.token_bytes import TokenBytes

        tagger = Tagger(self.settings)
        token_bytes = TokenBytes.from_tokenizer(load_tokenizer(self.model))

        def process(name: str) -> Facts:
            generations = generations_of(self.generations.read(name))
            findings = tagger.tag(_text(token_bytes, generation) for generation in generations)
            rows = list(chain.from_iterable(map(_rows, generations, findings)))
            self.tagged.publish(
                name, pa.Table.from_pylist(rows, schema=IDENTIFIER_SCHEMA), {"findings": len(rows)}
            )
            return {"findings": len(rows)}

        return process


def _text(token_bytes: "TokenBytes", generation: Generation) -> str:
    """What was generated, with a line break where a token without bytes parts it: no number goes on behind one."""
    runs = token_bytes.runs(generation.token_ids)
    return "\n".join(run.data.decode("utf-8", errors="replace") for run in runs)


def _rows(generation: Generation, findings: Iterable[Any]) -> Iterator[dict[str, Any]]:
    request = {"request_id": generation.request_id, "family": generation.family, "number": generation.number}
    return (request | asdict(finding) for finding in findings)


def run_parts(
    label: str,
    job: Any,
    done: PartStore,
    names: Iterable[str],
    workers: int,
    cpus: float = 1,
    gpus: float = 0,
) -> None:
    """Process every part that is not complete yet, on Ray.

    Args:
        label: what the progress says.
        job: what each worker does.
        done: where the parts are published.
        names: all parts of the stage.
        workers: how many workers run side by side.
        cpus: cores of each.
        gpus: accelerators of each.

    Raises:
        InputError: a part failed three times; the stage is not complete.
    """
    complete = set(done.complete())
    pending = [name for name in names if name not in complete]
    if not pending:
        return
    failed: list[str] = []
    with progress(label, "parts", len(pending)) as shown:
        held = Resources(workers, cpus, gpus)
        Pool(job, held, lambda _name, _facts: shown.advance(1), failed.append).run(pending)
    if failed:
        raise InputError(
            f"{done.root}: {label} failed three times on {len(failed)} parts, first {failed[0]}; "
            "see the lines above, then run the same command again"
        )


def run_here(label: str, job: Any, done: PartStore, names: Iterable[str]) -> None:
    """Process every part that is not complete yet in this process, for work that is too small for Ray.

    Args:
        label: what the progress says.
        job: what a worker would do.
        done: where the parts are published.
        names: all parts of the stage.
    """
    complete = set(done.complete())
    pending = [name for name in names if name not in complete]
    if pending:
        process = job.start()
        with progress(label, "parts", len(pending)) as shown:
            for name in pending:
                process(name)
                shown.advance(1)


def distinct_values(tagged: PartStore) -> tuple[Value, ...]:
    """Every distinct (type, value) of a run, in order."""
    table = tagged.read_all(IDENTIFIER_SCHEMA, ["type", "value"])
    groups = table.group_by(["type", "value"]).aggregate([])
    return tuple(sorted(zip(groups["type"].to_pylist(), groups["value"].to_pylist(), strict=True)))
