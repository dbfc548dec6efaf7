"""The configuration of `extraction canary make`: which canaries go into a copy of which corpus, and how often."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator, model_validator

from extraction.canaries.formats import Format, parse_format
from extraction.settings import Settings

Word = Annotated[str, Field(pattern=r"^\S+$", max_length=64)]
Insertions = dict[Annotated[int, Field(ge=0, le=10**6)], Annotated[int, Field(ge=1, le=10**5)]]


class FormatSettings(Settings):
    """One format of canaries."""

    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_]*$", max_length=40, description="Names the format in reports."
    )
    template: str = Field(
        min_length=1,
        max_length=2000,
        description="Text with blanks: `my account number is {digits:9}`; also letters, capitals, hex, words.",
    )
    words: tuple[Word, ...] = Field(default=(), description="What a blank `{words:N}` draws from.")

    @field_validator("words")
    @classmethod
    def _distinct(cls, words: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(words)) < len(words):
            raise ValueError("a word stands there twice; name each once")
        return words

    @model_validator(mode="after")
    def _readable(self) -> "FormatSettings":
        parse_format(self.name, self.template, self.words)
        return self

    @property
    def parsed(self) -> Format:
        """The format itself."""
        return parse_format(self.name, self.template, self.words)


class CanarySettings(Settings):
    """Everything that `extraction canary make` does."""

    sources: tuple[Path, ...] = Field(
        min_length=1, description="The corpus: Parquet and JSON lines files, or folders of them."
    )
    text_column: str = Field(default="text", min_length=1, description="Column or key that holds the text.")
    id_column: str = Field(
        default="id", min_length=1, description="Column or key that holds a document's id."
    )
    formats: tuple[FormatSettings, ...] = Field(min_length=1, description="The formats of canaries.")
    insertions: Insertions = Field(
        min_length=1,
        description="How often a canary is inserted, and how many such canaries each format has; 0: never trained on.",
    )
    seed: int = Field(default=0, ge=0, lt=2**63, description="Of the values and of the places.")
    out: Path | None = Field(
        default=None, description="Where the copy and the key go; default: canaries/<name of the file>."
    )

    @model_validator(mode="after")
    def _one_name_each(self) -> "CanarySettings":
        names = [form.name for form in self.formats]
        if len(set(names)) < len(names):
            raise ValueError("formats: two have one name; name each apart")
        return self
