"""Loads what a gMINT audit looks at: the model under test, an untrained one of its kind, and their tokenizer."""

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extraction.errors import InputError
from extraction.gmint.audit import Subjects
from extraction.gmint.gradients import Differentiated
from extraction.gmint.layers import chosen_parameters
from extraction.gmint.samples import LABEL, NEXT_TOKEN
from extraction.model import ModelSettings, adapter_path, load_classifier, load_model, load_tokenizer
from pipelines.gmint.config import GmintConfig

LOADERS = {"classifier": load_classifier, "causal": load_model}
OBJECTIVES = {"classifier": LABEL, "causal": NEXT_TOKEN}
ONE_OF_SEVERAL = "single_label_classification"
EAGER = "eager"  # other kinds of attention look at the mask in ways that `torch.func` cannot follow


@dataclass(frozen=True)
class Loaded:
    """Models of an audit.

    Attributes:
        subjects: the model under test, and an untrained one.
        tokenizer: of both.
    """

    subjects: Subjects
    tokenizer: Any


def load_subjects(config: GmintConfig, settings: ModelSettings) -> Loaded:
    """Load a model and make an untrained one of its kind.

    The untrained one has random weights; under an adapter it is the base model with a new adapter, as that did not see
    what the adapter was trained on.

    Args:
        config: of the audit.
        settings: the model under test.

    Raises:
        InputError: the model cannot be loaded, has no such layers, or is a classifier of another kind.
    """
    tokenizer = load_tokenizer(settings)
    adapter = adapter_path(settings)
    model = LOADERS[config.kind](settings, attn_implementation=EAGER)
    if config.kind == "classifier":
        _refuse_other_losses(model)
    if adapter is None:
        models = [model, _random(model, config)]
    else:
        base = copy.deepcopy(model)
        models = [_with_adapter(model, adapter), _with_new_adapter(base, adapter, config.seed)]
    padding = tokenizer.pad_token_id or 0
    both = [_differentiated(one, config, padding) for one in models]
    return Loaded(Subjects(*both), tokenizer)


def _refuse_other_losses(model: Any) -> None:
    kind = model.config.problem_type
    if model.config.num_labels < 2 or kind not in (None, ONE_OF_SEVERAL):
        raise InputError(
            f"models: gMINT takes the loss of one class out of several, and this one has {model.config.num_labels} "
            f"({kind or 'problem_type is not set'}); name another classifier"
        )


def _differentiated(model: Any, config: GmintConfig, padding: int) -> Differentiated:
    layers = chosen_parameters(model, config.method.layers)
    return Differentiated(model, layers, OBJECTIVES[config.kind], padding)


def _random(model: Any, config: GmintConfig) -> Any:
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        return type(model)._from_config(copy.deepcopy(model.config), attn_implementation=EAGER).eval()


def _with_adapter(model: Any, adapter: Path) -> Any:
    from peft import PeftModel

    try:
        return PeftModel.from_pretrained(model, str(adapter)).eval()
    except Exception as error:  # each kind of adapter has errors of its own
        raise InputError(f"model.adapter: {adapter}: cannot be loaded: {type(error).__name__}") from error


def _with_new_adapter(model: Any, adapter: Path, seed: int) -> Any:
    """The base model under an adapter of the same form with new weights, which change nothing yet."""
    import torch
    from peft import PeftConfig, get_peft_model

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return get_peft_model(model, PeftConfig.from_pretrained(str(adapter))).eval()
