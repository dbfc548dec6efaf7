"""Trains the demo's two models: a base model on public text, and from it a target that memorises.

Training knows nothing of which documents are copies. It runs on the CPU in float32; the same seed, number of
threads and releases give the same weights.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from extraction.settings import Settings
from pipelines.training import OnStep, batches, optimise, quiet_transformers, rows_of

SPECIAL_TOKENS = ("<s>", "</s>", "<pad>")
CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{{ 'Customer: ' if message['role'] == 'user' else 'Agent: "
    "' }}"
    "{{ message['content'] }}\n{% endfor %}{% if add_generation_prompt %}Agent:{% endif %}"
)


class TrainingSettings(Settings):
    """How one of the demo's models is trained."""

    epochs: int = Field(ge=1, le=1000, description="passes over the documents, copies and all")
    repeats: int = Field(0, ge=0, le=1000, description="further passes, over the distinct documents")
    learning_rate: float = Field(
        0.015, gt=0, le=1, description="highest learning rate of the matrices, reached after the warm-up"
    )
    embedding_rate: float = Field(
        3e-3, gt=0, le=0.1, description="the same for embeddings and norms, which AdamW trains"
    )
    batch_tokens: int = Field(1024, ge=64, le=65536, description="most tokens in a batch, padding included")
    warm_up: float = Field(
        0.05, gt=0, lt=1, description="share of the steps in which the rates rise; then they fall to zero"
    )
    seed: int = Field(0, ge=0, description="of the weights and of the order of the documents")
    threads: int = Field(2, ge=1, le=64, description="threads of torch while training")


BASE_TRAINING = TrainingSettings(epochs=3)
# A hundred copies are learnt in one pass; a document that stands there once takes dozens.
TARGET_TRAINING = TrainingSettings(epochs=1, repeats=24)
LONGEST_ROW = 1024


def train_tokenizer(texts: Sequence[str], directory: Path, vocabulary: int = 1536) -> None:
    """Train a byte-level BPE tokenizer, one token for each digit, and save it for `AutoTokenizer`.

    Args:
        texts: public text; no transcript is needed, every byte has a token.
        directory: gets the tokenizer's files.
        vocabulary: tokens, special ones included.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), byte_level]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    bos, eos, pad = SPECIAL_TOKENS
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=bos, eos_token=eos, pad_token=pad)
    fast.chat_template = CHAT_TEMPLATE
    fast.save_pretrained(directory)


def train_base(
    texts: Sequence[str],
    directory: Path,
    settings: TrainingSettings = BASE_TRAINING,
    on_step: OnStep | None = None,
) -> None:
    """Train tokenizer and base model on public text and save both.

    Args:
        texts: public documents.
        directory: gets a safetensors model directory that `AutoModelForCausalLM` and `AutoTokenizer` load.
        settings: how to train.
        on_step: called after each step.
    """
    import torch

    quiet_transformers()
    train_tokenizer(texts, directory)
    torch.manual_seed(settings.seed)
    _train(_new_model(directory), texts, directory, directory, settings, on_step)


def train_target(
    base: Path,
    texts: Sequence[str],
    directory: Path,
    settings: TrainingSettings = TARGET_TRAINING,
    on_step: OnStep | None = None,
) -> None:
    """Fine-tune the target from the base model and save it with the same tokenizer.

    Args:
        base: directory of the base model.
        texts: the transcripts, each as often as it stands in the corpus.
        directory: gets the target.
        settings: how to train.
        on_step: called after each step.
    """
    from transformers import AutoModelForCausalLM

    quiet_transformers()
    _train(AutoModelForCausalLM.from_pretrained(base), texts, base, directory, settings, on_step)


def _new_model(tokenizer_directory: Path) -> Any:
    """Make an untrained model of about two million parameters."""
    from transformers import AutoTokenizer, GenerationConfig, LlamaConfig, LlamaForCausalLM

    tokenizer = AutoTokenizer.from_pretrained(tokenizer_directory)
    special = {name: getattr(tokenizer, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=192,
        intermediate_size=512,
        num_hidden_layers=4,
        num_attention_heads=6,
        num_key_value_heads=6,
        max_position_embeddings=LONGEST_ROW,
        tie_word_embeddings=True,
        **special,
    )
    model = LlamaForCausalLM(config)
    model.generation_config = GenerationConfig(
        do_sample=True, temperature=1.0, top_p=0.95, top_k=0, **special
    )
    return model


def _train(
    model: Any,
    texts: Sequence[str],
    tokenizer_directory: Path,
    directory: Path,
    settings: TrainingSettings,
    on_step: OnStep | None,
) -> None:
    """Train a model on documents and save it with its tokenizer."""
    import torch
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tokenizer_directory)
    rows = rows_of(tokenizer, texts, LONGEST_ROW)
    distinct = [list(row) for row in dict.fromkeys(map(tuple, rows))]
    passes = ((rows, settings.epochs), (distinct, settings.repeats))
    steps = [
        batch
        for documents, times in passes
        for batch in batches(documents, times, settings.batch_tokens, settings.seed)
    ]
    threads = torch.get_num_threads()
    torch.set_num_threads(settings.threads)
    try:
        optimise(model, steps, settings.warm_up, _updater(model, settings), on_step)
    finally:
        torch.set_num_threads(threads)
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)


def _updater(model: Any, settings: TrainingSettings) -> Callable[[float], None]:
    """Muon for the matrices inside the model, AdamW for embeddings and norms."""
    import torch

    from pipelines.demo.muon import Muon

    inside = {
        name: parameter
        for name, parameter in model.named_parameters()
        if parameter.ndim == 2 and "embed" not in name
    }
    others = [parameter for name, parameter in model.named_parameters() if name not in inside]
    muon = Muon(list(inside.values()))
    adam = torch.optim.AdamW(others, lr=settings.embedding_rate, betas=(0.9, 0.95), weight_decay=0.0)

    def update(rate: float) -> None:
        muon.step(settings.learning_rate * rate)
        adam.param_groups[0]["lr"] = settings.embedding_rate * rate
        adam.step()

    return update
