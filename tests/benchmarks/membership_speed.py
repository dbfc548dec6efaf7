"""What membership scores cost beside a bare forward pass of the same model over the same batches.

.venv/bin/python tests/benchmarks/membership_speed.py MODEL --texts 64 --words 200

Passes alternate, and the medians of their processor times are compared: other work on the machine changes them little,
and hits both alike. The bare pass gives logits and reads nothing from them. `loss`, `zlib` and Min-K% need the
log-probabilities alone; Min-K%++ needs the expected log-probability and its spread over the vocabulary at each place.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch

from extraction.model import ModelSettings
from extraction.scoring import Text
from pipelines.membership.scoring import Reader


def main() -> None:
    """Measure, and print JSON."""
    arguments = _arguments()
    torch.set_num_threads(arguments.threads)
    reader = Reader.load(ModelSettings(path=arguments.model))
    texts = [reader.text(text) for text in _texts(arguments.texts, arguments.words)]
    scorer = reader.scorer
    kinds: dict[str, Callable[[], object]] = {
        "bare": lambda: _bare(reader, texts),
        "log_probs": lambda: scorer.log_probs(texts),
        "min_k_plus_plus": lambda: scorer.score(texts),
    }
    seconds: dict[str, list[float]] = {name: [] for name in kinds}
    for turn in range(arguments.turns + 1):
        for name, run in kinds.items():
            start = time.process_time()
            run()
            if turn:  # the first warms up
                seconds[name].append(time.process_time() - start)
    middle = {name: statistics.median(values) for name, values in seconds.items()}
    tokens = sum(map(len, texts))
    found = {
        name: {"seconds": value, "tokens_per_second": tokens / value, "over_bare": value / middle["bare"] - 1}
        for name, value in middle.items()
    }
    print(json.dumps({"tokens": tokens, **found}, indent=1))


def _bare(reader: Reader, texts: list[Text]) -> None:
    """The scorer's own batches through the model, and nothing else."""
    scorer = reader.scorer
    order = sorted(range(len(texts)), key=lambda n: len(texts[n]))
    with torch.inference_mode():
        for batch in scorer._batches(order, texts):
            scorer._forward([texts[n] for n in batch])


def _texts(count: int, words: int) -> list[str]:
    rng = np.random.default_rng(0)
    known = [f"word{n}" for n in range(5000)]
    return [" ".join(rng.choice(known, words)) for _ in range(count)]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", help="folder of a model and its tokenizer")
    parser.add_argument("--texts", type=int, default=64)
    parser.add_argument("--words", type=int, default=200)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
