"""How often the same request gives the same tokens again: a sample of a run's requests, generated once more.

An engine that batches requests may give another text for the same request, because the low bits of its sums depend
on the batch. What was counted stays what it is; the rate says how far a run can be made again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from extraction.engines import Engine
from extraction.records import Request, requests_of
from pipelines.parts import PartStore
from pipelines.plan import Part, planned_parts, read_requests

# One row for each request of the sample. No text: `same` is all that is kept of the second generation.
RERUN_SCHEMA = pa.schema([("request_id", pa.string()), ("same", pa.bool_())])

Sample = tuple[tuple[Part, tuple[int, ...]], ...]
_PREFIX = "parts-"


@dataclass(frozen=True)
class Rerun:
    """A sample of a run that is generated again when all of it is there, by a worker whose engine is loaded already.

    Attributes:
        requests: how many are drawn; 0: none.
        seed: of that draw.
        plan: what was planned.
        generations: what it gave.
        reruns: where the comparison is published.
    """

    requests: int
    seed: int
    plan: PartStore
    generations: PartStore
    reruns: PartStore

    @property
    def name(self) -> str:
        """Names the sample: a run that has grown since is sampled anew."""
        return f"{_PREFIX}{len(planned_parts(self.plan)):05d}-requests-{self.requests}"

    def left(self) -> list[str]:
        """The sample's name, where it is still to be generated again."""
        return [self.name] if self.requests and self.name not in self.reruns.markers() else []

    def compare(self, name: str, engine: Engine) -> None:
        """Generate the sample of that name again and publish which requests gave the same tokens."""
        requests, first = self._sampled()
        again = [g.token_ids for g in engine.generate(requests)]
        same = [a == b for a, b in zip(first, again, strict=True)]
        table = pa.table([[r.request_id for r in requests], same], schema=RERUN_SCHEMA)
        self.reruns.publish(name, table, {"requests": len(same), "agreed": sum(same)})

    def agreement(self) -> dict[str, Any] | None:
        """`requests`, `agreed` and `share`; null where no request was sampled, or where the workers failed."""
        facts = self.reruns.markers().get(self.name) if self.requests else None
        if facts is None or not facts["requests"]:
            return None
        return {**facts, "share": facts["agreed"] / facts["requests"]}

    def _sampled(self) -> tuple[list[Request], list[list[int]]]:
        """The sampled requests that did not fail, and the tokens that each gave."""
        requests: list[Request] = []
        tokens: list[list[int]] = []
        for part, rows in choose(planned_parts(self.plan), self.requests, self.seed):
            planned = requests_of(read_requests(self.plan, part).take(list(rows)))
            table = self.generations.read(part.name, ["request_id", "token_ids", "finish_reason"])
            for request, row in zip(planned, table.take(list(rows)).to_pylist(), strict=True):
                if request.request_id != row["request_id"]:
                    raise ValueError(f"{part.name}: its requests and generations are in different orders")
                if row["finish_reason"] != "failed":
                    requests.append(request)
                    tokens.append(row["token_ids"])
        return requests, tokens


def is_sample(name: str) -> bool:
    """Tell the name of a sample from that of a part, `part-00000`."""
    return name.startswith(_PREFIX)


def choose(parts: Sequence[Part], requests: int, seed: int) -> Sample:
    """Draw requests uniformly over all parts, without replacement.

    Returns:
        The parts that hold one, each with the rows of its sampled requests, in order.
    """
    ends = np.cumsum([part.requests for part in parts])
    total = int(ends[-1])
    drawn = np.sort(np.random.default_rng(seed).choice(total, min(requests, total), replace=False))
    rows: dict[int, list[int]] = {}
    for request in drawn.tolist():
        place = int(np.searchsorted(ends, request, side="right"))
        rows.setdefault(place, []).append(request - int(ends[place]) + parts[place].requests)
    return tuple((parts[place], tuple(own)) for place, own in rows.items())
