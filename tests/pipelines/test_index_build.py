import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from index import BuildOptions, SourceError, build_index, line_files, open_index
from pipelines import index_build
from tests.index.conftest import write_jsonl

TEXTS = [
    f"{n}: the same letter was sent to every customer of this branch in March, word for word"
    for n in range(60)
]
OPTIONS = BuildOptions(segment_bytes=1, workers=2)


@pytest.fixture
def sources(tmp_path: Path) -> list[Path]:
    return [write_jsonl(tmp_path / f"{n}.jsonl", TEXTS[n * 10 : n * 10 + 10], n * 10) for n in range(6)]


def test_ray_builds_what_one_process_builds(
    sources: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = open_index(index_build.build(sources, tmp_path / "here", OPTIONS))
    monkeypatch.setattr(index_build, "SMALL_BYTES", 0)
    spread = open_index(index_build.build(sources, tmp_path / "spread", OPTIONS))
    assert spread.info == here.info
    assert spread.find([TEXTS[7].encode()]) == here.find([TEXTS[7].encode()])
    assert not list((tmp_path / "spread").rglob("*.note"))
    assert "MB" in capsys.readouterr().err
    (tmp_path / "bad.jsonl").write_text("not JSON", encoding="utf-8")
    with pytest.raises(SourceError, match="bad.jsonl: line 1 is not JSON"):
        index_build.build([*sources, tmp_path / "bad.jsonl"], tmp_path / "refused", OPTIONS)
    assert not (tmp_path / "refused").exists()


def test_a_long_file_of_lines_is_read_by_several_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = "".join(json.dumps({"text": text}) + "\n" * (1 + n % 3) for n, text in enumerate(TEXTS))
    path = tmp_path / "all.jsonl"
    path.write_text(lines.rstrip("\n"), encoding="utf-8")
    whole = open_index(build_index([path], tmp_path / "whole"))
    monkeypatch.setattr(line_files, "LINES_BYTES", 500)
    cut = open_index(build_index([path], tmp_path / "cut", OPTIONS))
    assert cut.info.segments > 5
    assert cut.info.fingerprint == whole.info.fingerprint  # of the ids, which name lines, and the texts
    path.write_text(path.read_text(encoding="utf-8") + "\n{}", encoding="utf-8")
    last = len(lines.rstrip("\n").splitlines()) + 1
    with pytest.raises(SourceError, match=f"all.jsonl: line {last} has no key 'text'"):
        build_index([path], tmp_path / "refused", OPTIONS)


CHILD = """
import sys, time
from pathlib import Path
from index import BuildOptions, tasks, build_index

def slowly(function, todo):
    for task in todo:
        yield function(task)
        time.sleep(0.5)

build_index(sys.argv[2:], sys.argv[1], BuildOptions(segment_bytes=1), map=slowly)
"""


def test_a_killed_process_leaves_a_build_to_go_on_with(sources: list[Path], tmp_path: Path) -> None:
    names = [str(source) for source in sources]
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(tmp_path / "index"), *names], cwd=Path.cwd())
    markers = tmp_path / "index" / "segments"
    try:
        deadline = time.monotonic() + 100
        while len(list(markers.glob("*.done.json"))) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    done = {path: path.stat().st_mtime_ns for path in markers.glob("*.done.json")}
    assert 2 <= len(done) < 6
    kept = {path: path.stat().st_mtime_ns for path in markers.rglob("text.bin")}
    index_build.build(sources, tmp_path / "index", BuildOptions(segment_bytes=1))
    whole = open_index(index_build.build(sources, tmp_path / "whole", BuildOptions(segment_bytes=1)))
    assert open_index(tmp_path / "index").info == whole.info
    first = markers / "0000-00000-0000" / "text.bin"
    assert first.stat().st_mtime_ns == kept[first]
