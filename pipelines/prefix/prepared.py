"""What a configuration of the prefix test comes to: refused before anything is written where it cannot work."""

import hashlib
from dataclasses import dataclass, replace
from typing import Any

from extraction.engines import check_engine
from extraction.errors import InputError
from extraction.games.filling import load_masked_tokenizer
from extraction.model import ModelSettings, load_tokenizer, model_path, tokenizer_fingerprint
from extraction.prompts import leading_tokens
from extraction.sampling import ResolvedSampling, resolve_sampling
from index import Index
from pipelines.paths import absolute_model
from pipelines.prefix.config import PrefixConfig
from pipelines.prefix.sentences import read_known
from pipelines.sample import engine_fingerprint, weights_fingerprint

MODEL, CONTROL = "model", "control"


@dataclass(frozen=True)
class Prepared:
    """What the stages need beside the configuration.

    Attributes:
        models: the model under test and, where there is one, its control.
        tokenizer: the model's own; the control's has the same tokens.
        sampling: the sampler whose draws are asked about.
        before: special tokens that the tokenizer puts in front of a text.
        known: text that an attacker has.
    """

    models: dict[str, ModelSettings]
    tokenizer: Any
    sampling: ResolvedSampling
    before: tuple[int, ...]
    known: list[str]

    @property
    def greedy(self) -> ResolvedSampling:
        """Greedy decoding of the unmodified model."""
        return replace(
            self.sampling,
            temperature=0.0,
            top_p=1.0,
            top_k=0,
            min_p=0.0,
            repetition_penalty=1.0,
            presence_penalty=0.0,
            frequency_penalty=0.0,
            stop_strings=(),
            temperature_decay=False,
        )


def with_absolute_models(config: PrefixConfig) -> PrefixConfig:
    """The same configuration, its models named by absolute paths: a worker of a cluster has a folder of its own."""
    control, games = config.control, config.games
    if games and games.masked:
        games = games.model_copy(update={"masked": absolute_model(games.masked)})
    changes = {
        "model": absolute_model(config.model),
        "control": control and absolute_model(control),
        "games": games,
    }
    return config.model_copy(update=changes)


def prepare(config: PrefixConfig) -> Prepared:
    """Resolve a configuration.

    Raises:
        InputError: a model or a text is missing, the sampler gives no whole target, or the control has other tokens.
    """
    models = {MODEL: config.model} | ({CONTROL: config.control} if config.control else {})
    tokenizer, path = load_tokenizer(config.model), model_path(config.model)
    sampling = resolve_sampling(config.sampling, path, tokenizer.eos_token_id)
    check_engine(config.engine, config.model, sampling)
    if sampling.max_tokens < config.target_tokens:
        raise InputError(
            f"sampling.max_tokens: {sampling.max_tokens} tokens hold no target of {config.target_tokens}; raise it, or "
            "lower target_tokens"
        )
    if config.control is not None:
        _refuse_other_tokens(config.control, tokenizer)
    known = read_known(config.games.known) if config.games else []
    if config.games and config.games.masked:
        model_path(config.games.masked)
        load_masked_tokenizer(config.games.masked)
    return Prepared(models, tokenizer, sampling, tuple(leading_tokens(tokenizer)), known)


def _refuse_other_tokens(control: ModelSettings, tokenizer: Any) -> None:
    model_path(control)
    if load_tokenizer(control).get_vocab() != tokenizer.get_vocab():
        raise InputError(
            f"control: {control.path}: has other tokens than the model, so no text has one probability under both; "
            "name the base model, or leave it out"
        )


def fingerprints(config: PrefixConfig, prepared: Prepared, index: Index) -> dict[str, Any]:
    """What would change a result, by name; draws, certainties, workers and output places are not part of it."""
    games = config.games
    return {
        "model": weights_fingerprint(config.model),
        "control_model": weights_fingerprint(config.control) if config.control else None,
        "tokenizer": tokenizer_fingerprint(config.model),
        "dtype": config.model.dtype,
        "engine": engine_fingerprint(config.engine),
        "sampling": {name: item["value"] for name, item in prepared.sampling.as_dict().items()},
        "corpus": index.info.fingerprint,
        "targets": config.model_dump(
            mode="json",
            include={
                "documents",
                "by",
                "opening",
                "prefix_tokens",
                "target_tokens",
                "continuations",
                "low_entropy",
                "part_targets",
                "seed",
            },
        ),
        "screen": config.screen and config.screen.model_dump(mode="json"),
        "games": games and games.model_dump(mode="json", exclude={"known", "masked", "top"}),
        "known": hashlib.sha256("\0".join(prepared.known).encode()).hexdigest(),
        "masked_model": weights_fingerprint(games.masked) if games and games.masked else None,
        "identifiers": games and config.identifiers.model_dump(mode="json"),
    }
