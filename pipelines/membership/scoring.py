"""Reads texts through the models that membership scores need, and only as far as the wanted scores need them."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import dropwhile, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from extraction.errors import InputError
from extraction.membership.perturb import neighbours
from extraction.membership.scores import Floats, Readings, membership_scores, shadow_probabilities
from extraction.membership.shadows import Population
from extraction.model import ModelSettings, load_tokenizer, token_ids
from extraction.scoring import LogProbs, Scorer, Text, TokenScores
from index.pieces import ReadOptions
from index.sources import list_pieces, read_documents
from pipelines.membership.settings import GMINT, ScoreSettings

if TYPE_CHECKING:
    from pipelines.membership.gradients import GradientScore

PREFIX_RECORDS = 8
CHUNK = 512


@dataclass(frozen=True)
class ScoredText:
    """The scores of one record.

    Attributes:
        scores: by name, higher means member; NaN where the text has no token to score.
        tokens: that were scored.
        cut: tokens beyond the model's context, which were not.
    """

    scores: dict[str, float]
    tokens: int
    cut: int


@dataclass
class Reader:
    """A model with its tokenizer."""

    scorer: Scorer
    tokenizer: Any

    @classmethod
    def load(cls, settings: ModelSettings, device: str = "cpu") -> "Reader":
        """Load both.

        Raises:
            InputError: one cannot be loaded.
        """
        return cls(Scorer.load(settings, device), load_tokenizer(settings))

    def text(self, text: str, before: Sequence[int] = ()) -> Text:
        """Tokens as the tokenizer makes them for the model, an end token included where it adds one.

        Args:
            text: the record.
            before: token ids that stand between the start token and the text.
        """
        ids: list[int] = self.tokenizer.backend_tokenizer.encode(text).ids
        start = self.tokenizer.bos_token_id
        if start is None:  # then the first token is given and not scored
            return Text([*before, *(ids[:1] or [0])], ids[1:])
        # The tokenizer puts one there, and some texts bring theirs along.
        return Text([start, *before], list(dropwhile(lambda one: one == start, ids)))

    def read(self, texts: Sequence[str], whole: bool) -> Sequence[TokenScores | LogProbs]:
        """Read texts; `whole`: with what was expected at each place."""
        asked = [self.text(text) for text in texts]
        return self.scorer.score(asked) if whole else self.scorer.log_probs(asked)

    def log_probs(self, texts: Sequence[str], before: Sequence[int] = ()) -> list[Floats]:
        """Log-probabilities of each text's tokens."""
        return [one.log_probs for one in self.scorer.log_probs([self.text(text, before) for text in texts])]


