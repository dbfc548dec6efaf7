"""What README shows of the library does what it says."""

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def test_the_library_calls_in_the_readme(tmp_path: Path) -> None:
    (code,) = re.findall(
        r"```python\n(from index import .*?)```", README.read_text(encoding="utf-8"), re.DOTALL
    )
    letter = "Your claim number 555-0100 was settled and the sum has been transferred to your account."
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "letter.txt").write_text(letter, encoding="utf-8")
    told = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout
    assert told == "Range(start=11, end=81) 1 ['letter.txt']\n"
