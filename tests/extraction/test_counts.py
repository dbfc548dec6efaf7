import json
from dataclasses import replace
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest

from extraction.counts import Found, IdentifierPlaces
from extraction.curves import growth_curves
from extraction.entries import count_budgets
from extraction.growth import DUPLICATES, FAR
from extraction.passages import form_passages
from extraction.places import Places
from tests.extraction.test_passages import brute_components, random_run

FAMILIES, SHARES = ("empty", "public"), {"empty": 0.75, "public": 0.25}
BUDGETS = [900, 100, 400, 100_000]


def found_of(tables) -> Found:
    places = Places.of([tables["windows"]], FAMILIES)
    passages = form_passages(places, tables["stretches"])
    clusters = [name[:1] for name in passages.ids]
    identifiers = IdentifierPlaces(
        ["phone_number", "person_name", "person_name", "PERSON_SINGLE"],
        np.array([0, 2, 7, 9]),
        np.array([0, 1, 1, 2, 3]),
        ["empty", "public", "empty", "empty", "empty"],
        np.array([0, 0, 7, 2, 2]),
        np.array([4, 0, 0, 1]),
        np.array([0, 0, 3, 0]),
    )
    return Found(
        tables["matches"],
        places,
        [tables["byte_windows"]],
        passages,
        clusters,
        identifiers,
        50,
        2,
        {"empty": 160, "public": 160},
    )


def brute(tables, found: Found, budget: int, families):
    """Count one budget from the rows, request by request."""
    rows = {(r["family"], r["number"]): r for r in tables["matches"].to_pylist()}
    inside = set()
    for family in families:
        total = 0
        for number in range(8):
            if total >= SHARES[family] * budget:
                break
            inside.add((family, number))
            total += rows[(family, number)]["generated_tokens"]
    windows = [r for r in tables["windows"].to_pylist() if (r["family"], r["number"]) in inside]
    held = {r["hash"] for r in windows}
    components = [min(hashes).hex() for hashes, _ in brute_components(tables) if hashes & held]
    kind = {name: kind for name, kind in zip(found.passages.ids, found.passages.kinds, strict=True)}
    kinds = {r["hash"]: r["kind"] for r in windows}
    text = [name for name in components if kind[name] != 0]
    return {
        "generated_tokens": sum(rows[key]["generated_tokens"] for key in inside),
        "requests": len(inside),
        "generated_bytes": sum(rows[key]["generated_bytes"] for key in inside),
        "extracted_tokens": sum(rows[key]["extracted_tokens"] for key in inside),
        "extracted_bytes": sum(rows[key]["extracted_bytes"] for key in inside),
        # one token is one byte here, so windows in bytes are the windows
        "distinct_byte_windows": sum(k != "low_entropy" for k in kinds.values()),
        "distinct_windows": sum(k != "low_entropy" for k in kinds.values()),
        "private_windows": sum(k == "private" for k in kinds.values()),
        "distinct_passages": len(text),
        "private_passages": sum(kind[name] == 1 for name in text),
        "clusters": len({name[:1] for name in text}),
    }, {
        "windows": sum(k == "low_entropy" for k in kinds.values()),
        "passages": len(components) - len(text),
        "tokens": sum(rows[key]["low_entropy_tokens"] for key in inside),
    }


@pytest.mark.parametrize("seed", range(6))
def test_every_count_agrees_with_a_recount(seed):
    tables = random_run(seed)
    found = found_of(tables)
    counts = count_budgets(found, SHARES, BUDGETS)
    assert [row["budget"] for row in counts["budgets"]] == sorted(BUDGETS)
    for place, budget in enumerate(sorted(BUDGETS)):
        expected, low = brute(tables, found, budget, FAMILIES)
        assert {name: counts["budgets"][place][name] for name in expected} == expected
        assert counts["low_entropy"][place] == {"budget": budget, **low}
        for family in FAMILIES:
            expected, _ = brute(tables, found, budget, [family])
            row = counts["families"][family][place]
            assert {name: row[name] for name in expected} == expected
    assert [row["reached"] for row in counts["budgets"]][-1] is False
    json.dumps(counts, allow_nan=False)


