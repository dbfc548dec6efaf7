"""What every engine does, whatever runs the model behind it."""

from collections.abc import Sequence
from typing import Protocol

from extraction.records import Generation, Request


class Engine(Protocol):
    """Answers requests. One engine lives in one process and is used by one caller at a time."""

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Sample once for each request.

        Returns:
            One generation for each request, in order. A request that cannot run (its prompt is empty or
            over-long) comes back as `failed`, without tokens; the others are not disturbed.

        Raises:
            Exception: the engine itself is broken; nothing of this call may be kept.
        """
        ...

    def settings_used(self) -> dict[str, object]:
        """Say what really runs, in values that JSON can hold: kind, versions, number format, sampling."""
        ...

    def close(self) -> None:
        """Free the model. Calling it twice does no harm."""
        ...


def failed(request: Request) -> Generation:
    """The generation of a request that could not run."""
    return Generation(
        request.request_id, request.family, request.number, request.prompt_token_ids, [], [], "failed"
    )


def completed(
    request: Request, token_ids: list[int], logprobs: list[float], finish_reason: str
) -> Generation:
    """The generation of a request that ran."""
    return Generation(
        request.request_id,
        request.family,
        request.number,
        request.prompt_token_ids,
        token_ids,
        logprobs,
        finish_reason,
    )
