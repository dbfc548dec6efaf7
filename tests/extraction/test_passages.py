import numpy as np
import pyarrow as pa
import pytest

from extraction.passages import PASSAGE_SCHEMA, form_passages, passage_table
from extraction.places import Places
from extraction.windows import KINDS
from tests.extraction.small_corpus import SmallCorpus, match_all, rule
from tests.extraction.test_windows import words

DISCLAIMER, FIRST, SECOND = words(40, 21), words(40, 22), words(40, 23)


def passages_of(tables, families=("empty",)):
    places = Places.of([tables["windows"]], families)
    return places, form_passages(places, tables["stretches"])


def test_one_text_three_times_is_three_generations_one_passage_one_set_of_windows():
    text = FIRST[:120]
    tables = match_all(SmallCorpus(FIRST), {"empty": [text, b"xx" + text, text + b"yy"]}, rule())
    places, passages = passages_of(tables)
    assert len(places.window) == 3 * 71 and len(places.hashes) == 71
    assert passages.requests.tolist() == [3] and passages.texts == [text]
    assert passages.request_ids == [["empty-000000000", "empty-000000001", "empty-000000002"]]
    assert tables["matches"]["extracted_tokens"].to_pylist() == [120, 120, 120]


def test_a_licence_with_one_private_line_gives_one_private_and_one_shared_passage():
    letter = FIRST[:70] + b"\n" + DISCLAIMER
    corpus = SmallCorpus(letter, *[DISCLAIMER] * 5)
    _, passages = passages_of(match_all(corpus, {"empty": [letter]}, rule()))
    kinds = {KINDS[kind]: text for kind, text in zip(passages.kinds, passages.texts, strict=True)}
    assert len(passages.ids) == 2 and kinds["shared"] == DISCLAIMER
    assert kinds["private"].startswith(FIRST[:70])


def test_two_letters_that_end_in_one_disclaimer_stay_two_private_passages():
    letters = [FIRST + b"\n" + DISCLAIMER, SECOND + b"\n" + DISCLAIMER]
    corpus = SmallCorpus(*letters, *[b"Another letter.\n" + DISCLAIMER] * 3)
    _, passages = passages_of(match_all(corpus, {"empty": letters}, rule()))
    assert sorted(KINDS[kind] for kind in passages.kinds) == ["private", "private", "shared"]
    shared = [KINDS[kind] for kind in passages.kinds].index("shared")
    assert passages.requests[shared] == 2


def test_halves_in_neighbouring_generations_count_nothing():
    tables = match_all(SmallCorpus(FIRST), {"empty": [FIRST[:45], FIRST[45:90]]}, rule())
    assert tables["windows"].num_rows == 0
    assert passages_of(tables)[1].ids == []


def test_overlapping_pieces_are_joined_and_shown_by_the_longest():
    pieces = [FIRST[0:90], FIRST[30:170], FIRST[110:200]]
    _, passages = passages_of(match_all(SmallCorpus(FIRST), {"empty": pieces}, rule()))
    assert passages.texts == [FIRST[30:170]] and passages.tokens.tolist() == [140]
    assert passages.windows.tolist() == [151] and passages.requests.tolist() == [3]
    apart = [FIRST[0:90], FIRST[90:200]]  # no window in common
    assert len(passages_of(match_all(SmallCorpus(FIRST), {"empty": apart}, rule()))[1].ids) == 2


def random_run(seed: int):
    rng = np.random.default_rng(seed)
    texts = [words(30, 30 + i) for i in range(4)]
    corpus = SmallCorpus(*texts, texts[0] + texts[1], texts[0], b"-" * 90)
    pool = [*texts, texts[0] + texts[1], b"-" * 70, b"nothing of the kind"]
    return match_all(corpus, {f: [_cut(rng, pool) for _ in range(8)] for f in ("empty", "public")}, rule())


def _cut(rng, pool) -> bytes:
    text = pool[rng.integers(len(pool))]
    start = int(rng.integers(0, max(1, len(text) - 60)))
    return text[start : start + int(rng.integers(40, 160))]


