"""A worker finds models and passages whatever its working directory is."""

from pathlib import Path

from extraction.model import ModelSettings
from pipelines.config import parse_config
from pipelines.paths import with_absolute_paths
from tests.pipelines.small_run import raw_config


def test_what_is_here_becomes_absolute_and_what_is_a_name_stays_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models" / "mine").mkdir(parents=True)
    (tmp_path / "base.gguf").touch()
    raw = raw_config(
        Path("."),
        model={"path": "models/mine", "tokenizer": "bytes", "adapter": "models/mine"},
        control={"model": {"path": "base.gguf", "tokenizer": "someone/model"}},
    )
    config = with_absolute_paths(parse_config(raw, "small"))
    mine = str(tmp_path / "models" / "mine")
    assert config.model == ModelSettings(path=mine, tokenizer="bytes", adapter=mine)
    assert config.control.model == ModelSettings(path=str(tmp_path / "base.gguf"), tokenizer="someone/model")
    assert config.engine.passages == tmp_path / "passages.txt"
    assert with_absolute_paths(config) == config
