"""Audited models small enough to be made inside a test, of the kinds that were published and beyond."""

from typing import Any

import torch
from torch import Tensor, nn
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    ElectraConfig,
    ElectraForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    XLNetConfig,
    XLNetForSequenceClassification,
)

from extraction.gmint.samples import Sample

SAMPLES = [
    Sample([1, 5, 9, 13, 2], 0),
    Sample([1, 7, 2], 1),
    Sample([1, 30, 31, 32, 33, 34, 35, 2], 2),
    Sample([1, 5, 5, 5, 2], 1),
]
LARGE = 0.3  # initial weights: a gradient that is nearly 0 would hide what is wrong with it
ENCODER = {
    "vocab_size": 40,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 16,
    "num_labels": 3,
    "initializer_range": LARGE,
}


def bert() -> Any:
    torch.manual_seed(0)
    return BertForSequenceClassification(BertConfig(**ENCODER, attn_implementation="eager"))


def electra() -> Any:
    torch.manual_seed(0)
    return ElectraForSequenceClassification(
        ElectraConfig(**ENCODER, embedding_size=8, attn_implementation="eager")
    )


def distilbert() -> Any:
    torch.manual_seed(0)
    config = DistilBertConfig(
        vocab_size=40,
        dim=16,
        n_layers=2,
        n_heads=2,
        hidden_dim=32,
        max_position_embeddings=16,
        num_labels=3,
        initializer_range=LARGE,
        attn_implementation="eager",
    )
    return DistilBertForSequenceClassification(config)


def xlnet() -> Any:
    """It counts positions from each other, and looks at the last token."""
    torch.manual_seed(0)
    config = XLNetConfig(
        vocab_size=40, d_model=16, n_layer=2, n_head=2, d_inner=32, num_labels=3, initializer_range=LARGE
    )
    return XLNetForSequenceClassification(config)


def gpt2() -> Any:
    """Its output layer is tied to its token embedding; its positions are learned."""
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=40,
        n_embd=16,
        n_layer=2,
        n_head=2,
        n_positions=16,
        initializer_range=LARGE,
        bos_token_id=1,
        eos_token_id=2,
        attn_implementation="eager",
    )
    return GPT2LMHeadModel(config)


def llama() -> Any:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=40,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=16,
        initializer_range=LARGE,
        bos_token_id=1,
        eos_token_id=2,
        attn_implementation="eager",
    )
    return LlamaForCausalLM(config)


class Lstm(nn.Module):
    """A bidirectional LSTM over the tokens that are no padding, which `torch.func` cannot follow."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(40, 8)
        self.lstm = nn.LSTM(8, 8, bidirectional=True, batch_first=True)
        self.classifier = nn.Linear(16, 3)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        lengths = attention_mask.sum(dim=1).tolist()
        packed = nn.utils.rnn.pack_padded_sequence(
            self.embedding(input_ids), lengths, batch_first=True, enforce_sorted=False
        )
        _, (hidden, _) = self.lstm(packed)
        logits: Tensor = self.classifier(torch.cat([hidden[0], hidden[1]], dim=1))
        return logits
