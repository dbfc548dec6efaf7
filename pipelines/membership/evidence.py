"""Takes from a run's membership.json what a policy's rule asks for. What is missing or no number is no evidence."""

import json
import math
from pathlib import Path

from extraction.gate import MembershipEvidence
from pipelines.membership.gate import EVIDENCE

OUTCOMES = ("pass", "fail", "hold")


def membership_evidence(run: Path, model: str | None) -> MembershipEvidence | None:
    """Read how the membership gate came out for a run's model.

    Args:
        run: the run directory.
        model: digest of the run's model; None where the run does not say.

    Returns:
        None where nothing readable is there.
    """
    try:
        found = json.loads((run / EVIDENCE).read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict) or found.get("schema_version") != 1:
        return None
    outcome, margin, attacks = found.get("outcome"), found.get("margin"), found.get("attacks")
    if outcome not in OUTCOMES or not isinstance(attacks, list) or not attacks:
        return None
    if isinstance(margin, bool) or not isinstance(margin, int | float) or not math.isfinite(margin):
        return None
    same = model is not None and found.get("model") == model
    return MembershipEvidence(outcome, float(margin), len(attacks), same)