@pytest.mark.parametrize("seed", range(4))
def test_counts_never_fall_and_do_not_depend_on_order(seed):
    tables = random_run(seed)
    rng = np.random.default_rng(seed)
    shuffled = {name: t.take(rng.permutation(t.num_rows)) for name, t in tables.items()}
    counts = count_budgets(found_of(tables), SHARES, BUDGETS)
    assert counts == count_budgets(found_of(shuffled), SHARES, BUDGETS[::-1])
    for earlier, later in zip(counts["budgets"], counts["budgets"][1:], strict=False):
        for name, value in earlier.items():
            if isinstance(value, int) and name != "reached":
                assert value <= later[name], name


def test_identifiers_count_once_and_by_the_budget_that_first_gave_them():
    counts = count_budgets(found_of(random_run(0)), SHARES, [1, 100_000])
    first, last = counts["budgets"]
    assert first["identifiers"]["person_name"] == {
        "tagged": 1,
        "in_corpus": 1,
        "private": 1,
        "chance": 0,
        "in_control_text": 0,
    }
    assert first["identifiers"]["phone_number"] == {
        "tagged": 1,
        "in_corpus": 0,
        "private": 0,
        "chance": 1,
        "in_control_text": 0,
    }
    assert last["identifiers"]["person_name"] == {
        "tagged": 2,
        "in_corpus": 2,
        "private": 1,
        "chance": 0,
        "in_control_text": 1,
    }
    assert counts["families"]["public"][1]["identifiers"]["person_name"]["tagged"] == 1


def test_single_names_have_a_row_and_are_not_in_the_number_of_identifiers():
    first, last = count_budgets(found_of(random_run(0)), SHARES, [1, 100_000])["budgets"]
    assert first["identifiers"]["PERSON_SINGLE"]["in_corpus"] == 0
    assert last["identifiers"]["PERSON_SINGLE"]["in_corpus"] == 1
    assert (first["identifiers_in_corpus"], last["identifiers_in_corpus"]) == (1, 2)
    assert last["identifiers"]["PERSON_SINGLE"]["chance"] == 1
    assert (first["identifiers_by_chance"], last["identifiers_by_chance"]) == (1, 1)  # the telephone number's


def test_without_a_control_text_there_is_no_count_of_it():
    found = found_of(random_run(0))
    found = replace(found, identifiers=replace(found.identifiers, control_text=None))
    (row,) = count_budgets(found, SHARES, [100_000])["budgets"]
    assert {counts["in_control_text"] for counts in row["identifiers"].values()} == {None}


def test_estimates_over_all_families_are_null_with_a_reason():
    counts = count_budgets(found_of(random_run(0)), SHARES, [100_000])
    for name in ("unseen_mass", "chao2_windows", "unseen_mass_passages", "chao2_passages"):
        assert counts["budgets"][0][name]["estimate"] is None and counts["budgets"][0][name]["reason"]
        assert counts["families"]["empty"][0][name]["estimate"] is not None
    assert counts["budgets"][0]["extracted_share_interval"]["flag"]


def test_a_missing_or_repeated_request_is_refused():
    tables = random_run(0)
    matches = tables["matches"]
    for rows in ([0, 0, *range(1, 16)], [0, *range(2, 16)]):
        with pytest.raises(ValueError, match="missing or stand there twice"):
            count_budgets(found_of({**tables, "matches": matches.take(rows)}), SHARES, [100])


