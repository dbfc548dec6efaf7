"""The report's `ranking`: what was put forward for checking, how good each score is, and what people confirmed."""

from collections.abc import Iterator

from pydantic import Field, FiniteFloat, NonNegativeInt

from pipelines.report.records import Rate, Record, Share
from pipelines.report.words import count, listing, score, times


class AtDepth(Record):
    """The first `depth` of a ranking, beside as many drawn at random.

    Attributes:
        depth: how many were looked at.
        precision: share of them that repeats training text.
        random: the same of as many drawn at random; the limits hold 95 % of such draws.
        recall: share of all that do which stands among them; null where nothing does.
        times_random: precision over that of a random choice; null where nothing repeats training text.
        beats_random: whether the precision is above those limits.
    """

    depth: NonNegativeInt
    precision: Rate
    random: Rate
    recall: Share | None
    times_random: FiniteFloat | None
    beats_random: bool


class AmongCandidates(Record):
    """How many of a score's candidates repeat training text: what to expect where it cannot be searched."""

    candidates: NonNegativeInt
    repeating: NonNegativeInt
    share: Rate | None


class ScoreCalibration(Record):
    """What exact matches say of one score.

    Attributes:
        generations: with a score.
        hits: of them, those that repeat training text.
        random: the share of these.
        at: the top at some depths.
        among_candidates: of the candidates that it put forward.
    """

    generations: NonNegativeInt
    hits: NonNegativeInt
    random: Rate
    at: list[AtDepth]
    among_candidates: AmongCandidates


class Calibration(Record):
    """Every score judged by exact matches; null with a reason where no corpus was searched."""

    by_score: dict[str, ScoreCalibration | None] | None
    caveat: str | None = None
    reason: str | None = None


class Confirmed(Record):
    """Verdicts of people: of the candidates, those checked (yes or no), not decided, and confirmed (yes)."""

    candidates: NonNegativeInt
    checked: NonNegativeInt
    unsure: NonNegativeInt
    confirmed: NonNegativeInt
    share: Rate | None


class Confirmation(Record):
    """All verdicts, and those on each score's candidates."""

    note: str
    all: Confirmed
    by_score: dict[str, Confirmed]


class Picking(Record):
    """How candidates were picked: `count` of each score and family, drawn from the first `among` (null: the first)."""

    count: NonNegativeInt
    among: NonNegativeInt | None
    seed: int


class Ranking(Record):
    """Generations ranked for people to check.

    Attributes:
        reference: the model that they were compared with.
        generations: how many were ranked.
        skipped_records: how many could not be read.
        candidates: how many were put forward, each counted once.
        picked_by_score: candidates of each score.
        without_score: generations that have no such score, as they are empty or too short.
        not_a_number: generations whose score is no finite number; they are never put forward.
        picking: how candidates were picked.
        direction: which end of a score is suspicious.
        calibration: how good each score is.
        confirmed: what people said; null before they did.
        limitations: sentences.
    """

    reference: str | None
    generations: NonNegativeInt
    skipped_records: NonNegativeInt
    candidates: NonNegativeInt
    picked_by_score: dict[str, NonNegativeInt]
    without_score: dict[str, NonNegativeInt]
    not_a_number: dict[str, NonNegativeInt]
    picking: Picking
    direction: str
    calibration: Calibration
    confirmed: Confirmation | None
    limitations: list[str] = Field(min_length=1)

    def judged(self) -> dict[str, ScoreCalibration]:
        """The scores that exact matches say something of."""
        found = self.calibration.by_score or {}
        return {name: own for name, own in found.items() if own is not None}

    def depths(self) -> list[int]:
        """The depths at which scores are judged."""
        return sorted({at.depth for own in self.judged().values() for at in own.at})


def better_than_random(ranking: Ranking) -> list[str]:
    """Which scores beat a random choice, and by how much: a sentence for each depth."""
    return list(_sentences(ranking))


def _sentences(ranking: Ranking) -> Iterator[str]:
    for depth in ranking.depths():
        rows = {name: at for name, own in ranking.judged().items() for at in own.at if at.depth == depth}
        winners = {name: at.times_random for name, at in rows.items() if at.beats_random}
        words = [
            f"{score(name)} ({times(ratio)})"
            for name, ratio in sorted(winners.items(), key=lambda item: -(item[1] or 0))
            if ratio is not None
        ]
        yield (
            f"Among the first {count(depth)}, more than at random repeat the corpus by {listing(words)}."
            if words
            else f"Among the first {count(depth)}, no score finds more than a random choice would."
        )
