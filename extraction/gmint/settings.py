"""How a gMINT audit is made: which gradients, and how MINT models are trained on them."""

import re
from typing import TYPE_CHECKING

from pydantic import Field, field_validator

from extraction.settings import Settings

if TYPE_CHECKING:
    from extraction.gmint.features import Compression
    from extraction.gmint.mint import MintTraining


class GmintMethod(Settings):
    """The choices of the method; the defaults are the published ones where these are clear."""

    layers: int | str = Field(
        3,
        description="So many layers with parameters, counted from the last; or a regular expression that is found in "
        "the names of parameters: `lora_` for an adapter's.",
    )
    width: int = Field(
        1024,
        ge=16,
        le=2**20,
        multiple_of=4,
        description="Most values of one parameter's gradient; a larger one is projected to so many.",
    )
    epochs: int = Field(100, ge=1, le=10_000, description="Passes of a MINT model over what it is fitted on.")
    batch: int = Field(32, ge=1, le=65_536, description="Samples in a step of a MINT model.")
    learning_rate: float = Field(1e-3, gt=0, le=1, description="Of Adam, for the MINT models.")
    splits: int = Field(
        5, ge=1, le=1000, description="How often samples are split anew; the interval is over these."
    )
    memory_mb: int = Field(
        512, ge=1, le=2**20, description="Most mebibytes of a batch's gradients, before they are projected."
    )

    @field_validator("layers")
    @classmethod
    def _meaningful(cls, layers: int | str) -> int | str:
        if isinstance(layers, str):
            try:
                re.compile(layers)
            except re.error as error:
                raise ValueError(f"no regular expression ({error})") from None
        elif layers < 1:
            raise ValueError("name at least one layer, or a regular expression")
        return layers

    def compression(self, seed: int) -> "Compression":
        """How gradients become rows."""
        from extraction.gmint.features import Compression

        return Compression(self.width, seed, self.memory_mb * 2**20)

    def training(self, seed: int) -> "MintTraining":
        """How MINT models are trained."""
        from extraction.gmint.mint import MintTraining

        return MintTraining(self.epochs, self.batch, self.learning_rate, seed)
