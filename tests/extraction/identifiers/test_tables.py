"""Which lines are tables, and which header stands over a value."""

import pytest

from extraction.identifiers.tables import Tables


def over(text, value):
    cell = Tables(text).cell(text.index(value))
    return text[slice(*cell.header)] if cell else None


def test_rows_have_the_header_of_their_column():
    text = 'name,date of birth,ward\nAnn,"May 3, 1961",7\nBo,1962-01-01,8\n\nplain, words, here 9'
    assert over(text, "May") == over(text, "1962") == "date of birth"
    assert over(text, "Bo") == "name"
    assert over(text, "name") is over(text, "here") is None


def test_markdown_and_tabs():
    assert over("| Name | NHS |\n| --- | --- |\n| Ann | 12 |", "12") == " NHS "
    assert over("a\tb\n1\t2", "2") == "b"


@pytest.mark.parametrize(
    "text",
    [
        "Customer: my account, as I said, is this\nAgent: so, then, 12",  # a line of speech
        "one, two\nthree, 12",  # a single comma
        "x, y, z" + "a" * 50 + "\n1, 2, 12",  # a sentence, not cells
        "f(a, b, c)\n1, 2, 12",  # code
        "1, 2, 3\n4, 5, 12",
    ],
)
def test_prose_is_no_table(text):
    assert over(text, "12") is None


def test_all_cells_are_listed_row_by_row():
    text = "a;b\n1;2\n3;4\nend"
    assert [text[slice(*cell.span)] for cell in Tables(text).cells()] == ["1", "2", "3", "4"]
