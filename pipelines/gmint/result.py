"""The result of a gMINT audit: AUCs with their intervals and controls, counts and digests, and no record."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from extraction.errors import InputError
from extraction.gmint.measure import Findings
from pipelines.membership.result import Counted
from pipelines.parts import write_json

LIMITATIONS = (
    "It says how well gradients tell these records apart, not whether a given person's record was used.",
    "Whoever makes this test has the model's weights and part of its training data.",
    "Records are drawn again for each split from the same ones: intervals speak of these records' like, not of others.",
)


@dataclass(frozen=True)
class Cell:
    """One model on one data set, by one protocol.

    Attributes:
        model: its name.
        data: the data set's name.
        protocol: `intra` or `mixed`.
        weights: values of all the model's parameters.
        layers: names of the parameters whose gradients were looked at.
        columns: values of a sample's row.
        projected: of `layers`, those that were projected.
        vmapped: whether many gradients were computed at a time.
        members: what became of the members' records.
        others: the same of the others.
        digests: of the model and of the files of records.
        findings: for each number of samples, in the configuration's order.
    """

    model: str
    data: str
    protocol: str
    weights: int
    layers: tuple[str, ...]
    columns: int
    projected: tuple[str, ...]
    vmapped: bool
    members: Counted
    others: Counted
    digests: Mapping[str, str]
    findings: tuple[Findings, ...]

    @property
    def largest(self) -> Findings:
        """What was found at the largest number of samples."""
        return max(self.findings, key=lambda one: one.samples_per_side)

    @property
    def holds(self) -> tuple[str, ...]:
        """Why its AUCs are no evidence, by the controls at the largest number of samples."""
        return self.largest.holds


def write_cell(cell: Cell, path: Path) -> None:
    """Write a cell whole; a file that is there is complete."""
    write_json(str(path), asdict(cell))


def read_cell(path: Path) -> Cell:
    """Read a cell.

    Raises:
        InputError: it is not as it was written.
    """
    try:
        return TypeAdapter(Cell).validate_python(json.loads(path.read_bytes()))
    except (ValueError, ValidationError):
        raise InputError(f"{path}: not as it was written; remove it, and it is made again") from None
