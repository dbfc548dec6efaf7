import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from index import BuildOptions, Index, build_index, open_index


def write_jsonl(path: Path, documents: Sequence[str], first: int = 0) -> Path:
    lines = [json.dumps({"id": f"d{first + n}", "text": text}) for n, text in enumerate(documents)]
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def make_index(tmp_path: Path) -> Callable[..., Index]:
    """Build an index of some documents in as many segments as asked for."""
    made = iter(range(10_000))

    def make(documents: Sequence[str], min_bytes: int = 50, parts: int = 1, **options: Any) -> Index:
        folder = tmp_path / f"corpus{next(made)}"
        folder.mkdir()
        size = -(-len(documents) // parts)
        sources = [
            write_jsonl(folder / f"{part:03d}.jsonl", documents[part * size : (part + 1) * size], part * size)
            for part in range(parts)
        ]
        chosen = BuildOptions(min_bytes=min_bytes, segment_bytes=1 if parts > 1 else None, **options)
        return open_index(build_index(sources, folder / "index", chosen))

    return make
