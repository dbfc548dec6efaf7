"""Measures the ranking: `ranking.py scoring`, `... throughput` and `... million`, one JSON object each.

`scoring` scores texts of uneven lengths and gives the same model as many tokens again in full rows of one length, with
no padding, nothing sorted and nothing read from the logits: the bare forward pass. One after the other, the order
swapped in every other round; on a CPU by processor time, which other work on the machine changes little.
`throughput` is the rate of the whole: generations without log-probabilities, all eight scores of each, with a reference
model of the same size.

`million` writes scored parts of made-up generations, then picks candidates from them and judges the scores, in this
process, whose peak memory it tells.
"""

import argparse
import json
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from extraction.engines.settings import TransformersSettings
from extraction.model import ModelSettings, load_tokenizer
from extraction.ranking.candidates import Picking
from extraction.ranking.scores import SCORES
from extraction.records import Generation
from extraction.scoring import Scorer, Text
from extraction.token_bytes import TokenBytes
from pipelines.parts import PartStore
from pipelines.rank.calibration import calibration
from pipelines.rank.candidates import candidates_of
from pipelines.rank.models import RankingModels
from pipelines.rank.run import PART_ROWS
from pipelines.rank.scored import SCORE_SCHEMA, ScoreColumns

LENGTHS = (20, 256)
FAMILIES = ("empty", "public", "public_chat", "repeat")


