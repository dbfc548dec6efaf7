"""The counts of a run, made again from generations/ and the corpus by the slowest obvious way.

Shares nothing with the instrument but the bytes of tokens, the low-entropy rule and the tagger.
"""

import re
from collections import Counter, defaultdict
from itertools import combinations, groupby

from extraction.identifiers import Tagger
from extraction.token_bytes import TokenBytes

SEPARATOR = b"\0\xff\0"  # stands in no UTF-8 text
STEPS = 24  # of a growth curve, even in generated tokens


class Recount:
    """Recounts one run. `generations` are rows of generations/, `documents` the texts of the corpus as bytes."""

    def __init__(
        self,
        generations,
        documents,
        tokenizer,
        rule,
        min_tokens=50,
        private_documents=2,
        min_bytes=50,
        cluster_threshold=0.7,
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
        self.shown = self._shown()
        self.cluster_of = self._clusters(cluster_threshold)

    def documents_with(self, text):
        return sum(copies for document, copies in self.documents.items() if text in document)

    def _holds(self, text):
        return text in self.joined

    def _kind(self, text):
        if text not in self.kind_of:
            private = "private" if self.documents_with(text) <= self.private else "shared"
            self.kind_of[text] = "low_entropy" if self.rule.is_low(text) else private
        return self.kind_of[text]

    def _analyse(self, row):
        """Tokens, extracted tokens, filler tokens, windows, and stretches as (their windows, their bytes)."""
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
                        stretches[-1].append(first)
                    else:
                        stretches.append([first])
                before = kind
        covered = {True: set(), False: set()}
        for first, text in windows.items():
            covered[self._kind(text) == "low_entropy"].update(range(first, first + self.min_tokens))
        return {
            "tokens": len(pieces),
            "bytes": sum(map(len, pieces)),
            "text": "\n".join(
                b"".join(group).decode("utf-8", errors="replace")
                for whole, group in groupby(pieces, key=bool)
                if whole
            ),
            "extracted_bytes": sum(len(pieces[i]) for i in covered[False]),
            "byte_windows": self._byte_windows(pieces, prompt),
            "extracted": len(covered[False]),
            "low": len(covered[True]),
            "windows": set(windows.values()),
            "stretches": [
                ([windows[first] for first in own], b"".join(pieces[own[0] : own[-1] + self.min_tokens]))
                for own in stretches
            ],
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

    def _stretches(self):
        return [
            stretch for own in self.by_family.values() for request in own for stretch in request["stretches"]
        ]

    def _passages(self):
        """The passage of each window: any window that stands for all that are joined with it."""
        links = [(texts[0], text) for texts, _ in self._stretches() for text in texts[1:]]
        return _components(self.kind_of, links)

    def _shown(self):
        """The longest stretch of each passage; of equals the one of most bytes, then the first."""
        best = {}
        for texts, data in self._stretches():
            passage, rank = self.passage_of[texts[0]], (-len(texts), -len(data), data)
            best[passage] = min(rank, best.get(passage, rank))
        return {passage: data for passage, (_, _, data) in best.items()}

    def tokens(self, family):
        return sum(request["tokens"] for request in self.by_family[family])

    def prefix(self, budget, shares, families=None):
        """The requests that a budget counts."""
        counted = []
        for family in families or shares:
            total = 0
            for request in self.by_family[family]:
                if total >= shares[family] * budget:
                    break
                counted.append(request)
                total += request["tokens"]
        return counted

    def counts(self, budget, shares, families=None):
        """The numbers of one budget, named as in report.json."""
        counted = self.prefix(budget, shares, families)
        kinds = {text: self._kind(text) for request in counted for text in request["windows"]}
        passages = {(self.passage_of[text], kind) for text, kind in kinds.items()}
        generated, extracted = (sum(r[name] for r in counted) for name in ("tokens", "extracted"))
        return {
            "generated_tokens": generated,
            "generated_bytes": sum(r["bytes"] for r in counted),
            "requests": len(counted),
            "requests_with_extraction": sum(r["extracted"] > 0 for r in counted),
            "extracted_bytes": sum(r["extracted_bytes"] for r in counted),
            "distinct_byte_windows": len(set().union(*(r["byte_windows"] for r in counted))),
            "extracted_tokens": extracted,
            "extracted_share": extracted / generated if generated else None,
            "distinct_windows": sum(kind != "low_entropy" for kind in kinds.values()),
            "private_windows": sum(kind == "private" for kind in kinds.values()),
            "distinct_passages": sum(kind != "low_entropy" for _, kind in passages),
            "private_passages": sum(kind == "private" for _, kind in passages),
            "clusters": len({self.cluster_of[p] for p, kind in passages if kind != "low_entropy"}),
        }

    def filler(self, budget, shares):
        """The entry of `low_entropy` at one budget."""
        counted = self.prefix(budget, shares)
        windows = {t for r in counted for t in r["windows"] if self._kind(t) == "low_entropy"}
        passages = {self.passage_of[text] for text in windows}
        tokens = sum(r["low"] for r in counted)
        return {"budget": budget, "windows": len(windows), "passages": len(passages), "tokens": tokens}

    def _clusters(self, threshold):
        """The cluster of each passage that is no filler, from every pair of them and their exact similarity."""
        texts = {p: _shingles(t) for p, t in self.shown.items() if self._kind(p) != "low_entropy"}
        pairs = combinations(texts, 2)
        links = [(a, b) for a, b in pairs if len(texts[a] & texts[b]) >= threshold * len(texts[a] | texts[b])]
        return _components(texts, links)

    def bins(self, bins, budget, shares):
        """`passages_by_document_count`, with the ends of the bins given."""
        held = {self.passage_of[t] for r in self.prefix(budget, shares) for t in r["windows"]}
        counts = [(self._kind(p), self.documents_with(self.shown[p])) for p in held]
        found = []
        for item in bins:
            low, high = item["documents_from"], item["documents_to"]
            inside = [kind for kind, n in counts if n >= low and (high is None or n <= high)]
            found.append(item | {kind: inside.count(kind) for kind in ("private", "shared")})
        return found

    def observed(self, budgets, shares, families=None):
        """The observed growth curve; steps that add no request are left out."""
        most, points = max(budgets), []
        for budget in sorted({*budgets, *(-(-most * step // STEPS) for step in range(1, STEPS + 1))}):
            point = self.counts(budget, shares, families)
            if not points or point["requests"] > points[-1]["requests"]:
                points.append(point)
        return points


def mismatches(report, recount, identifiers, shares):
    """Every count of a report that the recount does not give, as (where, what the report says, what it should)."""
    budgets, bins = [row["budget"] for row in report["budgets"]], report["passages_by_document_count"]
    pairs = {
        "low_entropy": (report["low_entropy"], [recount.filler(budget, shares) for budget in budgets]),
        "documents": (bins, recount.bins(bins, max(budgets), shares)),
    }
    for name, rows in {"all": report["budgets"], **report["families"]}.items():
        families = list(shares) if name == "all" else [name]
        for row in rows:
            pairs |= _of_row(f"{name} {row['budget']}", row, recount, identifiers, shares, families)
        curve = report["growth"][name]["observed"]
        points = recount.observed(budgets, shares, families)
        pairs[f"{name} growth"] = (curve, [{key: point[key] for key in curve[0]} for point in points])
    return [(where, said, right) for where, (said, right) in pairs.items() if said != right]


def _of_row(where, row, recount, identifiers, shares, families):
    counts, budget = recount.counts(row["budget"], shares, families), row["budget"]
    by_type = identifiers.counts(budget, shares, families)
    apart = [own["in_corpus"] for kind, own in by_type.items() if kind != "PERSON_SINGLE"]
    counts["identifiers_in_corpus"] = sum(apart)
    counts["reached"] = all(recount.tokens(family) >= shares[family] * budget for family in families)
    pairs = {f"{where} {key}": (row[key], value) for key, value in counts.items()}
    for kind in by_type.keys() | row["identifiers"].keys():
        for key in ("tagged", "in_corpus", "private"):
            said, right = (own.get(kind, {}).get(key, 0) for own in (row["identifiers"], by_type))
            pairs[f"{where} {kind} {key}"] = (said, right)
    return pairs


class IdentifierRecount:
    """Recounts the identifiers of a run: tagged anew, and looked for in every document one by one."""

    def __init__(self, recount, settings):
        self.recount = recount
        requests = [request for own in recount.by_family.values() for request in own]
        found = Tagger(settings).tag(request["text"] for request in requests)
        self.values = {
            id(request): {(one.type, one.value) for one in own}
            for request, own in zip(requests, found, strict=True)
        }
        texts = {text.decode(): copies for text, copies in recount.documents.items()}
        self.documents = {
            value: _documents_with(*value, texts) for value in sorted(set().union(*self.values.values()))
        }

    def counts(self, budget, shares, families=None):
        """`tagged`, `in_corpus` and `private` by type at one budget."""
        requests = self.recount.prefix(budget, shares, families)
        counts = defaultdict(Counter)
        for type_, value in set().union(*(self.values[id(request)] for request in requests)):
            group = "PERSON_SINGLE" if type_ == "PERSON" and " " not in value else type_
            documents = self.documents[type_, value]
            counts[group]["tagged"] += 1
            counts[group]["in_corpus"] += documents > 0
            counts[group]["private"] += 0 < documents <= self.recount.private
        return counts


def _documents_with(type_, value, texts):
    pattern = re.compile(_written(type_, value), re.IGNORECASE)
    return sum(copies for text, copies in texts.items() if pattern.search(text))


def _written(type_, value):
    """The ways in which the corpora of the tests write a value, whole words only."""
    if type_ == "PERSON":
        return r"(?<!\w)(?<!\w['-])" + r"\s+".join(map(re.escape, value.split())) + r"(?!\w)(?!['-](?!s\b)\w)"
    if type_ == "PHONE" and value.startswith("+44"):
        return r"(?<!\w)(?:\+44 ?(?:\(0\) ?)?|0044 ?|0)" + "[ -]?".join(value[3:]) + r"(?!\w)"
    if type_ in ("ACCOUNT_NUMBER", "SORT_CODE"):
        return r"(?<![\w+])(?<!\d[.-])" + "[ .-]?".join(value) + r"(?!\w|[.-]\d)"
    return rf"(?<![\w.@-]){re.escape(value)}(?![\w@]|[.-]\w)"


def _components(things, links):
    """Which things are joined by links, each named by one of them."""
    parent = {thing: thing for thing in things}

    def root(thing):
        while parent[thing] != thing:
            thing = parent[thing]
        return thing

    for first, second in links:
        parent[root(second)] = root(first)
    return {thing: root(thing) for thing in things}


def _shingles(text, size=5):
    plain = " ".join(text.decode("utf-8", errors="ignore").casefold().split())
    return {plain[i : i + size] for i in range(max(1, len(plain) - size + 1))}
