"""The configuration of `extraction membership gmint`: models, their data, and the choices of the method."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from extraction.gmint.settings import GmintMethod
from extraction.model import ModelSettings
from extraction.settings import Settings

DATA = "{data}"
INTRA, MIXED = "intra", "mixed"

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=80)]
Count = Annotated[int, Field(ge=10, le=10**7)]


class GmintData(Settings):
    """One data set: records that its models were trained on, and records that they were not."""

    members: Path = Field(description="Records that the models were trained on: Parquet, JSON lines, CSV.")
    nonmembers: Path | None = Field(
        None, description="Others of the same data set: the intra-database protocol."
    )
    elsewhere: tuple[Path, ...] = Field(
        (),
        description="Others of several data sets, drawn from in equal shares: the mixed-database protocol. Name the "
        "data set's own among them.",
    )

    @model_validator(mode="after")
    def _others(self) -> "GmintData":
        if self.nonmembers is None and not self.elsewhere:
            raise ValueError("name `nonmembers`, `elsewhere` or both: records that no model was trained on")
        if len(set(self.elsewhere)) < len(self.elsewhere):
            raise ValueError("elsewhere: a file stands there twice; name each once")
        return self

    @property
    def others(self) -> dict[str, tuple[Path, ...]]:
        """For each protocol that is asked for, where its records outside the training data stand."""
        own = () if self.nonmembers is None else (self.nonmembers,)
        return {name: paths for name, paths in ((INTRA, own), (MIXED, self.elsewhere)) if paths}


class GmintConfig(Settings):
    """A gMINT audit of every model on every data set."""

    name: Name = Field(description="Names the audit.")
    kind: Literal["classifier", "causal"] = Field(
        description="Sequence classifiers (the loss of their label) or causal language models (of the next token)."
    )
    models: dict[Name, ModelSettings] = Field(
        min_length=1, description="By name; `{data}` in a path stands for the data set's name."
    )
    data: dict[Name, GmintData] = Field(min_length=1, description="Data sets by name.")
    samples: tuple[Count, ...] = Field(
        (2500, 2250, 1500, 1250, 750), min_length=1, description="Samples a side at which AUCs are measured."
    )
    method: GmintMethod = Field(GmintMethod(), description="The choices of the method.")
    text_column: str = Field("text", min_length=1, description="Column or key of the text.")
    label_column: str = Field(
        "label", min_length=1, description="The same of the class, as a number or as the model names it."
    )
    id_column: str = Field("id", min_length=1, description="The same of the id.")
    group_column: str | None = Field(
        None, min_length=1, description="The same of what a record belongs to; a group is never split."
    )
    max_tokens: int = Field(
        512,
        ge=2,
        le=2**20,
        description="Tokens of a text beyond which it is cut, or fewer where a model reads fewer.",
    )
    near_duplicate: float = Field(
        0.7, gt=0, le=1, description="Estimated Jaccard similarity from which texts are near duplicates."
    )
    seed: int = Field(0, ge=0, lt=2**32, description="Of projections, draws, splits and MINT models.")
    out: Path | None = Field(None, description="Where the result goes; default: audits/<name>.")

    @model_validator(mode="after")
    def _consistent(self) -> "GmintConfig":
        if len(set(self.samples)) != len(self.samples):
            raise ValueError("samples: a number stands there twice; name each once")
        for name, model in self.models.items():
            if len(self.data) > 1 and DATA not in f"{model.path} {model.adapter}":
                raise ValueError(
                    f"models: {name} is one model for several data sets; write {DATA} in its path where the data set's "
                    "name stands"
                )
        return self

    @property
    def folder(self) -> Path:
        """Where the result goes."""
        return self.out or Path("audits") / self.name

    def model(self, model: str, data: str) -> ModelSettings:
        """The model of a name that was trained on a data set."""
        found = self.models[model]
        named = {
            field: None if value is None else value.replace(DATA, data)
            for field, value in (("path", found.path), ("adapter", found.adapter))
        }
        return found.model_copy(update=named)
