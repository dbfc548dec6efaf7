"""Reads a page as a browser or a reader would: its tags, its words, its numbers."""

import json
import re
from html.parser import HTMLParser
from typing import Any

from pipelines.report import words

NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


class Page(HTMLParser):
    """Tags with their attributes, and the text outside style sheets and figures."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.parts: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in ("style", "svg"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open:
            self.open.remove(tag)

    def handle_data(self, data: str) -> None:
        if not self.open:
            self.parts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.parts).split())


def numbers(text: str) -> set[str]:
    return {found.rstrip(",") for found in NUMBER.findall(text)}


def written_forms(data: Any) -> set[str]:
    """Every number that a page may show for these data: each leaf in each way that pages write numbers."""
    forms: set[str] = set()
    for leaf in leaves(data):
        if isinstance(leaf, bool) or leaf is None:
            continue
        if isinstance(leaf, str):
            forms |= numbers(leaf)
            continue
        written = [str(leaf), words.decimal(leaf), words.percent(abs(leaf))]
        if isinstance(leaf, int):
            written += [words.count(abs(leaf)), words.size(leaf)]
        elif leaf >= 0:
            written += [words.duration(leaf), words.points(leaf)]
        forms |= {number for text in written for number in numbers(text)}
    return forms


def leaves(data: Any) -> list[Any]:
    if isinstance(data, dict):
        return [leaf for key, value in data.items() for leaf in (key, *leaves(value))]
    if isinstance(data, list):
        return [leaf for value in data for leaf in leaves(value)]
    return [data]


def unexplained(html: str, data: Any) -> set[str]:
    """Numbers on a page that its JSON does not hold; 95 is the level of every interval."""
    return numbers(Page(html).text) - written_forms(json.loads(json.dumps(data))) - {"95"}