def test_nothing_found_is_counted_as_nothing():
    tables = random_run(0)
    nothing = {
        "matches": tables["matches"],
        "windows": tables["windows"].slice(0, 0),
        "stretches": tables["stretches"].slice(0, 0),
        "byte_windows": tables["byte_windows"].slice(0, 0),
    }
    found = found_of(nothing)
    counts = count_budgets(found, SHARES, [100, 400])
    assert counts["budgets"][1]["distinct_windows"] == counts["budgets"][1]["clusters"] == 0
    assert counts["families"]["empty"][1]["chao2_windows"]["reason"]
    assert growth_curves(found, SHARES, [100, 400])["empty"]["rarefied"] == []


def test_curves_end_in_the_counts():
    found = found_of(random_run(3))
    counts, curves = count_budgets(found, SHARES, [1200]), growth_curves(found, SHARES, [1200])
    for name, curve in curves.items():
        row = (counts["budgets"] if name == "all" else counts["families"][name])[0]
        assert {key: row[key] for key in curve["observed"][-1]} == curve["observed"][-1]
    curve = curves["empty"]
    assert curve["rarefied"][-1]["estimate"] == pytest.approx(
        counts["families"]["empty"][0]["distinct_windows"]
    )
    assert curve["rarefied_passages"][-1]["estimate"] == pytest.approx(
        counts["families"]["empty"][0]["distinct_passages"]
    )
    for key in ("extrapolated", "extrapolated_passages"):
        twice, tenfold = curve[key]
        assert tenfold["flag"] == FAR and tenfold["low"] is None and twice["low"] is not None
    twice, tenfold = curve["extrapolated"]
    assert twice["requests"] * 5 == tenfold["requests"] and tenfold["flag"] and tenfold["low"] is None
    assert not curves["all"]["rarefied"] and not curves["all"]["rarefied_passages"]
    json.dumps(curves, allow_nan=False)


def test_the_expected_passages_are_the_mean_over_all_smaller_runs():
    found = found_of(random_run(2))
    points = growth_curves(found, SHARES, [100_000])["public"]["rarefied_passages"]
    own = [set() for _ in range(8)]
    for place, number in enumerate(found.places.number):
        passage = found.passages.of_window[found.places.window[place]]
        if found.places.family[place] == 1 and found.passages.kinds[passage] != 0:
            own[number].add(passage)
    for point in points:
        sizes = [len(set().union(*chosen)) for chosen in combinations(own, point["requests"])]
        assert point["estimate"] == pytest.approx(np.mean(sizes))
        assert point["low"] <= point["estimate"] <= point["high"]
    assert len(points) == 8


def test_windows_in_bytes_are_counted_by_partition_and_family():
    tables = random_run(4)
    rows = sorted(tables["byte_windows"].to_pylist(), key=lambda row: row["hash"])
    cut = next(i for i in range(len(rows) // 2, len(rows)) if rows[i]["hash"] != rows[i - 1]["hash"])
    schema = tables["byte_windows"].schema
    parts = [pa.Table.from_pylist(own, schema=schema) for own in (rows[cut:], rows[:cut])]
    found = found_of(tables)
    split = replace(found, byte_windows=parts)
    assert count_budgets(split, SHARES, BUDGETS) == count_budgets(found, SHARES, BUDGETS)


def test_the_intervals_of_counts_are_around_them_and_warn_of_repeated_texts():
    tables = random_run(1)
    counts = count_budgets(found_of(tables), SHARES, [100_000])
    row = counts["budgets"][0]
    for name, interval in row["count_intervals"].items():
        assert interval["low"] <= interval["estimate"] == row[name] <= interval["high"]
    same = pa.array([b"x" * 16] * tables["matches"].num_rows, pa.binary(16))
    place = tables["matches"].schema.get_field_index("digest")
    repeated = {**tables, "matches": tables["matches"].set_column(place, "digest", same)}
    row = count_budgets(found_of(repeated), SHARES, [100_000])["budgets"][0]
    assert {interval["flag"] for interval in row["count_intervals"].values()} == {DUPLICATES}
