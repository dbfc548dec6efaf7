"""The configuration of `extraction run`: one YAML file, each field typed, bounded and explained at its declaration."""

import difflib
import types
import typing
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import yaml
from pydantic import Field, ValidationError, model_validator

from extraction.engines.settings import (
    EndpointSettings,
    EngineSettings,
    ModelSettings,
    TransformersSettings,
    VllmSettings,
)
from extraction.entropy import LowEntropyRule
from extraction.errors import InputError
from extraction.identifiers.settings import IdentifierSettings
from extraction.prompts import PromptFamilies
from extraction.sampling import Sampling
from extraction.settings import Settings

Checked = TypeVar("Checked", bound=Settings)

# Where pydantic puts the tag of a union into the path to a field, by the section that the union stands in.
UNIONS = {("engine",): 1, ("ranking", "engine"): 2, ("rules",): 2, ("prompts",): 3}


class Corpus(Settings):
    """The training text, and the index over it."""

    sources: tuple[str, ...] = Field(
        default=(),
        description="Parquet, JSON lines, text files or folders; may be empty where `index` exists.",
    )
    index: Path | None = Field(
        default=None,
        description="Where the index stands or is to be built; default: `index` in the run directory.",
    )
    kind: Literal["training", "proxy", "unsearchable"] = Field(
        default="training",
        description="`proxy`: not the training text itself, which undercounts; the report says so. `unsearchable`: "
        "there is no text to search; generations are ranked for checking by hand.",
    )
    trained_on: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="What the model was trained on, in words, where that is not this text itself but, say, a "
        "deduplicated copy of it; reports and comparisons print it.",
    )
    text_column: str = Field(default="text", min_length=1, description="Column or key that holds the text.")
    id_column: str = Field(
        default="id", min_length=1, description="Column or key that holds a document's id."
    )

    @model_validator(mode="after")
    def _something_to_search(self) -> "Corpus":
        named = bool(self.sources) or self.index is not None
        if self.kind == "unsearchable" and named:
            raise ValueError("kind: unsearchable, and yet `sources` or `index` name text to search; keep one")
        if self.kind != "unsearchable" and not named:
            raise ValueError(
                "name `sources` to build an index from, or an `index` that exists; or, where no text can be searched, "
                "set kind: unsearchable"
            )
        return self


class Control(Settings):
    """What tells extraction from coincidence."""

    model: ModelSettings | None = Field(
        default=None,
        description="A model never trained on the corpus, usually the base model; runs the same plan.",
    )
    text: tuple[str, ...] = Field(
        default=(),
        description="Text known not to be in the training data: files or folders, read like the corpus.",
    )


class Ranking(Settings):
    """How generations are ranked for people to check, where the corpus, or a part of it, cannot be searched."""

    reference: ModelSettings | None = Field(
        default=None,
        description="A smaller model, or one that did not see the data; without it two scores are missing.",
    )
    engine: Annotated[TransformersSettings | VllmSettings, Field(discriminator="kind")] = Field(
        default=TransformersSettings(kind="transformers"),
        description="What runs both models; batches are as large as fits, whatever its `batch_size`.",
    )
    workers: int = Field(default=1, ge=1, le=100_000, description="Scoring workers, both models in each.")
    top: int = Field(default=100, ge=1, le=100_000, description="Candidates of each score and family.")
    among: int = Field(
        default=1000, ge=0, le=1_000_000, description="Drawn from so many at the top; 0: simply the top."
    )


