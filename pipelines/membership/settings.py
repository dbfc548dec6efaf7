"""What membership scores need beside the model under test."""

from pathlib import Path

from pydantic import Field, model_validator

from extraction.gmint.settings import GmintMethod
from extraction.membership.scores import NAMES
from extraction.model import ModelSettings
from extraction.settings import Settings

GMINT = "gmint"
"""The score of a MINT model over gradients, which `membership.scores` knows nothing of."""


class GradientSettings(Settings):
    """What a MINT model is trained on before it scores the cohorts' records."""

    members: Path = Field(description="Records that the model was trained on, none of them in a cohort.")
    nonmembers: Path = Field(description="The same of records that it was not trained on.")
    method: GmintMethod = Field(GmintMethod(), description="The choices of the method.")


class ScoreSettings(Settings):
    """How membership scores are computed."""

    k: float = Field(0.2, gt=0, le=1, description="Share of the tokens that Min-K% and Min-K%++ look at.")
    reference: ModelSettings | None = Field(
        None, description="A model that did not see the members, for the reference ratio."
    )
    neighbours: int = Field(
        0, ge=0, le=1000, description="Perturbed copies of each record, for the neighbourhood score; 0: none."
    )
    prefix: Path | None = Field(
        None, description="A few records that are no members, put before each text for the conditional score."
    )
    shadows: tuple[ModelSettings, ...] = Field(
        (), description="Models trained like the one under test, without the cohorts; for LiRA and RMIA."
    )
    population: Path | None = Field(
        None,
        description="Records that neither the model nor a shadow model saw, in no cohort; for LiRA and RMIA.",
    )
    gradients: GradientSettings | None = Field(
        None, description="Records to train a MINT model on, for the gmint score."
    )

    @model_validator(mode="after")
    def _shadows_with_population(self) -> "ScoreSettings":
        if bool(self.shadows) != (self.population is not None):
            raise ValueError(
                "name `shadows` and `population` together, for LiRA and RMIA need both, or neither"
            )
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The scores that can be computed with what is there, in their order."""
        lacking = {
            "reference": self.reference is None,
            "neighbourhood": not self.neighbours,
            "conditional": self.prefix is None,
            "lira": not self.shadows,
            "rmia": not self.shadows,
        }
        found = tuple(name for name in NAMES if not lacking.get(name))
        return found if self.gradients is None else (*found, GMINT)