def write_model(folder: Path, vocabulary: int) -> Path:
    """A Llama with random weights: 5 million parameters, and a vocabulary in proportion to that of a larger one."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    shape = {"hidden_size": 320, "intermediate_size": 864, "num_hidden_layers": 4, "num_attention_heads": 5}
    LlamaForCausalLM(
        LlamaConfig(vocab_size=vocabulary, max_position_embeddings=1024, **shape)
    ).save_pretrained(folder)
    return folder


def random_texts(count: int, vocabulary: int) -> list[Text]:
    rng = np.random.default_rng(1)
    return [Text([0], rng.integers(0, vocabulary, rng.integers(*LENGTHS)).tolist()) for _ in range(count)]


def bare_seconds(model: Any, tokens: int, row: int, batch_tokens: int, vocabulary: int) -> float:
    """Seconds of the forward pass over so many tokens in full rows."""
    import torch

    ids = torch.randint(0, vocabulary, (tokens // row, row), device=model.device)
    clock = _clock(model)
    started = clock()
    with torch.inference_mode():
        for batch in ids.split(batch_tokens // row):
            model(input_ids=batch, use_cache=False)
        if model.device.type == "cuda":
            torch.cuda.synchronize()
    return clock() - started


def _clock(model: Any) -> Callable[[], float]:
    return time.process_time if model.device.type == "cpu" else time.perf_counter


def scoring(chosen: argparse.Namespace) -> dict[str, Any]:
    """Tokens/s of both, and the ratio of their medians."""
    import torch

    torch.set_num_threads(chosen.threads)
    with tempfile.TemporaryDirectory() as folder:
        path = chosen.model or write_model(Path(folder), 4096)
        scorer = Scorer.load(ModelSettings(path=str(path)), chosen.device)
    model, vocabulary = scorer._model, scorer._vocabulary
    texts = random_texts(chosen.texts, vocabulary)
    tokens = sum(map(len, texts))
    row = round(tokens / len(texts))
    scorer.log_probs(texts[:8])
    rates: dict[str, list[float]] = {"bare": [], "scoring": []}
    for number in range(chosen.rounds):
        for name in ("bare", "scoring") if number % 2 else ("scoring", "bare"):
            if name == "bare":
                done = tokens // row * row
                rates[name].append(done / bare_seconds(model, tokens, row, scorer._batch_tokens, vocabulary))
            else:
                clock = _clock(model)
                started = clock()
                scorer.log_probs(texts)
                rates[name].append(tokens / (clock() - started))
    medians = {name: statistics.median(values) for name, values in rates.items()}
    return {
        "texts": len(texts),
        "tokens": tokens,
        "threads": chosen.threads,
        "tokens_s": {name: [round(rate) for rate in values] for name, values in rates.items()},
        "scoring_over_bare": round(medians["scoring"] / medians["bare"], 3),
    }


def throughput(chosen: argparse.Namespace) -> dict[str, Any]:
    """Generated tokens/s of all scores together, in one process."""
    import torch

    torch.set_num_threads(chosen.threads)
    tokenizer = load_tokenizer(ModelSettings(path=chosen.model))
    table = TokenBytes.from_tokenizer(tokenizer)
    printable = [
        n for n in range(len(tokenizer)) if table.bytes_of([n])[0].decode("utf-8", "ignore").isprintable()
    ]
    rng = np.random.default_rng(1)
    generations = [
        Generation(
            f"empty-{n:09d}",
            "empty",
            n,
            [],
            rng.choice(printable, rng.integers(*LENGTHS)).tolist(),
            [],
            "stop",
        )
        for n in range(chosen.texts)
    ]
    model = ModelSettings(path=chosen.model)
    ranker = RankingModels(
        model, model, TransformersSettings(kind="transformers", device=chosen.device)
    ).load()
    started = time.perf_counter()
    list(ranker.score(generations))
    took = time.perf_counter() - started
    tokens = sum(len(g.token_ids) for g in generations)
    return {"generations": len(generations), "tokens": tokens, "tokens_s": round(tokens / took)}


def write_scores(store: PartStore, generations: int, tokens: int, share: float) -> None:
    """Parts of made-up generations; a share of them are near-copies of a few, and those stand at the top."""
    rng = np.random.default_rng(0)
    copies = rng.integers(0, 30_000, (50, tokens), dtype=np.int32)
    empty = pa.ListArray.from_arrays(np.zeros(PART_ROWS + 1, np.int32), pa.array([], pa.int32()))
    for first in range(0, generations, PART_ROWS):
        rows = min(PART_ROWS, generations - first)
        ids = rng.integers(0, 30_000, (rows, tokens), dtype=np.int32)
        copied = rng.random(rows) < share
        ids[copied] = copies[rng.integers(0, len(copies), copied.sum())]
        ids[copied, :3] = rng.integers(0, 30_000, (copied.sum(), 3))
        scores = [pa.array(rng.normal(size=rows) + 3.0 * copied) for _ in SCORES]
        family = FAMILIES[first // PART_ROWS % len(FAMILIES)]
        columns = [
            pa.array([f"{family}-{first + n:09d}" for n in range(rows)]),
            pa.array([family] * rows),
            empty[:rows],
            pa.ListArray.from_arrays(
                np.arange(0, rows * tokens + 1, tokens, np.int32), pa.array(ids.ravel())
            ),
            *scores,
        ]
        name = f"part-{first // PART_ROWS:05d}"
        store.publish(name, pa.Table.from_arrays(columns, schema=SCORE_SCHEMA), {"generations": rows})


def million(chosen: argparse.Namespace) -> dict[str, Any]:
    """Seconds and peak memory of reading scores, picking candidates and judging."""
    table = TokenBytes([b"a"] * 30_000)
    with tempfile.TemporaryDirectory() as folder:
        store = PartStore(folder)
        write_scores(store, chosen.generations, chosen.tokens, chosen.copies)
        stored = sum(file.stat().st_size for file in Path(folder).iterdir())
        before = _peak()
        times = [time.perf_counter()]
        columns = ScoreColumns.read(store)
        times.append(time.perf_counter())
        candidates = candidates_of(store, columns, Picking(), table)
        times.append(time.perf_counter())
        hits = np.random.default_rng(2).random(len(columns)) < 0.02
        calibration(columns, candidates.by_score, hits)
        times.append(time.perf_counter())
    read, picked, judged = np.diff(times).round(1).tolist()
    return {
        "generations": chosen.generations,
        "tokens_each": chosen.tokens,
        "copies": chosen.copies,
        "scored_parts_bytes": stored,
        "candidates": candidates.table.num_rows,
        "read_seconds": read,
        "pick_seconds": picked,
        "judge_seconds": judged,
        "peak_gib_before": before,
        "peak_gib": _peak(),
    }


def _peak() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20), 2)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("scoring")
    one.add_argument("--rounds", type=int, default=5)
    one.set_defaults(measure=scoring)
    two = commands.add_parser("throughput")
    two.set_defaults(measure=throughput)
    for command in (one, two):
        command.add_argument("--model", required=command is two, help="folder of safetensors")
        command.add_argument("--texts", type=int, default=1024)
        command.add_argument("--threads", type=int, default=1)
        command.add_argument("--device", default="cpu")
    three = commands.add_parser("million")
    three.add_argument("--generations", type=int, default=1_000_000)
    three.add_argument("--tokens", type=int, default=64)
    three.add_argument("--copies", type=float, default=0.1, help="share of near-copies of 50 texts")
    three.set_defaults(measure=million)
    chosen = parser.parse_args()
    print(json.dumps(chosen.measure(chosen), indent=2))


if __name__ == "__main__":
    main()