class RunConfig(Settings):
    """Everything that `extraction run` does."""

    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=80, description="Names the run directory."
    )
    model: ModelSettings = Field(description="The model under test and its tokenizer.")
    engine: EngineSettings = Field(
        default=TransformersSettings(kind="transformers"), description="What generates."
    )
    sampling: Sampling = Field(
        default=Sampling(), description="Sampling settings; `from: model` reads the model's own."
    )
    prompts: PromptFamilies = Field(
        description="Prompt families, their shares of each budget, and public text."
    )
    corpus: Corpus = Field(description="The training text that is searched.")
    min_tokens: int = Field(
        default=50, ge=16, le=10_000, description="Tokens of the shortest match that counts."
    )
    min_bytes: int | None = Field(
        default=None,
        ge=32,
        description="Bytes of the shortest match the index finds; default: the smaller of 50 and `min_tokens`.",
    )
    private_documents: int = Field(
        default=2, ge=1, le=10**9, description="A window that stands in at most so many documents is private."
    )
    low_entropy: LowEntropyRule = Field(default=LowEntropyRule(), description="What counts as filler.")
    cluster_threshold: float = Field(
        default=0.7,
        gt=0,
        le=1,
        description="Estimated Jaccard similarity above which passages are near-duplicates.",
    )
    identifiers: IdentifierSettings = Field(
        default=IdentifierSettings(), description="Names and numbers to tag and to look up in the corpus."
    )
    budgets: tuple[Annotated[int, Field(ge=1, le=10**15, strict=True)], ...] = Field(
        min_length=1, description="Generated tokens at which counts are reported."
    )
    max_requests: int = Field(
        default=20_000_000,
        ge=1,
        le=10**12,
        description="The most requests that are planned, in all families.",
    )
    part_requests: int = Field(
        default=256, ge=1, le=100_000, description="Requests in one part: what a worker pulls at a time."
    )
    rerun_requests: int = Field(
        default=32,
        ge=0,
        le=100_000,
        description="Requests generated again at the end, to see how many give the same tokens; 0: none.",
    )
    seed: int = Field(default=0, ge=0, lt=2**63, description="The seed of the whole run.")
    workers: int = Field(default=1, ge=1, le=100_000, description="Generating workers, one engine each.")
    analysis_workers: int = Field(
        default=2, ge=1, le=100_000, description="Workers that match and tag, a core each."
    )
    control: Control = Field(default=Control(), description="The base model, held-out text, or both.")
    ranking: Ranking | None = Field(
        default=None, description="Rank generations for people to check; none: they are only searched for."
    )
    retention: date | None = Field(
        default=None,
        description="The day on which `extraction purge` is due; the review page shows it.",
    )
    out: Path | None = Field(default=None, description="The run directory; default: runs/<name>.")

    @property
    def shortest_match(self) -> int:
        """Bytes of the shortest match: a window of `min_tokens` tokens has at least as many bytes."""
        return self.min_bytes or min(50, self.min_tokens)

    @model_validator(mode="after")
    def _consistent(self) -> "RunConfig":
        if self.min_bytes is not None and self.min_bytes > self.min_tokens:
            raise ValueError(
                "min_bytes is larger than min_tokens: shorter windows would be missed; lower min_bytes"
            )
        if len(set(self.budgets)) != len(self.budgets):
            raise ValueError("budgets: one stands there twice; name each once")
        self._one_chat_template()
        self._a_control_of_its_own()
        self._prompts_from_elsewhere()
        self._something_to_measure()
        self._ranked_by_the_model_that_generated()
        return self

    def _ranked_by_the_model_that_generated(self) -> None:
        if self.ranking and self.model.path is None:
            raise ValueError("ranking: generations are scored by the model itself; name it as model.path")
        if self.ranking and self.model.adapter and self.ranking.engine.kind != "vllm":
            raise ValueError("ranking.engine: only vllm scores with model.adapter; set kind: vllm")

    def _something_to_measure(self) -> None:
        """Without a corpus there is the ranking alone, and nothing that a control could be matched against."""
        if self.corpus.kind != "unsearchable":
            return
        if self.ranking is None:
            raise ValueError("corpus.kind: unsearchable leaves nothing to measure; add a section `ranking`")
        if self.control != Control():
            raise ValueError("control: nothing is searched; name the base model as ranking.reference instead")

    def _one_chat_template(self) -> None:
        """A server that speaks the chat protocol writes its template around whatever it is sent."""
        wrapped = [name for name, family in self.prompts.families.items() if family.chat]
        if wrapped and isinstance(self.engine, EndpointSettings) and self.engine.protocol == "chat":
            raise ValueError(
                f"prompts.families.{wrapped[0]}.chat: the server writes its own chat template; leave chat out and "
                "set engine.system"
            )

    def _a_control_of_its_own(self) -> None:
        """A server answers with the model under test, whatever model is named beside it."""
        if self.control.model and isinstance(self.engine, EndpointSettings):
            raise ValueError(
                "control.model: the server has the model under test alone; run the control against a server of its "
                "own, and put both side by side with extraction compare"
            )

    def _prompts_from_elsewhere(self) -> None:
        """Prompts of the corpus under test bring out more than an outsider could: only where that is asked for."""
        if name := self.prompts.taken_from(self.corpus.sources):
            raise ValueError(
                f"prompts.public_text: {name} is part of corpus.sources; name other text, or set "
                "public_text_is_corpus: true"
            )


def load_config(path: Path, overrides: typing.Sequence[str] = ()) -> RunConfig:
    """Read a configuration file.

    Args:
        path: a YAML file.
        overrides: `a.b=value` each, the value in YAML.

    Raises:
        InputError: the file is missing or no YAML, or a field is unknown, of the wrong type or out of bounds; one
            line that names the file, the field and the nearest right name.
    """
    return load_settings(RunConfig, path, overrides)


def parse_config(raw: dict[str, Any], source: str) -> RunConfig:
    """Check a configuration that was read already; `source` names it in errors."""
    return parse_settings(RunConfig, raw, source)


