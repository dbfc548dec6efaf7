"""Where in our own code an exception arose: safe to say, where its message could carry text."""

import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OURS = [ROOT / package for package in ("extraction", "index", "pipelines")]


def place_of(error: BaseException) -> str:
    """File and line of the innermost frame in our own code, such as `pipelines/run.py:40`; empty if there is none."""
    frames = traceback.extract_tb(error.__traceback__)
    places = [(Path(frame.filename), frame.lineno) for frame in frames]
    ours = [place for place in places if any(map(place[0].is_relative_to, OURS))]
    if not ours:
        return ""
    path, line = ours[-1]
    return f"{path.relative_to(ROOT)}:{line}"
