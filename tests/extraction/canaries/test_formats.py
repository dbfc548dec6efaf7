import pytest

from extraction.canaries.formats import parse_format
from extraction.canaries.settings import CanarySettings, FormatSettings

WORDS = ("amber", "basket", "candle")


@pytest.mark.parametrize(
    ("template", "size", "text", "value"),
    [
        ("my account number is {digits:9}", 10**9, "my account number is 000000007", "000000007"),
        ("{letters:2} it is", 26**2, "ah it is", "ah"),
        ("ref {capitals:1}-{hex:1}, thanks", 26 * 16, "ref A-7, thanks", "A-7"),
        ("say {words:2} {{twice}}", 9, "say candle basket {twice}", "candle basket"),
    ],
)
def test_a_format_counts_and_writes_its_fillings(template: str, size: int, text: str, value: str) -> None:
    form = parse_format("f", template, WORDS)
    assert (form.size, form.text(7), form.value(7)) == (size, text, value)


def test_all_texts_come_in_the_order_of_their_numbers() -> None:
    form = parse_format("f", "x {words:2}, {digits:2}", WORDS)
    texts = list(form.texts())
    assert texts == [form.text(filling) for filling in range(form.size)]
    assert len(set(texts)) == form.size


@pytest.mark.parametrize(
    ("template", "complaint"),
    [
        ("no blank", "has no blank"),
        ("{digits}", "say how many, from 1 to 64"),
        ("{digits:0}", "say how many"),
        ("{digits:99}", "say how many"),
        ("{numbers:3}", "is no blank; known are digits"),
        ("{digits!r:3}", "is no blank"),
        ("{digits:2}{hex:2}", "two blanks touch"),
        ("{digits:2", "unmatched"),
    ],
)
def test_a_template_that_cannot_be_read_is_refused(template: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        parse_format("f", template)


def test_words_are_needed_and_distinct() -> None:
    with pytest.raises(ValueError, match="at least two"):
        FormatSettings(name="f", template="{words:2}", words=("one",))
    with pytest.raises(ValueError, match="stands there twice"):
        FormatSettings(name="f", template="{words:2}", words=("one", "one"))
    with pytest.raises(ValueError, match="two have one name"):
        form = FormatSettings(name="f", template="{digits:4}")
        CanarySettings(sources=("corpus.jsonl",), formats=(form, form), insertions={1: 1})


def test_a_filling_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="no filling 100"):
        parse_format("f", "{digits:2}").text(100)
