"""gMINT on a LoRA adapter: its own gradients, beside those of a new adapter over the same base model."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM

from extraction.model import ModelSettings
from pipelines.config import load_settings
from pipelines.gmint.config import GmintConfig
from pipelines.gmint.models import load_subjects
from pipelines.training import adam_updater, batches, optimise, rows_of
from tests.pipelines.gmint_cases import language_model, texts, write_config, write_records
from tests.pipelines.word_models import word_tokenizer

SIDE = 80

# Of peft itself, about the release of transformers beside it.
pytestmark = pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing. is deprecated:FutureWarning")


def test_an_adapter_is_audited_by_its_own_gradients(
    tmp_path: Path, command: Callable[..., tuple[int, str, str]]
) -> None:
    base = language_model(tmp_path / "base", texts(3, SIDE), epochs=2)
    tokenizer = word_tokenizer(tmp_path / "tokenizer")
    members = write_records(tmp_path / "in.jsonl", texts(1, SIDE))
    others = write_records(tmp_path / "out.jsonl", texts(2, SIDE))
    torch.manual_seed(0)
    lora = LoraConfig(r=8, lora_alpha=16, target_modules=["q_proj", "v_proj", "down_proj"])
    tuned = get_peft_model(AutoModelForCausalLM.from_pretrained(base), lora)
    optimise(
        tuned,
        list(batches(rows_of(tokenizer, texts(1, SIDE), 32), 80, 512, 0)),
        0.1,
        adam_updater(tuned, 1e-2),
        None,
    )
    tuned.save_pretrained(tmp_path / "adapter")

    file = write_config(
        tmp_path / "lora.yaml",
        kind="causal",
        models={"tuned": {"path": str(base), "adapter": str(tmp_path / "adapter")}},
        data={"notes": {"members": str(members), "nonmembers": str(others)}},
        samples=[SIDE],
        method={"layers": "lora_", "width": 64, "epochs": 3, "splits": 2},
        out=str(tmp_path / "out"),
    )
    assert command("membership", "gmint", file)[0] == 0
    [cell] = json.loads((tmp_path / "out" / "gmint.json").read_text())["cells"]
    assert len(cell["layers"]) == 2 * 3 * 2 and all("lora_" in name for name in cell["layers"])
    assert cell["vmapped"]
    assert cell["findings"][0]["loss"]["low"] > 0.6

    settings = ModelSettings(path=str(base), adapter=str(tmp_path / "adapter"))
    subjects = load_subjects(load_settings(GmintConfig, file), settings).subjects
    ids = torch.tensor([tokenizer(texts(1, 1)[0])["input_ids"]])
    with torch.no_grad():
        logits = subjects.under_test.model(input_ids=ids).logits
        torch.testing.assert_close(logits, tuned.eval()(input_ids=ids).logits, rtol=1e-4, atol=1e-4)
        plain = AutoModelForCausalLM.from_pretrained(base).eval()(input_ids=ids).logits
        torch.testing.assert_close(
            subjects.untrained.model(input_ids=ids).logits, plain, rtol=1e-4, atol=1e-4
        )