@dataclass(frozen=True)
class Scoring:
    """Everything that the wanted scores need, loaded.

    Attributes:
        model: under test.
        wanted: names of scores.
        settings: how they are computed.
        reference: None where it is not wanted.
        shadows: the same.
        before: token ids of texts that are no members, for the conditional score.
        population: what is usual for texts that are no members; None where no shadow model is wanted.
        gradients: the gmint score; None where it is not wanted.
    """

    model: Reader
    wanted: frozenset[str]
    settings: ScoreSettings
    reference: Reader | None
    shadows: tuple[Reader, ...]
    before: tuple[int, ...]
    population: Population | None
    gradients: "GradientScore | None"

    @classmethod
    def load(
        cls, model: ModelSettings, settings: ScoreSettings, wanted: Sequence[str], device: str = "cpu"
    ) -> "Scoring":
        """Load what some scores need.

        Args:
            model: under test.
            settings: how they are computed.
            wanted: their names, out of `settings.names`.
            device: where all models run.

        Raises:
            InputError: a model cannot be loaded, or there are too few records beside the cohorts.
            SourceError: the records beside the cohorts cannot be read.
        """
        names, reader = frozenset(wanted), Reader.load(model, device)
        beside = partial(Reader.load, device=device)
        asked = names & {"lira", "rmia"}
        loaded = cls(
            model=reader,
            wanted=names,
            settings=settings,
            reference=beside(settings.reference) if settings.reference and "reference" in names else None,
            shadows=tuple(map(beside, settings.shadows)) if asked else (),
            before=_before(reader, settings.prefix) if settings.prefix and "conditional" in names else (),
            population=None,
            gradients=_gradients(model, settings) if GMINT in names else None,
        )
        if settings.population is None or not asked:
            return loaded
        return replace(loaded, population=loaded._population(settings.population))

    def score(self, texts: Sequence[str]) -> list[ScoredText]:
        """Score some texts; the scores of one do not depend on the others."""
        found = []
        gradients = self.gradients.scores(texts) if self.gradients else [math.nan] * len(texts)
        for text, (read, cut), own in zip(texts, self._read(texts), gradients, strict=True):
            scores = {**membership_scores(text, read, self.settings.k, self.population), GMINT: own}
            wanted = {name: scores[name] for name in scores if name in self.wanted}
            found.append(ScoredText(wanted, read.log_probs.size, cut))
        return found

    @property
    def _whole(self) -> bool:
        return "min_k_plus_plus" in self.wanted

    def _read(self, texts: Sequence[str]) -> Iterator[tuple[Readings, int]]:
        own = self.model.read(texts, self._whole)
        more = [self._beside(texts, name) for name in ("lowercase", "reference", "conditional")]
        copies, shadows = self._copies(texts), [shadow.log_probs(texts) for shadow in self.shadows]
        for n, one in enumerate(own):
            lower, reference, after = (None if found is None else found[n] for found in more)
            read = Readings(
                log_probs=one.log_probs,
                spread=one if isinstance(one, TokenScores) else None,
                lowercase=lower,
                reference=reference,
                neighbours=copies[n],
                conditional=after,
                shadows=[shadow[n] for shadow in shadows],
            )
            yield read, one.cut

    def _beside(self, texts: Sequence[str], name: str) -> list[Floats] | None:
        """The readings of one more pass; None where its score is not wanted."""
        if name not in self.wanted:
            return None
        if name == "lowercase":
            return self.model.log_probs([text.lower() for text in texts])
        if name == "conditional":
            return self.model.log_probs(texts, self.before)
        if self.reference is None:
            return None
        # In the arithmetic of the model's own reading: the last bits of another would pass for a score.
        return [one.log_probs for one in self.reference.read(texts, self._whole)]

    def _copies(self, texts: Sequence[str]) -> list[list[Floats]]:
        count = self.settings.neighbours if "neighbourhood" in self.wanted else 0
        found = self.model.log_probs([copy for text in texts for copy in neighbours(text, count)])
        return [found[n * count : (n + 1) * count] for n in range(len(texts))]

    def _population(self, source: Path) -> Population:
        texts = [text for _, text in records_of(source, ReadOptions()) if text]
        if len(texts) < 2:
            raise InputError(f"{source}: `population` needs two texts at least; a few hundred serve well")
        readings = []
        for start in range(0, len(texts), CHUNK):
            chunk = texts[start : start + CHUNK]
            shadows = [shadow.log_probs(chunk) for shadow in self.shadows]
            own = self.model.log_probs(chunk)
            readings += [Readings(own[n], shadows=[one[n] for one in shadows]) for n in range(len(chunk))]
        return Population.of(*shadow_probabilities([read for read in readings if read.log_probs.size]))


def records_of(source: Path, options: ReadOptions) -> Iterator[tuple[str, str]]:
    """Ids and texts of a file of records.

    Raises:
        SourceError: it cannot be read.
    """
    for batch in read_documents(list_pieces([source], options), options):
        yield from zip(batch.ids.to_pylist(), batch.texts.to_pylist(), strict=True)


def _gradients(model: ModelSettings, settings: ScoreSettings) -> "GradientScore | None":
    if settings.gradients is None:
        return None
    from pipelines.membership.gradients import GradientScore

    return GradientScore.trained(model, settings.gradients)


def _before(model: Reader, source: Path) -> tuple[int, ...]:
    texts = [text for _, text in islice(records_of(source, ReadOptions()), PREFIX_RECORDS)]
    ids = token_ids(model.tokenizer, "\n".join([*texts, ""]))
    if not ids:
        raise InputError(
            f"{source}: `prefix` holds no text; name a file of a few records that are no members"
        )
    return tuple(ids)
