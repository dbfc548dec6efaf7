"""How fast per-sample gradients are: many at a time beside one by one, and beside a plain pass without them.

.venv/bin/python tests/benchmarks/gmint_speed.py --batch 32

Ways alternate, and the medians of their times are compared: other work on the machine then hits all alike. The model
and the texts are those of the small experiment; the gradients are those of the last three layers.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable

import torch

from extraction.gmint.gradients import (
    Differentiated,
    fitting_padding,
    single_gradients,
    vmapped_gradients,
)
from extraction.gmint.layers import last_layers
from extraction.gmint.samples import LABEL, Sample
from pipelines.gmint.small import data
from pipelines.gmint.small.models import MODELS, untrained


def main() -> None:
    """Measure, and print JSON."""
    arguments = _arguments()
    torch.set_num_threads(arguments.threads)
    print(json.dumps({name: _measured(name, arguments) for name in arguments.models}, indent=1))


def _measured(name: str, arguments: argparse.Namespace) -> dict[str, float | None]:
    model = untrained(name, len(data.vocabulary()), 0)
    of = Differentiated(model, last_layers(model, arguments.layers), LABEL)
    texts = sorted(data.make_texts("news", 16 * arguments.batch, seed=0), key=lambda text: len(text.words))
    middle = texts[8 * arguments.batch : 9 * arguments.batch]  # of like length, as batches of thousands are
    samples = [Sample((data.CLS, *text.words, data.SEP), text.label) for text in middle]
    padding = fitting_padding(of, samples)
    if padding is None:
        return {
            "one_by_one_s": _seconds([lambda: single_gradients(of, samples)], arguments.turns)[0],
            "times": None,
        }
    one, many = _seconds(
        [lambda: single_gradients(of, samples), lambda: vmapped_gradients(of, samples, padding)],
        arguments.turns,
    )
    return {"one_by_one_s": one, "vmapped_s": many, "times": one / many}


def _seconds(ways: list[Callable[[], object]], turns: int) -> list[float]:
    found: list[list[float]] = [[] for _ in ways]
    for turn in range(turns + 1):
        for run, times in zip(ways, found, strict=True):
            start = time.perf_counter()
            run()
            if turn:  # the first warms up
                times.append(time.perf_counter() - start)
    return [statistics.median(times) for times in found]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
