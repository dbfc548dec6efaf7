"""Planning in rounds: how many requests each family needs until its share of the largest budget is reached."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from extraction.errors import InputError
from extraction.prompts import Prompts
from extraction.records import REQUEST_SCHEMA
from pipelines.config import RunConfig
from pipelines.parts import PartStore


@dataclass(frozen=True)
class Part:
    """A run of requests of one family: what a worker pulls at a time.

    Attributes:
        name: `part-00000`, the same in every stage.
        round: the planning round whose file holds the requests.
        group: the row group of that file.
        family: the prompt family.
        first: number of the first request.
        requests: how many there are.
    """

    name: str
    round: int
    group: int
    family: str
    first: int
    requests: int


@dataclass(frozen=True)
class Progress:
    """What a family has generated so far.

    Attributes:
        requests: requests generated, failed ones included.
        tokens: generated tokens.
    """

    requests: int = 0
    tokens: int = 0


def planned_parts(plan: PartStore) -> list[Part]:
    """Every part of every round that is completely planned, in order."""
    return [Part(**row) for facts in plan.markers().values() for row in facts["parts"]]


def read_requests(plan: PartStore, part: Part) -> pa.Table:
    """The requests of one part, as a table of `REQUEST_SCHEMA`."""
    return plan.read(round_name(part.round), group=part.group)


def round_name(number: int) -> str:
    """Name a round's file in `plan/`."""
    return f"round-{number:05d}"


def check_reachable(config: RunConfig, longest: Mapping[str, int]) -> None:
    """Refuse a budget that cannot be reached even if every output is as long as it can be.

    Args:
        config: the run's configuration.
        longest: the most tokens that one request of each family can return.

    Raises:
        InputError: `max_requests` is too small; the message says what is needed.
    """
    budget = max(config.budgets)
    needed = sum(math.ceil(share * budget / longest[f]) for f, share in config.prompts.shares().items())
    if needed > config.max_requests:
        raise InputError(
            f"max_requests: {config.max_requests:,} requests cannot reach the budget of {budget:,} tokens even with "
            f"the longest outputs; allow {needed:,} or more, raise max_tokens or lower the budget"
        )


def next_round(config: RunConfig, longest: Mapping[str, int], done: Mapping[str, Progress]) -> dict[str, int]:
    """How many more requests each family needs, by what its outputs were long so far.

    Empty when every budget is reached, or no request is left to plan. A family of whose requests none gave a token
    gets no more: they all failed, and more would.
    """
    budget = max(config.budgets)
    wanted = {
        family: _requests_for(share * budget, longest[family], done.get(family, Progress()))
        for family, share in config.prompts.shares().items()
    }
    left = config.max_requests - sum(p.requests for p in done.values())
    total = sum(wanted.values())
    if total > max(left, 0):
        wanted = {family: n * max(left, 0) // total for family, n in wanted.items()}
    return {family: n for family, n in wanted.items() if n > 0}


def _requests_for(target: float, longest: int, done: Progress) -> int:
    missing = target - done.tokens
    if missing <= 0:
        return 0
    if not done.requests:
        return math.ceil(missing / longest)
    if not done.tokens:
        return 0
    expected = missing / max(done.tokens / done.requests, 1.0)
    # Lengths vary about as much as their mean: two standard deviations more save a round, and its engines' start.
    return math.ceil(expected + 2 * math.sqrt(expected))


def write_round(
    plan: PartStore,
    prompts: Prompts,
    wanted: Mapping[str, int],
    done: Mapping[str, Progress],
    part_requests: int,
) -> list[Part]:
    """Plan a round and publish it whole, before any of it is generated.

    Args:
        plan: the store of the stage.
        prompts: makes a family's requests.
        wanted: requests to plan for each family.
        done: what was planned and generated before.
        part_requests: requests in one part.

    Returns:
        The new parts. Parts are row groups of the round's file, so all but the last of a family are full.
    """
    before = planned_parts(plan)
    number = before[-1].round + 1 if before else 0
    parts: list[Part] = []
    for family, count in wanted.items():
        first = done.get(family, Progress()).requests
        for start in range(first, first + count, part_requests):
            size = min(part_requests, first + count - start)
            name = f"part-{len(before) + len(parts):05d}"
            parts.append(Part(name, number, len(parts), family, start, size))
    tables = (prompts.plan(p.family, p.first, p.requests) for p in parts)  # one at a time in memory
    plan.publish_groups(round_name(number), tables, REQUEST_SCHEMA, {"parts": [vars(p) for p in parts]})
    return parts


def progress_of(parts: Sequence[Part], facts: Mapping[str, Mapping[str, Any]]) -> dict[str, Progress]:
    """What each family has generated, from the facts of the complete parts."""
    done: dict[str, Progress] = {}
    for part in parts:
        if part.name in facts:
            before = done.get(part.family, Progress())
            tokens = before.tokens + int(facts[part.name]["tokens"])
            done[part.family] = Progress(before.requests + part.requests, tokens)
    return done
