"""A corpus of a few short texts that is searched by looking everywhere, and a tokenizer of one byte for each token."""

import numpy as np

from extraction.byte_windows import ByteWindowTable, byte_windows
from extraction.entropy import LowEntropyRule
from extraction.token_bytes import TokenRun
from extraction.windows import MatchRule, MatchTables, analyse_generation

KEY = b"0123456789abcdef"


class SmallCorpus:
    def __init__(self, *documents: bytes) -> None:
        self.documents = documents

    def ranges(self, text: bytes, least: int) -> list[tuple[int, int]]:
        """All maximal ranges of `text` that stand in a document."""
        found = []
        for start in range(len(text)):
            end = start
            while end < len(text) and any(text[start : end + 1] in d for d in self.documents):
                end += 1
            if end - start >= least and not (found and found[-1][1] >= end):
                found.append((start, end))
        return found

    def count(self, data: bytes, starts, ends):
        texts = [data[a:b] for a, b in zip(starts, ends, strict=True)]
        documents = np.array([sum(t in d for d in self.documents) for t in texts], np.int64)
        places = [sum(d.startswith(t, i) for d in self.documents for i in range(len(d))) for t in texts]
        return documents, np.array(places, np.int64)


def rule(min_tokens: int = 50, private: int = 2) -> MatchRule:
    return MatchRule(min_tokens, private, LowEntropyRule(), KEY)


def runs_of(tokens: list[bytes]) -> list[TokenRun]:
    """Split at tokens of no bytes, as the tokenizer does."""
    runs, first = [], 0
    for end in [i for i, t in enumerate(tokens) if not t] + [len(tokens)]:
        piece = tokens[first:end]
        if piece:
            offsets = np.concatenate([[0], np.cumsum([len(t) for t in piece])]).astype(np.int64)
            runs.append(TokenRun(first, b"".join(piece), offsets))
        first = end + 1
    return runs


def bytes_as_tokens(text: bytes) -> list[bytes]:
    return [bytes([b]) for b in text]


def match(corpus: SmallCorpus, tokens: list[bytes], the_rule: MatchRule, prompt: tuple[bytes, ...] = ()):
    runs = runs_of(tokens)
    ranges = [corpus.ranges(run.data, the_rule.min_tokens) for run in runs]
    return analyse_generation(runs, ranges, prompt, the_rule, corpus.count)


def match_in_bytes(
    corpus: SmallCorpus,
    tokens: list[bytes],
    the_rule: MatchRule,
    min_bytes: int,
    prompt: tuple[bytes, ...] = (),
) -> list[bytes]:
    runs = runs_of(tokens)
    ranges = [corpus.ranges(run.data, min_bytes) for run in runs]
    return byte_windows(runs, ranges, prompt, the_rule, min_bytes)


def match_all(
    corpus: SmallCorpus, texts: dict[str, list[bytes]], the_rule: MatchRule, prompt: tuple[bytes, ...] = ()
):
    """The tables of a run whose generations are given by family."""
    tables, in_bytes = MatchTables(the_rule), ByteWindowTable()
    for family, generations in texts.items():
        for number, text in enumerate(generations):
            tokens = bytes_as_tokens(text)
            tables.add(family, number, list(text), match(corpus, tokens, the_rule, prompt))
            hashes = match_in_bytes(corpus, tokens, the_rule, the_rule.min_tokens, prompt)
            in_bytes.add(family, number, hashes)
    return {**tables.tables(), "byte_windows": in_bytes.table()}
