"""What a model expects at each place of a text: the mean of all log-probabilities there, and their spread.

Reading logits costs what memory costs. So they are read in blocks that stay in a processor's cache, in few passes, most
of them in place, and only one of them takes exponentials.
"""

from typing import Any

# Logits of a block: half a MiB on a CPU, so that two stay in its second cache; enough to fill a GPU elsewhere.
CPU_BLOCK, BLOCK = 1 << 17, 1 << 26
# The logarithm of about the least normal number of float32. Smaller chances have no part in the sums, but are slow to
# multiply, and 0 times minus infinity would be NaN.
LEAST = -87.0


def moments(logits: Any, tokens: Any) -> Any:
    """Read the log-probabilities of tokens, and mean and standard deviation of all at their places.

    Args:
        logits: a tensor of [places, vocabulary]; it is left as it is.
        tokens: int64[places], on the same device.

    Returns:
        A tensor of float32[3, places]: log-probabilities, the means sum(p log p), the standard deviations of log p.
    """
    import torch

    rows = max(1, (CPU_BLOCK if logits.device.type == "cpu" else BLOCK) // logits.shape[-1])
    blocks = zip(logits.split(rows), tokens.split(rows), strict=True)
    return torch.cat([_of_block(*block) for block in blocks], dim=1)


def _of_block(logits: Any, tokens: Any) -> Any:
    import torch

    logs = logits.float()
    logs = logs - logs.amax(-1, keepdim=True)
    chosen = logs.gather(-1, tokens[:, None])[:, 0]
    chances = logs.clamp_(min=LEAST).exp()
    total = chances.sum(-1)
    mean = chances.mul_(logs).sum(-1) / total
    logs -= mean[:, None]
    # Centred, and so sum(p log p (log p - mean)) is the variance: the other half of the square sums to nothing.
    square = chances.mul_(logs).sum(-1) / total
    scale = total.log()
    return torch.stack([chosen - scale, mean - scale, square.clamp_(min=0).sqrt()])
