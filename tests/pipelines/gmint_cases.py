"""Small audited models with their tokenizers and records, made inside a test."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from transformers import BertConfig, BertForSequenceClassification

from extraction.gmint.samples import Padding, Sample
from pipelines.gmint.small.training import train
from tests.pipelines.word_models import random_texts, word_model, word_tokenizer

LABELS = ("no", "yes")
LENGTH = 8


def texts(seed: int, count: int) -> list[str]:
    """Texts of one length; see `random_texts`."""
    return random_texts(seed, count, LENGTH)


def write_records(path: Path, rows: Sequence[str], seed: int = 0) -> Path:
    """Records with random labels: what a model knows of these it has learnt by heart."""
    labels = np.random.default_rng(seed).choice(LABELS, len(rows))
    lines = [
        {"id": f"{path.stem}-{n}", "text": text, "label": label}
        for n, (text, label) in enumerate(zip(rows, labels.tolist(), strict=True))
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def classifier(folder: Path, records: Path, epochs: int) -> Path:
    """Train a small BERT on a file of records, and save it with its tokenizer."""
    tokenizer = word_tokenizer(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=16,
        label2id={name: n for n, name in enumerate(LABELS)},
        id2label=dict(enumerate(LABELS)),
    )
    model = BertForSequenceClassification(config)
    rows = [json.loads(line) for line in records.read_text().splitlines()]
    samples = [Sample(tokenizer(row["text"])["input_ids"], LABELS.index(row["label"])) for row in rows]
    train(model, samples, Padding(), epochs, seed=0, learning_rate=3e-3)
    model.save_pretrained(folder)
    return folder


def language_model(folder: Path, rows: Sequence[str], epochs: int) -> Path:
    """Train a small causal model on texts, and save it with its tokenizer."""
    return word_model(folder, rows, epochs, width=32, positions=32, rate=5e-3)


def write_config(path: Path, **fields: Any) -> Path:
    path.write_text(yaml.safe_dump({"name": path.stem, **fields}))
    return path
