"""The configuration of `extraction prefix`: one YAML file."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from extraction.engines.settings import ModelSettings, TransformersSettings, VllmSettings
from extraction.entropy import LowEntropyRule
from extraction.identifiers.settings import IdentifierSettings
from extraction.sampling import Sampling
from extraction.settings import Settings
from pipelines.config import Corpus

Share = Annotated[float, Field(gt=0, lt=1)]
Length = Annotated[int, Field(ge=1, le=10_000)]


class Screen(Settings):
    """The cheap screen: one forward pass over a sample of documents, in stretches of a prompt and what follows it."""

    documents: int = Field(default=1000, ge=1, le=10**7, description="Documents of the sample.")
    prefix_tokens: Length = Field(default=50, description="Tokens of a stretch's first part.")


class Games(Settings):
    """The three games on names and numbers: extraction, reconstruction, inference."""

    sentences: int = Field(
        default=200,
        ge=1,
        le=10**6,
        description="Sentences with an identifier masked, each another identifier.",
    )
    samples: int = Field(
        default=64, ge=1, le=10_000, description="Continuations sampled for each sentence: its candidates."
    )
    sample_tokens: int = Field(default=24, ge=1, le=1000, description="Tokens of each such continuation.")
    candidates: int = Field(
        default=100,
        ge=2,
        le=10_000,
        description="Identifiers in the list that the inference game gives away.",
    )
    top: tuple[Annotated[int, Field(ge=1, le=10_000)], ...] = Field(
        default=(1, 5, 10), min_length=1, description="The k of top-k accuracy."
    )
    masked: ModelSettings | None = Field(
        default=None, description="A masked language model that proposes as many candidates again."
    )
    known: tuple[str, ...] = Field(
        default=(), description="Text that an attacker has: files or folders; identifiers in it are no news."
    )


class PrefixConfig(Settings):
    """Everything that `extraction prefix` does."""

    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=80, description="Names the output directory."
    )
    model: ModelSettings = Field(description="The model under test and its tokenizer.")
    control: ModelSettings | None = Field(
        default=None, description="A model never trained on the corpus, usually the base model."
    )
    engine: Annotated[TransformersSettings | VllmSettings, Field(discriminator="kind")] = Field(
        default=TransformersSettings(kind="transformers"), description="What generates."
    )
    scoring: TransformersSettings = Field(
        default=TransformersSettings(kind="transformers"),
        description="What reads probabilities; batches are as large as fits, whatever its `batch_size`.",
    )
    sampling: Sampling = Field(
        default=Sampling(),
        description="The sampler whose draws are asked about; `from: model` reads the model's own.",
    )
    corpus: Corpus = Field(description="The training text.")
    run: Path | None = Field(
        default=None,
        description="A finished run directory of the same model and corpus: what it recovered is counted.",
    )
    documents: int = Field(default=1000, ge=1, le=10**7, description="Documents that targets are cut out of.")
    by: Literal["documents", "tokens"] = Field(
        default="documents", description="Draw documents uniformly, or in proportion to their length."
    )
    opening: Literal["first", "random"] = Field(
        default="first",
        description="The prompt is a document's first tokens, or those before a random place.",
    )
    prefix_tokens: tuple[Length, ...] = Field(
        default=(10, 25, 50, 100, 200), min_length=1, description="Tokens of the prompt, each length in turn."
    )
    target_tokens: int = Field(default=50, ge=16, le=10_000, description="Tokens of the true continuation.")
    continuations: int = Field(
        default=256,
        ge=1,
        le=10_000,
        description="True continuations of one prompt that count, the most frequent; where there are more, what "
        "comes out is a lower bound, and the result says so.",
    )
    draws: tuple[Annotated[int, Field(ge=1, le=10**12)], ...] = Field(
        default=(1, 10, 100, 1000), min_length=1, description="The n of (n, p)-discoverable extraction."
    )
    certainties: tuple[Share, ...] = Field(
        default=(0.5, 0.9), min_length=1, description="The p of (n, p)-discoverable extraction."
    )
    edit_share: float = Field(
        default=0.1, ge=0, lt=1, description="Edits of a near match, as a share of the target's tokens."
    )
    low_entropy: LowEntropyRule = Field(default=LowEntropyRule(), description="What counts as filler.")
    screen: Screen | None = Field(default=Screen(), description="The cheap screen; null: none.")
    games: Games | None = Field(default=None, description="The games on identifiers; none: not played.")
    identifiers: IdentifierSettings = Field(
        default=IdentifierSettings(), description="How names and numbers are tagged."
    )
    seed: int = Field(default=0, ge=0, lt=2**63, description="Of every draw.")
    part_targets: int = Field(default=64, ge=1, le=100_000, description="Documents or sentences in one part.")
    workers: int = Field(
        default=1, ge=1, le=100_000, description="Workers that generate, or read probabilities."
    )
    analysis_workers: int = Field(
        default=2, ge=1, le=100_000, description="Workers that read the corpus and tag, a core each."
    )
    out: Path | None = Field(default=None, description="The output directory; default: runs/<name>.")

    @property
    def shortest_match(self) -> int:
        """Bytes of the shortest match that the index is asked for: a target has at least as many."""
        return min(50, self.target_tokens)

    @property
    def main_length(self) -> int:
        """The length of the prompt that tables by duplicates and recovery go by: 50, or the one nearest to it."""
        return min(self.prefix_tokens, key=lambda length: (abs(length - 50), length))

    @model_validator(mode="after")
    def _consistent(self) -> "PrefixConfig":
        for name in ("prefix_tokens", "draws", "certainties"):
            values = getattr(self, name)
            if list(values) != sorted(set(values)):
                raise ValueError(f"{name}: name each once, in ascending order")
        if self.model.path is None:
            raise ValueError("model.path: probabilities are read from the model itself; name it")
        if self.model.adapter or (self.control and self.control.adapter):
            raise ValueError(
                "model.adapter: probabilities are read without adapters; merge it into the model"
            )
        if self.corpus.kind == "unsearchable":
            raise ValueError(
                "corpus.kind: there is nothing to cut prompts out of; name `sources` or an `index`"
            )
        return self
