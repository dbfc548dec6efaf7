"""The audited models of the paper in small sizes, untrained: 1 to 2 million weights, most of them of words."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from pipelines.gmint.small.data import LONGEST, TOPICS

NARROW, WIDE = 64, 128
WORD = 64  # width of a word's embedding
POSITIONS = LONGEST + 2  # of the words, and of the two tokens around them


class Blstm(nn.Module):
    """A bidirectional LSTM that reads a text both ways and classifies it by its two last states."""

    def __init__(self, words: int) -> None:
        """Make it, with random weights.

        Args:
            words: of the vocabulary.
        """
        super().__init__()
        self.embedding = nn.Embedding(words, WORD)
        self.lstm = nn.LSTM(WORD, NARROW, bidirectional=True, batch_first=True)
        self.hidden = nn.Linear(2 * NARROW, NARROW)
        self.classifier = nn.Linear(NARROW, TOPICS)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Logits, float[texts, topics]; padding, on the right, is not read."""
        lengths = attention_mask.sum(dim=1).tolist()
        packed = nn.utils.rnn.pack_padded_sequence(
            self.embedding(input_ids), lengths, batch_first=True, enforce_sorted=False
        )
        _, (state, _) = self.lstm(packed)
        logits: Tensor = self.classifier(torch.relu(self.hidden(torch.cat([state[0], state[1]], dim=1))))
        return logits


def _bert(words: int) -> Any:
    from transformers import BertConfig, BertForSequenceClassification

    return BertForSequenceClassification(BertConfig(**_encoder(words, NARROW)))


def _distilbert(words: int) -> Any:
    from transformers import DistilBertConfig, DistilBertForSequenceClassification

    config = DistilBertConfig(
        vocab_size=words,
        dim=NARROW,
        n_layers=1,  # half of BERT's
        n_heads=2,
        hidden_dim=4 * NARROW,
        max_position_embeddings=POSITIONS,
        num_labels=TOPICS,
        attn_implementation="eager",
    )
    return DistilBertForSequenceClassification(config)


def _electra(width: int) -> Callable[[int], Any]:
    def make(words: int) -> Any:
        from transformers import ElectraConfig, ElectraForSequenceClassification

        return ElectraForSequenceClassification(ElectraConfig(**_encoder(words, width), embedding_size=WORD))

    return make


def _xlnet(words: int) -> Any:
    from transformers import XLNetConfig, XLNetForSequenceClassification

    config = XLNetConfig(
        vocab_size=words, d_model=NARROW, n_layer=2, n_head=2, d_inner=4 * NARROW, num_labels=TOPICS
    )
    return XLNetForSequenceClassification(config)


def _encoder(words: int, width: int) -> dict[str, Any]:
    return {
        "vocab_size": words,
        "hidden_size": width,
        "num_hidden_layers": 2,
        "num_attention_heads": width // 32,
        "intermediate_size": 4 * width,
        "max_position_embeddings": POSITIONS,
        "num_labels": TOPICS,
        "attn_implementation": "eager",
    }


MODELS: Mapping[str, Callable[[int], Any]] = {
    "BLSTM": Blstm,
    "BERT": _bert,
    "DistilBERT": _distilbert,
    "XLNet": _xlnet,
    "ELECTRA": _electra(NARROW),
    "ELECTRA-Large": _electra(WIDE),
}
"""From the paper's name of a model to what makes a small one, given the number of words."""


def untrained(name: str, words: int, seed: int) -> Any:
    """Make a model with random weights; the random numbers of others are left alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return MODELS[name](words)
