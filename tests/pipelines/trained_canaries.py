"""A tiny model that is trained on a corpus with canaries in it, in seconds."""

import json
from pathlib import Path

import torch
import yaml
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

from extraction.canaries.settings import CanarySettings
from pipelines.canaries.make import make_canaries
from pipelines.config import load_settings
from pipelines.training import adam_updater, batches, optimise, rows_of
from tests.extraction.tiny_models import SENTENCES, byte_level_tokenizer

EPOCHS = 12
CONFIG = LlamaConfig(
    vocab_size=420,
    hidden_size=64,
    intermediate_size=128,
    num_hidden_layers=2,
    num_attention_heads=2,
    max_position_embeddings=64,
    bos_token_id=0,
    eos_token_id=1,
)
INSERTIONS = {0: 60, 1: 4, 10: 4, 100: 3}


def plant(folder: Path) -> Path:
    """Make a corpus of short texts and canaries among them; give the key."""
    words = " ".join(SENTENCES).split()
    texts = [" ".join(words[(7 * n) % 60 : (7 * n) % 60 + 8]) for n in range(150)]
    source = folder / "corpus.jsonl"
    source.write_text("".join(json.dumps({"id": f"d{n}", "text": t}) + "\n" for n, t in enumerate(texts)))
    formats = [{"name": "account", "template": "my account number is {digits:3}"}]
    config = {"sources": [str(source)], "formats": formats, "insertions": INSERTIONS, "seed": 1}
    (folder / "canaries.yaml").write_text(yaml.safe_dump(config))
    return make_canaries(load_settings(CanarySettings, folder / "canaries.yaml"), folder / "planted").key


def train(folder: Path) -> Path:
    """Train a model on the planted corpus; give its folder."""
    model_folder = folder / "model"
    byte_level_tokenizer(model_folder)
    tokenizer = AutoTokenizer.from_pretrained(model_folder)
    lines = (folder / "planted" / "corpus" / "corpus.jsonl").read_text().splitlines()
    rows = rows_of(tokenizer, [json.loads(line)["text"] for line in lines], 64)
    torch.manual_seed(0)
    model = LlamaForCausalLM(CONFIG)
    optimise(model, list(batches(rows, EPOCHS, 1024, 0)), 0.1, adam_updater(model, 3e-3), None)
    model.save_pretrained(model_folder)
    return model_folder
