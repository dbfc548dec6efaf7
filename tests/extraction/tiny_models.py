"""Real models and tokenizers, small enough to be made inside a test."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from extraction.records import Request

SENTENCES = [
    "The branch in the old market hall opens at nine and closes at five on every working day.",
    "A savings account pays interest once a year, and the first statement comes in the new year.",
    "Please bring a letter with your address when you open an account at the branch.",
    "Your card will arrive within ten working days; the number comes in another letter.",
    "Interest on the account is paid on the first working day of the year.",
    "The market opens at nine, the branch opens at ten, and both close at five.",
]
TEXT = "\n\n".join(" ".join(SENTENCES[i:] + SENTENCES[:i]) for i in range(len(SENTENCES)))
CHAT_TEMPLATE = (
    "<s>{% for message in messages %}[{{ message['role'] }}] {{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}[assistant] {% endif %}"
)


def byte_level_tokenizer(folder: Path, bos: bool = True, chat: bool = True, vocabulary: int = 420) -> Any:
    """Train a GPT-2 style tokenizer that puts `<s>` in front of a text, and save it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<s>", "</s>"]
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator([TEXT], trainer)
    named = {"eos_token": "</s>"}
    if bos:
        tokenizer.post_processor = processors.TemplateProcessing("<s> $A", "<s> $A $B", [("<s>", 0)])
        named["bos_token"] = "<s>"
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **named)
    if chat:
        wrapped.chat_template = CHAT_TEMPLATE
    wrapped.save_pretrained(folder)
    return wrapped


def sentencepiece_tokenizer(folder: Path) -> Any:
    """Train a tokenizer as Llama 2 has it: a blank before every text, `▁` for blanks, bytes for what is unknown."""
    normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    trained = Tokenizer(models.BPE())
    trained.normalizer = normalizer
    trained.train_from_iterator(SENTENCES, trainers.BpeTrainer(vocab_size=150, show_progress=False))
    state = json.loads(trained.to_str())["model"]
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *state["vocab"]]
    tokenizer = Tokenizer(
        models.BPE(
            vocab={token: i for i, token in enumerate(tokens)},
            merges=[tuple(merge) for merge in state["merges"]],
            byte_fallback=True,
            fuse_unk=True,
            unk_token="<unk>",
        )
    )
    tokenizer.normalizer = normalizer
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A", "<s> $A $B", [("<s>", 1)])
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )
    wrapped.save_pretrained(folder)
    return wrapped


def llama(folder: Path, vocabulary: int = 420, positions: int = 128, eos: int = 1) -> Path:
    """Save a Llama of a few ten thousand parameters whose predictions are far from uniform."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=64,  # two heads of 32: vLLM's CPU attention takes no narrower ones
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=positions,
        initializer_range=0.3,
        bos_token_id=0,
        eos_token_id=eos,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def lora_adapter(model: Path, folder: Path) -> tuple[Path, Path]:
    """Save a LoRA adapter over a Llama's attention as PEFT does, and the model that has it merged in."""
    adapter, merged = folder / "adapter", folder / "merged"
    whole = LlamaForCausalLM.from_pretrained(model)
    generator = torch.Generator().manual_seed(1)
    rank, weights = 4, {}
    for number, layer in enumerate(whole.model.layers):
        for name in ("q_proj", "o_proj"):
            linear = getattr(layer.self_attn, name)
            a = torch.randn(rank, linear.in_features, generator=generator) * 0.2
            b = torch.randn(linear.out_features, rank, generator=generator) * 0.2
            key = f"base_model.model.model.layers.{number}.self_attn.{name}"
            weights |= {f"{key}.lora_A.weight": a, f"{key}.lora_B.weight": b}
            linear.weight.data += 2 * b @ a  # alpha / rank
    whole.save_pretrained(merged)
    adapter.mkdir()
    save_file(weights, adapter / "adapter_model.safetensors")
    config = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": rank, "lora_alpha": 2 * rank}
    config |= {"target_modules": ["q_proj", "o_proj"], "bias": "none", "inference_mode": True}
    (adapter / "adapter_config.json").write_text(json.dumps(config))
    return adapter, merged


def gpt2(folder: Path, vocabulary: int = 420) -> Path:
    """Save a GPT-2 of like size: learned positions, so that padding done wrong shows."""
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=vocabulary,
        n_embd=32,
        n_layer=2,
        n_head=4,
        n_positions=128,
        initializer_range=0.3,
        bos_token_id=0,
        eos_token_id=1,
    )
    GPT2LMHeadModel(config).save_pretrained(folder)
    return folder


def request(prompt: list[int], seed: int = 0, max_tokens: int = 24, name: str = "empty") -> Request:
    """A request outside any plan."""
    return Request(f"{name}-{seed:09d}", name, seed, prompt, seed, max_tokens)
