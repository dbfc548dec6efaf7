"""Measures generation: `python tests/benchmarks/generation.py throughput` and `... planning`, one JSON object each.

`throughput` gives the same requests to vLLM itself, in one call, and to the pipeline: a Ray worker that pulls them in
parts, reads each part's requests and publishes its generations. Both are timed from the moment the engine is loaded,
one after the other, and the order is swapped in every other round. It needs an environment with vLLM.

`planning` plans ten million requests (a billion tokens of 100 each), publishes them as a round, and then lists the
parts as a run does that goes on, with a completion marker for each.
"""

import argparse
import json
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from extraction.engines.settings import VllmSettings  # noqa: E402
from extraction.families import PromptFamilies  # noqa: E402
from extraction.model import ModelSettings, load_tokenizer  # noqa: E402
from extraction.prompts import load_prompts  # noqa: E402
from extraction.records import requests_of  # noqa: E402
from extraction.sampling import ResolvedSampling, Sampling, resolve_sampling  # noqa: E402
from pipelines.generate import GenerationJob  # noqa: E402
from pipelines.parts import PartStore  # noqa: E402
from pipelines.plan import Part, planned_parts, read_requests, write_round  # noqa: E402
from pipelines.pool import Facts, Pool, Resources, cluster  # noqa: E402

VOCABULARY = 4096
ENDS = 33  # of the vocabulary's tokens: about one generation in three reaches a limit of 128 tokens


@dataclass(frozen=True)
class Setup:
    """One model, and one plan for it, as both ways of generating use them."""

    folder: Path
    engine: VllmSettings
    model: ModelSettings
    sampling: ResolvedSampling
    plan: PartStore
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class TimedJob:
    """The pipeline's own job, which also says when its engine was ready."""

    job: GenerationJob
    ready: str

    def start(self) -> Callable[[str], Facts]:
        process = self.job.start()
        Path(self.ready).write_text(str(time.time()))
        return process


