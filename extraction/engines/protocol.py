"""What every engine does, whatever runs the model behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # records bring pyarrow, which reading a config does not need
    from extraction.records import Generation, Request


class Engine(Protocol):
    """Answers requests. One engine lives in one process and is used by one caller at a time."""

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Sample once for each request.

        Returns:
            One generation for each request, in order. A request that cannot run (its prompt is empty or
            over-long) comes back as `failed`, without tokens; the others are not disturbed.

        Raises:
            Exception: the engine itself is broken; nothing of this call may be kept.
        """
        ...

    def settings_used(self) -> dict[str, str | int | float | None]:
        """Say what really runs, by name: kind, versions, number format, longest text."""
        ...

    def close(self) -> None:
        """Free the model. Calling it twice does no harm."""
        ...
