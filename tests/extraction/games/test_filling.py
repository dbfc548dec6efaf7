"""A masked model fills a gap: a tiny one that was taught which word stands there."""

from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

from extraction.errors import InputError
from extraction.games.filling import LONGEST, Filler
from extraction.model import ModelSettings
from tests.extraction.tiny_models import byte_level_tokenizer, llama

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ["the", "letter", "is", "for", "ada", "ben", "at", "branch"]


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> ModelSettings:
    folder: Path = tmp_path_factory.mktemp("masked")
    vocabulary = {token: n for n, token in enumerate([*SPECIAL, *WORDS])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.decoder = decoders.WordPiece()
    ends = [("[CLS]", 2), ("[SEP]", 3)]
    tokenizer.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", special_tokens=ends)
    named = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **named).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
    )
    model = BertForMaskedLM(config)
    model.cls.predictions.bias.data[vocabulary["ada"]] = 30.0  # whatever it reads, it says this name
    model.save_pretrained(folder)
    return ModelSettings(path=str(folder))


def test_gaps_of_every_length_are_filled(settings: ModelSettings) -> None:
    filler = Filler.load(settings)
    found = filler.fill("the letter is for ", " at the branch", 2 * LONGEST, seed=1)
    assert len(found) == 2 * LONGEST
    assert sorted({len(text.split()) for text in found}) == list(range(1, LONGEST + 1))
    assert {word for text in found for word in text.split()} == {"ada"}
    assert found == filler.fill("the letter is for ", " at the branch", 2 * LONGEST, seed=1)
    assert filler.fill("the " * 600, "", 3, seed=1) == []


def test_a_model_without_a_mask_is_refused(tmp_path: Path) -> None:
    byte_level_tokenizer(tmp_path)
    with pytest.raises(InputError, match="games.masked: .*no mask"):
        Filler.load(ModelSettings(path=str(llama(tmp_path))))