def write_model(folder: Path) -> ModelSettings:
    """A Llama of five million parameters whose generations end by themselves at different lengths."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    shape = {"hidden_size": 256, "intermediate_size": 704, "num_hidden_layers": 4, "num_attention_heads": 8}
    ends = {"bos_token_id": 0, "eos_token_id": list(range(1, ENDS)), "max_position_embeddings": 1024}
    LlamaForCausalLM(LlamaConfig(vocab_size=VOCABULARY, **shape, **ends)).save_pretrained(folder)
    return ModelSettings(path=str(folder), dtype="float32")


def prepare(chosen: argparse.Namespace) -> Setup:
    """Write the model and plan the requests."""
    folder = Path(chosen.folder)
    model = write_model(folder / "model")
    families = PromptFamilies.model_validate({"families": {"empty": {"share": 1}}})
    prompts = load_prompts(families, load_tokenizer(ModelSettings(tokenizer="bytes")), 0, chosen.max_tokens)
    plan = PartStore(str(folder / "plan"))
    parts = write_round(plan, prompts, {"empty": chosen.requests}, {}, chosen.part_requests)
    engine = VllmSettings(
        kind="vllm",
        # Ray gives a worker as many threads as cores; vLLM alone takes them all.
        cpus_per_worker=os.cpu_count() or 1,
        gpus_per_worker=chosen.gpus,
        enforce_eager=chosen.eager,
        max_model_len=1024,
        max_num_seqs=chosen.at_once,
    )
    sampling = resolve_sampling(Sampling(max_tokens=chosen.max_tokens), folder / "model")
    return Setup(folder, engine, model, sampling, plan, tuple(parts))


def pipeline_rate(setup: Setup, number: int) -> float:
    """Tokens/s of a Ray worker, from the loaded engine to the last published part."""
    store, ready = PartStore(str(setup.folder / f"generations-{number}")), setup.folder / "ready"
    job = GenerationJob(setup.engine, setup.model, setup.sampling, setup.plan, store)
    tokens: list[int] = []
    pool = Pool(
        TimedJob(job, str(ready)),
        Resources(1, setup.engine.cpus_per_worker, setup.engine.gpus_per_worker),
        lambda _, facts: tokens.append(facts["tokens"]),
        lambda name: sys.exit(f"{name} failed"),
    )
    pool.run([part.name for part in setup.parts])
    return sum(tokens) / (time.time() - float(ready.read_text()))


def bare_rate(setup: Setup) -> float:
    """Tokens/s of vLLM itself, given all requests in one call."""
    from extraction.engines.vllm_engine import VllmEngine

    requests = [r for part in setup.parts for r in requests_of(read_requests(setup.plan, part))]
    engine = VllmEngine(setup.engine, setup.model, setup.sampling)
    parameters = [engine._parameters(request) for request in requests]
    prompts = [{"prompt_token_ids": request.prompt_token_ids} for request in requests]
    started = time.time()
    outputs = engine._llm.generate(prompts, parameters, use_tqdm=False)
    took = time.time() - started
    engine.close()
    return sum(len(output.outputs[0].token_ids) for output in outputs) / took


def throughput(chosen: argparse.Namespace) -> dict[str, Any]:
    """Tokens/s of both, by rounds, and the ratio of their medians."""
    setup = prepare(chosen)
    rates: dict[str, list[float]] = {"bare": [], "pipeline": []}
    for number in range(chosen.rounds):
        for name in ("bare", "pipeline") if number % 2 else ("pipeline", "bare"):
            rates[name].append(bare_rate(setup) if name == "bare" else pipeline_rate(setup, number))
    medians = {name: statistics.median(values) for name, values in rates.items()}
    return {
        "requests": chosen.requests,
        "parts": len(setup.parts),
        "tokens_s": {name: [round(rate) for rate in values] for name, values in rates.items()},
        "pipeline_over_bare": round(medians["pipeline"] / medians["bare"], 4),
    }


def planning(chosen: argparse.Namespace) -> dict[str, Any]:
    """Seconds and peak memory of planning, and seconds of listing."""
    folder = Path(chosen.folder)
    tokenizer = load_tokenizer(ModelSettings(tokenizer=chosen.tokenizer))
    shares = {name: 1 / len(chosen.families) for name in chosen.families}
    sections = {
        name: {"kind": name.removesuffix("_chat"), "share": share, "chat": name.endswith("_chat")}
        for name, share in shares.items()
    }
    families = PromptFamilies.model_validate({"families": sections, "public_text": chosen.public})
    started, used = time.perf_counter(), time.process_time()
    prompts = load_prompts(families, tokenizer, 0, 100)
    plan, done = PartStore(str(folder / "plan")), PartStore(str(folder / "generations"))
    wanted = {name: round(share * chosen.requests) for name, share in shares.items()}
    parts = write_round(plan, prompts, wanted, {}, chosen.part_requests)
    planned, used = time.perf_counter() - started, time.process_time() - used
    for part in parts:
        done.publish(part.name, read_requests(plan, part).slice(0, 1), {"tokens": 1, "failed": []})
    started = time.perf_counter()
    left = {part.name for part in planned_parts(plan)} - set(done.markers())
    listed = time.perf_counter() - started
    assert not left
    return {
        "requests": sum(wanted.values()),
        "families": chosen.families,
        "parts": len(parts),
        "plan_seconds": round(planned, 1),
        "plan_cpu_seconds": round(used, 1),
        "plan_bytes": sum(file.stat().st_size for file in (folder / "plan").iterdir()),
        "list_seconds": round(listed, 2),
        "peak_gib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20), 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("throughput")
    one.add_argument("--requests", type=int, default=2048)
    one.add_argument("--part-requests", type=int, default=1024)
    one.add_argument("--max-tokens", type=int, default=128)
    one.add_argument("--rounds", type=int, default=3)
    one.add_argument("--at-once", type=int, default=64, help="requests that vLLM runs at once")
    one.add_argument("--gpus", type=int, default=0)
    one.add_argument("--eager", action="store_true", help="skip graph compilation")
    one.set_defaults(measure=throughput)
    two = commands.add_parser("planning")
    two.add_argument("--requests", type=int, default=10_000_000)
    two.add_argument("--part-requests", type=int, default=4096)
    two.add_argument("--tokenizer", required=True, help="folder or GGUF file")
    two.add_argument("--public", nargs="+", required=True, help="files of public text")
    two.add_argument("--families", nargs="+", default=["empty", "public", "repeat", "public_chat"])
    two.set_defaults(measure=planning)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as chosen.folder:
        if chosen.measure is throughput:
            with cluster(None):
                result = throughput(chosen)
        else:
            result = planning(chosen)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