def load_settings(settings: type[Checked], path: Path, overrides: typing.Sequence[str] = ()) -> Checked:
    """Read a file of settings of one kind; `overrides` are `a.b=value` each, the value in YAML.

    Raises:
        InputError: the file is missing or no YAML, or a field is unknown, of the wrong type or out of bounds.
    """
    raw = read_yaml(path)
    for override in overrides:
        _override(raw, override)
    return parse_settings(settings, raw, str(path))


def parse_settings(settings: type[Checked], raw: dict[str, Any], source: str) -> Checked:
    """Check settings of one kind that were read already; `source` names them in errors.

    Raises:
        InputError: a field is unknown, of the wrong type or out of bounds.
    """
    try:
        return settings.model_validate(raw)
    except ValidationError as error:
        raise InputError(f"{source}: {explain(error, settings)}") from None


def load_identifier_settings(path: Path) -> IdentifierSettings:
    """Read the `identifiers` section of a configuration file; the file may hold nothing else.

    Raises:
        InputError: the file is missing or no YAML, has no such section, or a field of it is wrong.
    """
    raw = read_yaml(path)
    if "identifiers" not in raw:
        raise InputError(f"{path}: has no section `identifiers`; add one, or name another file")
    try:
        return IdentifierSettings.model_validate(raw["identifiers"])
    except ValidationError as error:
        raise InputError(f"{path}: {explain(error, RunConfig, ('identifiers',))}") from None


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a file of settings.

    Raises:
        InputError: it is missing or no YAML, or holds no fields.
    """
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; copy one from configs/ and edit it") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({type(error).__name__}); check the file") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark else ""
        raise InputError(f"{path}: not YAML{where}; mend the file") from None
    if not isinstance(raw, dict):
        raise InputError(f"{path}: holds no fields; copy one from configs/ and edit it")
    return raw


def _override(raw: dict[str, Any], override: str) -> None:
    key, equals, value = override.partition("=")
    if not equals or not all(key.split(".")):
        raise InputError(f"--set {override}: write it as field=value or section.field=value")
    *sections, last = key.split(".")
    for section in sections:
        nested = raw.setdefault(section, {})
        if not isinstance(nested, dict):
            raise InputError(f"--set {override}: `{section}` has no fields of its own; check the name")
        raw = nested
    try:
        raw[last] = yaml.safe_load(value)
    except yaml.YAMLError:
        raise InputError(f"--set {override}: the value is not YAML; quote it") from None


def explain(error: ValidationError, settings: type[Settings], section: tuple[str, ...] = ()) -> str:
    """One line for the first fault in `settings`, with the nearest right name for a misspelt field."""
    first = next((e for e in error.errors() if e["type"] == "extra_forbidden"), error.errors()[0])
    loc = section + first["loc"]
    where = ".".join(_place(loc)) or "the file"
    if first["type"] == "extra_forbidden":
        known = _fields_at(settings, loc[:-1])
        near = difflib.get_close_matches(str(loc[-1]), known, n=1, cutoff=0.5)
        hint = f"did you mean `{near[0]}`?" if near else f"known are: {', '.join(known)}"
        return f"`{where}`: no such field; {hint}"
    message = first["msg"].removeprefix("Value error, ")
    return f"`{where}`: {message[:1].lower()}{message[1:]}"


def _place(loc: tuple[int | str, ...]) -> list[str]:
    """The path to a field as the user writes it: without the tags of unions that pydantic puts in."""
    parts = [str(part) for part in loc]
    tag = next((place for section, place in UNIONS.items() if parts[: len(section)] == [*section]), None)
    return [part for place, part in enumerate(parts) if place != tag]


def _fields_at(annotation: Any, loc: tuple[int | str, ...]) -> list[str]:
    """Names of the fields that are allowed at a place of the configuration."""
    models = _models_in(annotation)
    if not loc:
        return sorted({f.alias or name for model in models for name, f in model.model_fields.items()})
    below = [
        field.annotation
        for model in models
        for name, field in model.model_fields.items()
        if loc[0] in (name, field.alias)
    ]
    if not below:  # an index into a list, or the tag of a union: the models stay the same
        tagged = [m for m in models if _tag(m) == loc[0]]
        return sorted({n for m in tagged or models for n in _fields_at(m, loc[1:])})
    return sorted({name for nested in below for name in _fields_at(nested, loc[1:])})


def _tag(model: type[Settings]) -> Any:
    kind = model.model_fields.get("kind")
    return kind.default if kind else None


def _models_in(annotation: Any) -> list[type[Settings]]:
    """Every settings class inside an annotation: unions, tuples, dicts and annotated types unwrapped."""
    if isinstance(annotation, type) and issubclass(annotation, Settings):
        return [annotation]
    if get_origin(annotation) in (Union, types.UnionType, tuple, list, dict, Annotated):
        return [model for inner in get_args(annotation) for model in _models_in(inner)]
    return []
