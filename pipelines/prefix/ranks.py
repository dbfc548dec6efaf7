"""Plays reconstruction and inference on Ray: what fills a masked sentence, by the perplexity of the whole sentence."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from extraction.engines.settings import ModelSettings, TransformersSettings
from extraction.games.filling import Filler
from extraction.games.ranking import SentenceReader, judged, rank_of
from extraction.games.sentences import Masked, candidate_in
from extraction.identifiers import Tagger
from extraction.identifiers.settings import IdentifierSettings
from extraction.model import load_tokenizer
from extraction.token_bytes import TokenBytes
from pipelines.parts import PartStore
from pipelines.pool import Facts
from pipelines.prefix.config import Games
from pipelines.prefix.readings import load_scorer
from pipelines.prefix.sentences import MASKED_SCHEMA, seed_of

GAMES = ("reconstruction", "inference")
RANK_SCHEMA = pa.schema(
    [
        ("sentence", pa.int64()),
        ("known", pa.bool_()),
        *((f"{game}_{column}", pa.int32()) for game in GAMES for column in ("rank", "candidates")),
        ("not_a_number", pa.bool_()),
        ("too_long", pa.bool_()),
    ]
)
Candidates = dict[str, tuple[str, bool]]
"""By normalised value: a spelling, and whether it is the true one."""


@dataclass(frozen=True)
class RankJob:
    """Ranks the candidates of one part of sentences after another with one model.

    Attributes:
        model: what ranks, and what wrote the samples.
        engine: how it is run.
        settings: how identifiers are tagged.
        games: how many samples each sentence has, and a masked model.
        seed: of the masked model's draws.
        before: special tokens in front of every text.
        sentences: the sentences.
        samples: generations of the reconstruction requests.
        ranks: where the ranks go.
    """

    model: ModelSettings
    engine: TransformersSettings
    settings: IdentifierSettings
    games: Games
    seed: int
    before: tuple[int, ...]
    sentences: PartStore
    samples: PartStore
    ranks: PartStore

    def start(self) -> Callable[[str], Facts]:
        """Load model and tagger in the worker's own process."""
        tokenizer = load_tokenizer(self.model)
        reader = SentenceReader(load_scorer(self.model, self.engine), tokenizer, self.before)
        filler = Filler.load(self.games.masked, self.engine.device) if self.games.masked else None
        table = TokenBytes.from_tokenizer(tokenizer)
        player = Player(reader, Tagger(self.settings), table, filler, self.games.samples, self.seed)

        def process(name: str) -> Facts:
            rows = self.sentences.read(name).to_pylist()
            written = self._written([row["sentence"] for row in rows])
            found = [player.play(row, written.get(row["sentence"], [])) for row in rows]
            self.ranks.publish(
                name, pa.Table.from_pylist(found, schema=RANK_SCHEMA), {"sentences": len(found)}
            )
            return {}

        return process

    def _written(self, sentences: Sequence[int]) -> dict[int, list[list[int]]]:
        """The samples of some sentences that follow each other, those that failed left out."""
        written: dict[int, list[list[int]]] = {}
        if not sentences:
            return written
        low, high = sentences[0] * self.games.samples, (sentences[-1] + 1) * self.games.samples
        inside = (pc.field("number") >= low) & (pc.field("number") < high)
        for name in self.samples.complete():
            table = self.samples.read(name, ["number", "token_ids", "finish_reason"])
            for row in table.filter(inside).to_pylist():
                if row["finish_reason"] != "failed":
                    written.setdefault(row["number"] // self.games.samples, []).append(row["token_ids"])
        return written


@dataclass(frozen=True)
class Player:
    """Plays both games with one model.

    Attributes:
        reader: the model.
        tagger: finds the identifiers that it wrote.
        table: bytes of its tokens.
        filler: a masked model that proposes candidates too; None: there is none.
        fills: candidates that it proposes for a sentence.
        seed: of its draws.
    """

    reader: SentenceReader
    tagger: Tagger
    table: TokenBytes
    filler: Filler | None
    fills: int
    seed: int

    def play(self, row: dict[str, Any], samples: Sequence[Sequence[int]]) -> dict[str, Any]:
        """Play one sentence, a row of `SENTENCE_SCHEMA`; gives a row of `RANK_SCHEMA`."""
        masked = Masked(**{name: row[name] for name in MASKED_SCHEMA.names})
        written = self._candidates(masked, samples, row["sentence"])
        lists = {
            "reconstruction": (
                [text for text, _ in written.values()],
                [true for _, true in written.values()],
            ),
            "inference": (row["candidates"], row["true"]),
        }
        found: dict[str, Any] = {"sentence": row["sentence"], "known": row["known"]}
        found |= {"not_a_number": False, "too_long": False}
        for game, (candidates, true) in lists.items():
            read = self.reader.read(masked, candidates)
            lost = bool(np.isnan(read.perplexities).any())
            found["not_a_number"] |= lost
            found["too_long"] |= read.too_long
            found[f"{game}_rank"] = None if lost or read.too_long else rank_of(true, read.perplexities)
            found[f"{game}_candidates"] = len(candidates)
        return found

    def _candidates(self, masked: Masked, samples: Sequence[Sequence[int]], sentence: int) -> Candidates:
        """What the models wrote in place of the mask: each value once, spelt as it first was."""
        left = masked.left.rstrip(" ")
        texts = [left + self.table.decode(tokens) for tokens in samples]
        if self.filler is not None:
            own = seed_of(self.seed, "masked", sentence)
            filled = self.filler.fill(masked.left, masked.right, self.fills, own)
            texts += [f"{masked.left}{text}{masked.right}" for text in filled]
        found: Candidates = {}
        different = list(dict.fromkeys(texts))
        for text, findings in zip(different, self.tagger.tag(different), strict=True):
            one = candidate_in(text, len(left), masked.type, findings)
            if one is not None:
                found.setdefault(one.value, (one.text, one.value == masked.value))
        return found


def games_section(ranks: PartStore, tops: Sequence[int], sentences: int) -> dict[str, Any]:
    """What the ranks of one model say: each game over all sentences, and over those that are news to the attacker.

    Raises:
        ValueError: a sentence is missing or stands there twice.
    """
    table = ranks.read_all(RANK_SCHEMA)
    if table["sentence"].to_pylist() != list(range(sentences)):
        raise ValueError("sentences are missing or stand there twice")
    whole = table.filter(pc.invert(table["too_long"]))
    usable = whole.filter(pc.invert(whole["not_a_number"]))
    section: dict[str, Any] = {
        "too_long": table.num_rows - whole.num_rows,
        "not_a_number": whole.num_rows - usable.num_rows,
    }
    for game in GAMES:
        chosen = {"all": usable, "never_seen": usable.filter(pc.invert(usable["known"]))}
        section[game] = {name: _judged(own, game, tops) for name, own in chosen.items()}
    return section


def _judged(table: pa.Table, game: str, tops: Sequence[int]) -> dict[str, Any] | None:
    ranks, candidates = (_integers(table[f"{game}_{column}"]) for column in ("rank", "candidates"))
    found = judged(ranks, candidates, tops, truth_is_given=game == "inference")
    return None if found is None else asdict(found)


def _integers(column: pa.ChunkedArray) -> NDArray[np.int64]:
    return np.asarray(column.to_numpy(), dtype=np.int64)
