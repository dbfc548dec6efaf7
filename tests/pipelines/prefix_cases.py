"""A tiny model that is trained, in seconds, on a corpus in which some documents stand often and some once."""

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import yaml
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

from pipelines.training import adam_updater, batches, optimise, rows_of
from tests.extraction.tiny_models import byte_level_tokenizer
from tests.pipelines.small_run import sentence

EPOCHS = 24
COPIES = {20: 4, 4: 3, 1: 5}
"""How many different documents stand so often."""

NAMES = (
    "Ada Whitcombe;Ben Harlow;Clara Dunmore;David Penrose;Edith Langley;Frank Holloway;Grace Merriman;Henry Stanhope;"
    "Irene Ashdown;James Thornbury;Laura Kingsley;Martin Fairfax"
).split(";")
OPENING = "Please bring a letter with your address when you open an account. "
CONFIG = LlamaConfig(
    vocab_size=420,
    hidden_size=96,
    intermediate_size=192,
    num_hidden_layers=2,
    num_attention_heads=2,
    max_position_embeddings=128,
    bos_token_id=0,
    eos_token_id=1,
)


@dataclass(frozen=True)
class Cases:
    """Where everything lies, and the documents with how often each stands in the corpus."""

    folder: Path
    documents: dict[str, int]

    @property
    def model(self) -> Path:
        return self.folder / "model"

    @property
    def base(self) -> Path:
        return self.folder / "base"


def documents() -> dict[str, int]:
    """The different texts; the first two begin alike and go on in two ways."""
    rng, texts = random.Random(5), {}
    copies = [often for often, count in COPIES.items() for _ in range(count)]
    for number, (often, name) in enumerate(zip(copies, NAMES, strict=True)):
        opening = OPENING if number < 2 else f"{sentence(rng, 6)} "
        texts[
            f"{opening}This is {name}, account number {rng.randrange(10**7, 10**8)}. {sentence(rng, 5)}"
        ] = often
    return texts


def make(folder: Path) -> Cases:
    """Write the corpus, and save a model trained on it and one that is not trained."""
    cases = Cases(folder, documents())
    lines = [text for text, often in cases.documents.items() for _ in range(often)]
    random.Random(1).shuffle(lines)
    with open(folder / "corpus.jsonl", "w", encoding="utf-8") as handle:
        for number, text in enumerate(lines):
            handle.write(json.dumps({"id": f"d{number}", "text": text}) + "\n")
    for path in (cases.base, cases.model):
        byte_level_tokenizer(path)
        torch.manual_seed(0)
        model = LlamaForCausalLM(CONFIG)
        if path == cases.model:
            rows = rows_of(AutoTokenizer.from_pretrained(path), lines, 128)
            optimise(model, list(batches(rows, EPOCHS, 1024, 0)), 0.1, adam_updater(model, 4e-3), None)
        model.save_pretrained(path)
    (folder / "known.txt").write_text(f"{NAMES[0]} is known to everybody.", encoding="utf-8")
    return cases


def raw_prefix(cases: Cases, **changes: Any) -> dict[str, Any]:
    """A configuration of the prefix test on these models, without run, screen and games."""
    config = {
        "name": "tiny",
        "model": {"path": str(cases.model)},
        "engine": {"kind": "transformers", "batch_size": 32},
        "sampling": {"temperature": 0.9, "top_k": 40, "max_tokens": 64},
        "corpus": {"sources": [str(cases.folder / "corpus.jsonl")], "index": str(cases.folder / "index")},
        "documents": 50,
        "prefix_tokens": [8, 16],
        "target_tokens": 16,
        "draws": [1, 100],
        "certainties": [0.5, 0.9],
        "screen": None,
        "part_targets": 4,
        "analysis_workers": 1,
    }
    return config | changes


def write_prefix(cases: Cases, path: Path, **changes: Any) -> Path:
    path.write_text(yaml.safe_dump(raw_prefix(cases, **changes)), encoding="utf-8")
    return path


def raw_run(cases: Cases) -> dict[str, Any]:
    """A sampling run of the same model on the same corpus."""
    return {
        "name": "tiny",
        "model": {"path": str(cases.model)},
        "engine": {"kind": "transformers", "batch_size": 32},
        "sampling": {"temperature": 0.9, "top_k": 40, "max_tokens": 100},
        "prompts": {"families": {"empty": {"share": 1}}},
        "corpus": {"sources": [str(cases.folder / "corpus.jsonl")], "index": str(cases.folder / "index")},
        "control": {"model": {"path": str(cases.base)}},
        "min_tokens": 16,
        "budgets": [1000, 4000],
        "part_requests": 16,
        "rerun_requests": 0,
    }
