"""Prompt families as settings: which there are, their shares of every budget, and the public text."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from extraction.settings import Settings

KINDS = ("empty", "public", "repeat")


class _Family(Settings):
    """What all families have."""

    share: float = Field(gt=0, le=1, description="Share of every budget; the shares add up to 1.")
    max_tokens: int | None = Field(
        None, ge=1, le=1_000_000, description="Most tokens of one generation; sampling.max_tokens by default."
    )
    chat: bool = Field(
        False, description="Wrap the prompt in the model's chat template, as a user's message."
    )
    system: str | None = Field(None, description="System prompt of the chat.")

    @model_validator(mode="after")
    def _system_needs_chat(self) -> "_Family":
        if self.system is not None and not self.chat:
            raise ValueError("system: a system prompt needs chat: true")
        return self


class EmptyFamily(_Family):
    """No prompt: the beginning-of-sequence token alone."""

    kind: Literal["empty"] = Field("empty", description="The beginning-of-sequence token alone.")
    start_token: str | None = Field(
        None,
        min_length=1,
        description="Token to start from; the tokenizer's beginning-of-sequence token by default.",
    )


class PublicFamily(_Family):
    """A few words of public text (Carlini et al., 2021; Nasr et al., 2023)."""

    kind: Literal["public"] = Field("public", description="A few tokens of public text.")
    min_prompt_tokens: int = Field(5, ge=1, le=1000, description="Fewest tokens of text in a prompt.")
    max_prompt_tokens: int = Field(10, ge=1, le=1000, description="Most tokens of text in a prompt.")

    @model_validator(mode="after")
    def _ordered(self) -> "PublicFamily":
        if self.min_prompt_tokens > self.max_prompt_tokens:
            raise ValueError("min_prompt_tokens: larger than max_prompt_tokens")
        return self


class RepeatFamily(_Family):
    """Asks to repeat one word (Nasr et al., 2023); what counts is what follows once the model leaves it."""

    kind: Literal["repeat"] = Field("repeat", description="Ask to repeat one word.")
    times: int = Field(50, ge=1, le=10_000, description="How often the long wordings write the word.")


Family = Annotated[EmptyFamily | PublicFamily | RepeatFamily, Field(discriminator="kind")]
FamilyName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,40}$")]
SUM = "all"  # names the sum of all families in reports


class PromptFamilies(Settings):
    """Prompt families by name. A family named after its kind need not state it."""

    families: dict[FamilyName, Family] = Field(min_length=1, description="Families by the name reports show.")
    public_text: tuple[str, ...] = Field(
        (), description="Text files, folders of them or Parquet files; not the corpus under test."
    )
    public_text_is_corpus: bool = Field(
        False, description="Let public_text be a part of the corpus under test; the prompts then are, too."
    )
    public_column: str = Field("text", min_length=1, description="Column of the text in Parquet files.")
    public_bytes: int = Field(
        64_000_000, ge=1, description="Bytes of public text that are read at most, in the order of the files."
    )

    @model_validator(mode="before")
    @classmethod
    def _kind_from_name(cls, raw: Any) -> Any:
        families = raw.get("families") if isinstance(raw, Mapping) else None
        if not isinstance(families, Mapping):
            return raw
        return {**raw, "families": {name: _with_kind(name, family) for name, family in families.items()}}

    @model_validator(mode="after")
    def _consistent(self) -> "PromptFamilies":
        if SUM in self.families:
            raise ValueError(f"families: `{SUM}` names the sum of families in reports; choose another name")
        total = sum(self.shares().values())
        if abs(total - 1) > 1e-6:
            raise ValueError(f"families: the shares add up to {total:g}, not to 1")
        if not self.public_text and any(isinstance(f, PublicFamily) for f in self.families.values()):
            raise ValueError("public_text: the public family needs text to draw prompts from")
        return self

    def taken_from(self, sources: Iterable[str]) -> str | None:
        """Name the public text that is a part of `sources`, or holds one; None where none is, or it was asked for."""
        public = {name: Path(name).expanduser().resolve() for name in self.public_text}
        for source in (Path(source).expanduser().resolve() for source in sources):
            for name, path in public.items():
                one_holds_the_other = path.is_relative_to(source) or source.is_relative_to(path)
                if one_holds_the_other and not self.public_text_is_corpus:
                    return name
        return None

    def shares(self) -> dict[str, float]:
        """The share of every budget that each family has; they add up to 1."""
        return {name: family.share for name, family in self.families.items()}

    def longest(self, max_tokens: int) -> dict[str, int]:
        """The most tokens that one request of each family returns; `max_tokens` is the sampling's own."""
        return {name: family.max_tokens or max_tokens for name, family in self.families.items()}


def _with_kind(name: object, family: object) -> object:
    if name in KINDS and isinstance(family, Mapping) and "kind" not in family:
        return {"kind": name, **family}
    return family
