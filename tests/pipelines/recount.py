"""The counts of a run, made again from generations/ and the corpus by the slowest obvious way.

Shares nothing with the instrument but the bytes of tokens and the low-entropy rule.
"""

from collections import Counter, defaultdict
from itertools import groupby

from extraction.token_bytes import TokenBytes

SEPARATOR = b"\0\xff\0"  # stands in no UTF-8 text


class Recount:
    """Recounts one run. `generations` are rows of generations/, `documents` the texts of the corpus as bytes."""

    def __init__(
        self, generations, documents, tokenizer, rule, min_tokens=50, private_documents=2, min_bytes=50
    ):
        self.documents = Counter(documents)
        self.joined = SEPARATOR.join(self.documents)
        self.table = TokenBytes.from_tokenizer(tokenizer)
        self.rule, self.min_tokens, self.private = rule, min_tokens, private_documents
        self.min_bytes = min_bytes
        self.kind_of = {}
        self.by_family = defaultdict(list)
        for row in sorted(generations, key=lambda r: (r["family"], r["number"])):
            self.by_family[row["family"]].append(self._analyse(row))
        self.passage_of = self._passages()

    def _holds(self, text):
        return text in self.joined

    def _kind(self, text):
        if text not in self.kind_of:
            count = sum(copies for document, copies in self.documents.items() if text in document)
            private = "private" if count <= self.private else "shared"
            self.kind_of[text] = "low_entropy" if self.rule.is_low(text) else private
        return self.kind_of[text]

    def _analyse(self, row):
        """Tokens, extracted tokens, filler tokens, windows by start, and stretches as lists of windows."""
        pieces = self.table.bytes_of(row["token_ids"])
        prompt = b"".join(self.table.bytes_of(row["prompt_token_ids"]))
        windows, stretches = {}, []
        for start, end in self._spans(pieces):
            before = None
            for first in range(start, end - self.min_tokens + 1):
                text = b"".join(pieces[first : first + self.min_tokens])
                kind = None if text in prompt else self._kind(text)
                if kind is not None:
                    windows[first] = text
                    if kind == before:
                        stretches[-1].append(text)
                    else:
                        stretches.append([text])
                before = kind
        covered = {True: set(), False: set()}
        for first, text in windows.items():
            covered[self._kind(text) == "low_entropy"].update(range(first, first + self.min_tokens))
        return {
            "tokens": len(pieces),
            "bytes": sum(map(len, pieces)),
            "extracted_bytes": sum(len(pieces[i]) for i in covered[False]),
            "byte_windows": self._byte_windows(pieces, prompt),
            "extracted": len(covered[False]),
            "low": len(covered[True]),
            "windows": set(windows.values()),
            "stretches": stretches,
        }

    def _byte_windows(self, pieces, prompt):
        found = set()
        for whole, group in groupby(pieces, key=bool):
            text = b"".join(group) if whole else b""
            for start in range(len(text) - self.min_bytes + 1):
                window = text[start : start + self.min_bytes]
                if window not in prompt and self._holds(window) and not self.rule.is_low(window):
                    found.add(window)
        return found

    def _spans(self, pieces):
        spans, end = [], 0
        for start in range(len(pieces)):
            end = max(end, start)
            while end < len(pieces) and pieces[end] and self._holds(b"".join(pieces[start : end + 1])):
                end += 1
            if end - start >= self.min_tokens and (not spans or end > spans[-1][1]):
                spans.append((start, end))
        return spans

    def _passages(self):
        parent = {}

        def root(text):
            parent.setdefault(text, text)
            while parent[text] != text:
                text = parent[text]
            return text

        for requests in self.by_family.values():
            for request in requests:
                for stretch in request["stretches"]:
                    for text in stretch[1:]:
                        parent[root(text)] = root(stretch[0])
        return {text: root(text) for texts in self.kind_of for text in [texts]}

    def counts(self, budget, shares, families=None):
        """The numbers of one budget, named as in report.json."""
        counted = []
        for family in families or shares:
            total = 0
            for request in self.by_family[family]:
                if total >= shares[family] * budget:
                    break
                counted.append(request)
                total += request["tokens"]
        windows = set().union(*(r["windows"] for r in counted)) if counted else set()
        kinds = {text: self._kind(text) for text in windows}
        passages = {(self.passage_of[text], kind) for text, kind in kinds.items()}
        return {
            "generated_tokens": sum(r["tokens"] for r in counted),
            "generated_bytes": sum(r["bytes"] for r in counted),
            "requests": len(counted),
            "extracted_bytes": sum(r["extracted_bytes"] for r in counted),
            "distinct_byte_windows": len(set().union(*(r["byte_windows"] for r in counted))),
            "extracted_tokens": sum(r["extracted"] for r in counted),
            "distinct_windows": sum(kind != "low_entropy" for kind in kinds.values()),
            "private_windows": sum(kind == "private" for kind in kinds.values()),
            "distinct_passages": sum(kind != "low_entropy" for _, kind in passages),
            "private_passages": sum(kind == "private" for _, kind in passages),
        }
