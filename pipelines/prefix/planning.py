"""Plans the requests of the prefix test, as the generating stage reads them: each written before it is generated."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from extraction.records import REQUEST_SCHEMA, request_id
from pipelines.parts import PartStore
from pipelines.plan import Part, round_name
from pipelines.prefix.targets import TARGET_SCHEMA

FAMILY = "prefix"


def plan_greedy(plan: PartStore, targets: PartStore, target_tokens: int, part_requests: int) -> None:
    """Plan one greedy request for each target, once.

    Args:
        plan: where the requests go.
        targets: the targets.
        target_tokens: the most tokens that a request gives.
        part_requests: requests in one part.
    """
    table = targets.read_all(TARGET_SCHEMA, ["target", "prompt_token_ids"])
    prompts = zip(table["target"].to_pylist(), table["prompt_token_ids"].to_pylist(), strict=True)
    rows = [request_row(FAMILY, number, prompt, number, target_tokens) for number, prompt in prompts]
    plan_requests(plan, FAMILY, rows, part_requests)


def request_row(family: str, number: int, prompt: Sequence[int], seed: int, tokens: int) -> dict[str, Any]:
    """One request, a row of `REQUEST_SCHEMA`."""
    return {
        "request_id": request_id(family, number),
        "family": family,
        "number": number,
        "prompt_token_ids": list(prompt),
        "seed": seed,
        "max_tokens": tokens,
    }


def plan_requests(plan: PartStore, family: str, rows: Sequence[dict[str, Any]], part_requests: int) -> None:
    """Publish a plan as the one round that the generating stage reads; what is planned already stays."""
    if plan.facts(round_name(0)) is None:
        pieces = [rows[at : at + part_requests] for at in range(0, len(rows), part_requests)]
        parts = [
            Part(f"part-{place:05d}", 0, place, family, own[0]["number"], len(own))
            for place, own in enumerate(pieces)
        ]
        facts = {"parts": [vars(part) for part in parts]}
        tables = (pa.Table.from_pylist(list(own), schema=REQUEST_SCHEMA) for own in pieces)
        plan.publish_groups(round_name(0), tables, REQUEST_SCHEMA, facts)
