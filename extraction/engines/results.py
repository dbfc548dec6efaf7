"""The two ways in which a request ends."""

from extraction.records import Generation, Request


def failed(request: Request) -> Generation:
    """The generation of a request that could not run."""
    return Generation(
        request.request_id, request.family, request.number, request.prompt_token_ids, [], [], "failed"
    )


def completed(
    request: Request,
    token_ids: list[int],
    logprobs: list[float],
    finish_reason: str,
    tokenised_again: bool = False,
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
        tokenised_again,
    )
