"""The demo's own membership verdicts: a leak that is plain, and a base model on which too few calls say too little."""

from pathlib import Path

from pipelines.demo.membership import membership_lines
from tests.conftest import SEED, Demo


def test_the_target_fails_and_the_base_model_is_on_hold(demo: Demo, tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "target").symlink_to(demo.target)
    (tmp_path / "models" / "base").symlink_to(demo.base)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "model_card.md").write_text("# A model\n")
    target, base = membership_lines(tmp_path, demo.truth, SEED)
    assert target.startswith("The target under membership attacks: FAIL (loss fail, AUC ")
    assert base.startswith("The base model under membership attacks: HOLD (loss hold:underpowered, AUC 0.")
    assert membership_lines(tmp_path, demo.truth, SEED) == [target, base]
