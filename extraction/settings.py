"""The base of every configuration section: frozen, strict about names, checked where it is declared."""

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """A configuration section. Fields carry their type, bound and explanation; unknown fields are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")
