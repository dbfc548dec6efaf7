"""The gradient score of a record: a MINT model's, trained on records beside the cohorts."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from extraction.errors import InputError
from extraction.gmint.features import Compression, write_features
from extraction.gmint.gradients import Differentiated
from extraction.gmint.layers import chosen_parameters
from extraction.gmint.mint import Mint, train_mint
from extraction.gmint.samples import NEXT_TOKEN, SHORTEST, Sample
from extraction.gmint.settings import GmintMethod
from extraction.gmint.splits import joined_groups, training_split
from extraction.gmint.texts import Encoder
from extraction.membership.overlap import Identity, crossing
from extraction.model import ModelSettings, load_model, load_tokenizer
from index.pieces import ReadOptions
from pipelines.membership.scoring import records_of
from pipelines.membership.settings import GradientSettings

NEAR_DUPLICATE = 0.7
SEED = 0  # a score is a function of the model and of the records beside the cohorts, whoever asks


@dataclass(frozen=True)
class GradientScore:
    """Scores records by the gradient of the model's own loss on each; higher means member.

    Attributes:
        of: the model, and what of it is differentiated.
        encoder: of texts, for the model.
        compression: of gradients into rows.
        mint: the MINT model.
        known: texts that it was trained on.
    """

    of: Differentiated
    encoder: Encoder
    compression: Compression
    mint: Mint
    known: tuple[str, ...]

    @classmethod
    def trained(cls, model: ModelSettings, settings: GradientSettings) -> "GradientScore":
        """Load the model, and train a MINT model on its gradients.

        Args:
            model: under test.
            settings: the records beside the cohorts, and the choices of the method.

        Raises:
            InputError: the model cannot be loaded or has no such layers, or there are too few records.
            SourceError: the records cannot be read.
        """
        loaded, tokenizer = load_model(model, attn_implementation="eager"), load_tokenizer(model)
        layers = chosen_parameters(loaded, settings.method.layers)
        of = Differentiated(loaded, layers, NEXT_TOKEN, tokenizer.pad_token_id or 0)
        encoder = Encoder.of(loaded, tokenizer, causal=True)
        members, others = (_texts(path) for path in (settings.members, settings.nonmembers))
        known = [*members, *others]
        samples = [encoder.sample(text) for text in known]
        mint = _trained(of, samples, known, len(members), settings.method)
        return cls(of, encoder, settings.method.compression(SEED), mint, tuple(known))

    def scores(self, texts: Sequence[str]) -> list[float]:
        """Score some texts; NaN where one has no token to score.

        Raises:
            InputError: some are, nearly, among those that the MINT model was trained on.
        """
        self._refuse_known(texts)
        samples = [self.encoder.sample(text) for text in texts]
        long = [n for n, sample in enumerate(samples) if len(sample.tokens) >= SHORTEST]
        found = np.full(len(texts), np.nan)
        if long:
            rows = _rows(self.of, [samples[n] for n in long], self.compression)
            found[long] = self.mint.scores(rows, np.arange(len(long)))
        return [float(one) for one in found]

    def _refuse_known(self, texts: Sequence[str]) -> None:
        known = [Identity(f"known {n}", None, text) for n, text in enumerate(self.known)]
        asked = [Identity(f"asked {n}", None, text) for n, text in enumerate(texts)]
        both = crossing(known, asked, NEAR_DUPLICATE)[1]
        if both:
            raise InputError(
                f"scoring.gradients: {len(both):,} records of the cohorts are, nearly, among those that the score is "
                "learnt from; take them out of one of the two"
            )


def _texts(path: Path) -> list[str]:
    texts = [text for _, text in records_of(path, ReadOptions()) if text.strip()]
    if not texts:
        raise InputError(f"{path}: no record in it to learn the gmint score from; name a file of records")
    return texts


def _trained(
    of: Differentiated, samples: Sequence[Sample], texts: Sequence[str], members: int, method: GmintMethod
) -> Mint:
    """Train a MINT model; the first so many samples are members."""
    if any(len(sample.tokens) < SHORTEST for sample in samples):
        raise InputError("scoring.gradients: a text of its records has no token to score; leave it out")
    member = np.arange(len(samples)) < members
    groups = joined_groups(texts, [None] * len(texts), NEAR_DUPLICATE)
    rows = _rows(of, samples, method.compression(SEED))
    return train_mint(rows, member, training_split(member, groups, SEED), method.training(SEED))


def _rows(of: Differentiated, samples: Sequence[Sample], compression: Compression) -> NDArray[np.float32]:
    """Gradients as rows of a file, which has no name any more: it goes when nobody looks at the rows."""
    with TemporaryDirectory(prefix="gmint-") as folder:
        path = Path(folder) / "gradients.npy"
        write_features(of, samples, path, compression)
        rows: NDArray[np.float32] = np.load(path, mmap_mode="r")
    return rows
