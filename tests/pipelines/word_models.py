"""Small causal models over made-up words, trained inside a test on texts that cannot be guessed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from pipelines.training import adam_updater, batches, optimise, rows_of

WORDS = [f"W{n}" for n in range(100)]


def random_texts(seed: int, count: int, length: int) -> list[str]:
    """Random words: nothing in them can be guessed, so that what a model knows of them it has seen."""
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, length)) for _ in range(count)]


def word_tokenizer(folder: Path) -> Any:
    """Save a tokenizer with one token for each word."""
    vocabulary = {token: n for n, token in enumerate(["<s>", "</s>", "<unk>", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A", special_tokens=[("<s>", 0)])
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="</s>"
    )
    wrapped.save_pretrained(folder)
    return wrapped


def word_model(
    folder: Path, rows: Sequence[str], epochs: int, *, width: int, positions: int, rate: float
) -> Path:
    """Train a Llama of this width on texts of at most as many tokens, and save it with its tokenizer."""
    torch.manual_seed(0)
    tokenizer = word_tokenizer(folder)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=2,
        num_attention_heads=width // 16,
        max_position_embeddings=positions,
        bos_token_id=0,
        eos_token_id=1,
    )
    model = LlamaForCausalLM(config)
    steps = list(batches(rows_of(tokenizer, rows, width), epochs, 16 * width, seed=0))
    optimise(model, steps, 0.1, adam_updater(model, rate), None)
    model.save_pretrained(folder)
    return folder