@pytest.mark.parametrize("seed", range(8))
def test_components_against_a_recount_in_any_order(seed):
    tables, families = random_run(seed), ("empty", "public")
    places, passages = passages_of(tables, families)
    rng = np.random.default_rng(seed)
    shuffled = {n: tables[n].take(rng.permutation(tables[n].num_rows)) for n in ("windows", "stretches")}
    again = passages_of(shuffled, families)[1]
    for name in ("ids", "texts", "families", "request_ids"):
        assert getattr(passages, name) == getattr(again, name)
    assert passages.of_window.tolist() == again.of_window.tolist()
    assert passages.requests.tolist() == again.requests.tolist()
    groups = brute_components(tables)
    named = {min(hashes).hex(): (hashes, requests) for hashes, requests in groups}
    assert set(named) == set(passages.ids)
    for name, count, windows in zip(passages.ids, passages.requests, passages.windows, strict=True):
        assert (len(named[name][1]), len(named[name][0])) == (count, windows)


def brute_components(tables):
    """Join sets of window hashes until none overlap."""
    rows = {(r["family"], r["number"], r["start"]): r["hash"] for r in tables["windows"].to_pylist()}
    groups = []
    for stretch in tables["stretches"].to_pylist():
        request = (stretch["family"], stretch["number"])
        hashes = {rows[(*request, stretch["start"] + i)] for i in range(stretch["windows"])}
        requests = {request}
        for other in [g for g in groups if g[0] & hashes]:
            groups.remove(other)
            hashes, requests = hashes | other[0], requests | other[1]
        groups.append((hashes, requests))
    return groups


def test_parts_that_do_not_belong_together_are_refused():
    tables = random_run(1)
    families = ("empty", "public")
    with pytest.raises(ValueError, match="read twice"):
        Places.of([pa.concat_tables([tables["windows"], tables["windows"]])], families)
    changed = tables["windows"].to_pylist()
    changed[0]["document_count"] += 1
    doubled = [*changed, {**tables["windows"].to_pylist()[0], "number": 99}]
    with pytest.raises(ValueError, match="two kinds or document counts"):
        Places.of([pa.Table.from_pylist(doubled, schema=tables["windows"].schema)], families)
    with pytest.raises(ValueError, match="different parts"):
        form_passages(Places.of([tables["windows"].slice(0, 20)], families), tables["stretches"])
    with pytest.raises(ValueError, match="different parts"):
        form_passages(Places.of([tables["windows"]], families), tables["stretches"].slice(0, 1))
    with pytest.raises(ValueError, match="does not have"):
        Places.of([tables["windows"]], ("empty",))


@pytest.mark.parametrize("seed", range(3))
def test_windows_in_partitions_are_those_of_one_table(seed):
    tables, families = random_run(seed), ("empty", "public")
    rows = sorted(tables["windows"].to_pylist(), key=lambda row: row["hash"])
    cut = next(i for i in range(len(rows) // 3, len(rows)) if rows[i]["hash"] != rows[i - 1]["hash"])
    schema = tables["windows"].schema
    parts = [pa.Table.from_pylist(own, schema=schema) for own in (rows[:cut], [], rows[cut:])]
    whole, merged = Places.of([tables["windows"]], families), Places.of(parts, families)
    for name in ("family", "number", "start", "window", "hashes", "kinds", "documents"):
        assert np.array_equal(getattr(whole, name), getattr(merged, name)), name
    with pytest.raises(ValueError, match="do not ascend"):
        Places.of(parts[::-1], families)


def test_the_table_has_the_declared_columns_and_whole_characters():
    text = ("é" * 3 + "Grüße an die Kundschaft, wir öffnen im März früher als üblich, schöne Tage!").encode()
    tables = match_all(SmallCorpus(text), {"empty": [text[1:-1]]}, rule())
    _, passages = passages_of(tables)
    one = np.array([1])
    table = passage_table(passages, [None], ["c"], one, one, [["doc"]])
    assert table.schema.equals(PASSAGE_SCHEMA)
    row = table.to_pylist()[0]
    assert row["bytes"] == len(text) - 2 and row["text"].startswith("éé") and "\ufffd" not in row["text"]
    assert row["first_budget"] is None and row["in_control"] is None and row["low_entropy"] is False
