"""The published table in the small: its data, its models, its sentences; a minute of it, and five."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from extraction.errors import InputError
from extraction.gmint.measure import Findings, Repeated
from extraction.gmint.settings import GmintMethod
from extraction.membership.intervals import Interval
from pipelines.gmint.config import INTRA, MIXED
from pipelines.gmint.findings import sentences
from pipelines.gmint.result import Cell
from pipelines.gmint.small import data
from pipelines.gmint.small.experiment import Experiment, audit_model, run_experiment
from pipelines.gmint.small.models import MODELS, untrained
from pipelines.gmint.table import in_markdown
from pipelines.membership.result import Counted

TINY = Experiment(
    models=("DistilBERT",),
    database="posts",
    counts=(60, 30),
    epochs=3,
    method=GmintMethod(width=16, splits=2, epochs=3),
)


def test_texts_have_topics_wrong_labels_and_realistic_lengths() -> None:
    drawn = data.make_texts("news", 2000, seed=1)
    assert drawn == data.make_texts("news", 2000, seed=1) != data.make_texts("news", 2000, seed=2)
    lengths = np.array([len(text.words) for text in drawn])
    assert 20 < np.median(lengths) < 28 and lengths.min() >= data.SHORTEST and lengths.max() <= data.LONGEST
    assert len({text.words for text in drawn}) == 2000
    words = data.vocabulary()
    assert len(set(words)) == len(words) == 16_403
    assert all(word.isalpha() for word in words[len(data.SPECIAL) :])
    assert max(max(text.words) for text in data.make_texts("posts", 500, seed=1)) < len(words)
    counts = np.bincount([text.label for text in drawn])
    assert counts.min() > 400
    assert right_topics(drawn) == pytest.approx(1 - data.WRONG_LABELS, abs=0.03)


def right_topics(drawn: list[data.Text]) -> float:
    """The share of texts whose label is the topic of their topic words."""
    first = len(data.SPECIAL) + data.COMMON + data.OWN
    found = []
    for text in drawn:
        topics = {(word - first) // data.OF_TOPIC for word in text.words if word >= first}
        assert len(topics) < 2  # no text is of two
        found += [text.label in topics] if topics else []
    return float(np.mean(found))


def test_models_are_of_the_published_kinds_and_have_a_million_weights_or_two() -> None:
    words = len(data.vocabulary())
    sizes = {name: sum(one.numel() for one in untrained(name, words, 0).parameters()) for name in MODELS}
    assert min(sizes.values()) > 1e6 and max(sizes.values()) < 1e7
    assert sizes["ELECTRA-Large"] > sizes["ELECTRA"] and sizes["BERT"] > sizes["DistilBERT"]


@pytest.mark.parametrize("model", ["DistilBERT", "XLNet", "BLSTM"])
def test_a_model_is_trained_and_audited(model: str, tmp_path: Path) -> None:
    [cell] = audit_model(replace(TINY, protocols=(INTRA,)), model, tmp_path / "gradients")
    assert not list(tmp_path.iterdir())  # texts can be guessed from gradients
    assert [one.samples_per_side for one in cell.findings] == [60, 30]
    assert cell.vmapped == (model != "BLSTM")
    assert cell.weights > 1e6
    assert 0 <= cell.findings[0].gradients.auc.low <= cell.findings[0].gradients.auc.high <= 1


def test_the_experiment_goes_on_where_it_stopped_and_its_table_says_all(tmp_path: Path) -> None:
    cells = run_experiment(TINY, tmp_path / "out", processes=1)
    written = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("DistilBERT.*")}
    assert run_experiment(TINY, tmp_path / "out", processes=1) == cells
    assert len(written) == 2 and all(path.stat().st_mtime_ns == written[path] for path in written)
    with pytest.raises(InputError, match="another `epochs`"):
        run_experiment(replace(TINY, epochs=4), tmp_path / "out", processes=1)
    assert [cell.protocol for cell in cells] == [INTRA, MIXED]
    said = in_markdown(cells)
    for part in ("Intra-database", "Mixed-database", "permuted labels", "more samples help", "embeddings"):
        assert part in said


def repeated(auc: float) -> Repeated:
    return Repeated(Interval(auc, auc - 0.02, auc + 0.02, "repeated splits"), (auc,), (1.0,), (3,))


def cell(model: str, weights: int, aucs: dict[int, float], embeddings: float = 0.5) -> Cell:
    findings = tuple(
        Findings(
            samples_per_side=count,
            gradients=repeated(auc),
            permuted=repeated(0.5),
            untrained=repeated(0.5),
            embeddings=repeated(embeddings),
            words=None,
            loss=Interval(0.9, 0.88, 0.92, ""),
            differences=(),
        )
        for count, auc in aucs.items()
    )
    counted = Counted(2500, 2500, {})
    return Cell(model, "DBPedia", INTRA, weights, (), 1, (), True, counted, counted, {}, findings)


def test_what_is_said_of_the_papers_findings_is_what_was_measured() -> None:
    cells = [
        cell("ELECTRA", 10, {2500: 0.90, 750: 0.85}),
        cell("ELECTRA-Large", 20, {2500: 0.88, 750: 0.80}),
        cell("BLSTM", 5, {2500: 0.80, 750: 0.82}, embeddings=0.9),
    ]
    said = sentences(cells)
    assert said[0].startswith("intra-database: more samples help in 2 of 3: from 750 to 2,500 samples a side")
    assert "-0.020 to +0.080, +0.037 on average" in said[0]
    assert "larger models leak more in 0 of 1 pairs of a kind: the AUC changes by -0.020" in said[1]
    assert "rank correlation of +0.50" in said[2]
    assert "gradients beat embeddings in 4 of 6, in 4 beyond both intervals" in said[3]
    said = in_markdown(cells)
    assert "| ELECTRA (0.0 M) | DBPedia | 0.900 (0.88 to 0.92) | 0.850 (0.83 to 0.87) |" in said
    assert "|  | the paper | 0.998 | 0.996 |" in said


@pytest.mark.slow
def test_five_minutes_of_the_table(tmp_path: Path) -> None:
    """All models at a fifth of the samples: what they learnt by heart shows, and no control says otherwise."""
    experiment = Experiment(protocols=(INTRA,), counts=(500, 250), epochs=40)
    cells = run_experiment(experiment, tmp_path / "out", processes=2)
    assert [cell.model for cell in cells] == list(MODELS)
    for one in cells:
        found = one.findings[0]
        assert found.loss.low > 0.6, one.model
        assert found.gradients.auc.low > 0.5, one.model
        assert one.holds == (), one.model
    assert "The paper's findings here" in in_markdown(cells)
