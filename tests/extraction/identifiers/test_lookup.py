"""Looking values up in a corpus: whole words, whatever the formatting, exact counts."""

import pickle
import random
import re

import pytest

from extraction.identifiers import IdentifierSettings
from extraction.identifiers.lookup import CorpusLookup
from extraction.identifiers.settings import UserRecogniser


def places(type_, value, text, **settings):
    lookup = CorpusLookup([(type_, value)], IdentifierSettings(**settings))
    return int(lookup.scan([(["a"], text if isinstance(text, bytes) else text.encode())]).occurrences[0])


PLACES = [
    ("ACCOUNT_NUMBER", "12345678", "acct 1234 5678, acct 12345678; 12-34-56-78", 3),
    ("ACCOUNT_NUMBER", "12345678", "1234\u00a05678 1234\u20135678", 2),
    (
        "ACCOUNT_NUMBER",
        "12345678",
        "\uff11\uff12\uff13\uff14\uff15\uff16\uff17\uff18 \u0661\u0662\u0663\u0664\u0665\u0666\u0667\u0668",
        2,
    ),
    ("ACCOUNT_NUMBER", "12345678", "112345678 123456780 x12345678 12345678x _12345678", 0),
    ("ACCOUNT_NUMBER", "12345678", "1234 5678 9012 3456", 0),
    ("ACCOUNT_NUMBER", "12345678", "9.12345678 12345678.5 12345678-9", 0),
    ("ACCOUNT_NUMBER", "12345678", "a,12345678,b,12345678,7", 2),
    ("ACCOUNT_NUMBER", "12345678", "sum 1234, 5678 and 1234\n5678", 0),
    ("SORT_CODE", "123456", "12-34-56 12345678", 1),
    ("CREDIT_CARD", "4111111111111111", "2026 4111 1111 1111 1111 and 4111111111111111.", 2),
    ("CREDIT_CARD", "4111111111111111", "\u5361\u53f74111111111111111\u5417", 1),
    ("PHONE", "+442079460958", "+44 20 7946 0958, 020 7946 0958, +44 (0)20 7946 0958, 0044 2079460958", 4),
    ("PHONE", "+442079460958", "20 7946 0958; 020 7946 09581; 1020 7946 0958", 0),
    ("PHONE", "+44054944774", "054 944774, +44 054 944774", 2),
    (
        "PHONE",
        "+12125550147",
        "212-555-0147 (212) 555-0147 +1 212 555 0147 1-212-555-0147 001 212 555 0147",
        5,
    ),
    ("PHONE", "+12125550147", "+212 555 0147 22125550147", 0),
    ("IBAN", "GB82WEST12345698765432", "gb82 west 1234 5698 7654 32 GB82WEST12345698765432", 2),
    ("IBAN", "GB82WEST12345698765432", "GB82WEST12345698765432x", 0),
    ("EMAIL", "j.alder@example.com", "J.Alder@Example.com, <j.alder@example.com>. j.alder@example.com", 3),
    (
        "EMAIL",
        "j.alder@example.com",
        "'j.alder@example.com' **j.alder@example.com** `j.alder@example.com`",
        3,
    ),
    (
        "EMAIL",
        "j.alder@example.com",
        "j.alder@example.com-based, j.alder@example.com-x.org o'j.alder@example.com",
        1,
    ),
    ("EMAIL", "j.alder@example.com", "aj.alder@example.com x.j.alder@example.com j.alder@example.com.uk", 0),
    ("PERSON", "margaret thornbury", "Margaret Thornbury MARGARET  THORNBURY's\nmargaret\n   thornbury", 3),
    (
        "PERSON",
        "margaret thornbury",
        "Margaret Thornburys; Margaret Thornbury-Smith; Ann-Margaret Thornbury",
        0,
    ),
    ("PERSON", "margaret thornbury", "Margaret, Thornbury", 0),
    ("PERSON", "jos\u00e9 n\u00fa\u00f1ez", "Jose\u0301 Nu\u0301n\u0303ez and JOS\u00c9 N\u00da\u00d1EZ", 2),
    ("PERSON", "strauss", "Strau\u00df STRAUSS strauss\u2019s", 3),
    ("PERSON", "o'hara", "O'Hara O\u2019HARA", 2),
    ("PERSON", "j. smith", "J. Smith, J Smith", 2),
    (
        "DATE_OF_BIRTH",
        "1961-04-17",
        "17 April 1961; 17/04/1961; April 17th, 1961; 17.4.61; 19610417; 04/17/1961",
        6,
    ),
    ("DATE_OF_BIRTH", "1961-04-17", "1961-04-17T00:00:00Z", 1),
    ("DATE_OF_BIRTH", "1961-04-05", "04/05/1961", 0),
    ("IP_ADDRESS", "192.0.2.1", "192.0.2.1. http://192.0.2.1:80", 2),
    ("IP_ADDRESS", "192.0.2.1", "1.192.0.2.1 192.0.2.17 192.0.2.1.5", 0),
    (
        "IP_ADDRESS",
        "2001:db8::1",
        "2001:0db8:0000:0000:0000:0000:0000:0001 [2001:DB8::1] 2001:db8:0:0:0:0:0:1",
        3,
    ),
    ("IP_ADDRESS", "2001:db8::1", "2001:db8::1:1 1:2001:db8::1", 0),
    ("IP_ADDRESS", "::1", "ping ::1", 1),
    ("SECRET", "AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE akiaiosfodnn7example", 1),
    ("SECRET", "-----BEGIN PRIVATE KEY-----", "x\n-----BEGIN PRIVATE KEY-----\n", 1),
    ("POSTAL_ADDRESS", "12 orchard lane ex1 2ab", "12 Orchard Lane,\nEX1 2AB", 1),
]


@pytest.mark.parametrize(("type_", "value", "text", "expected"), PLACES)
def test_places(type_, value, text, expected):
    assert places(type_, value, text) == expected
    # The same in a document that is not ASCII takes the other way through the scan.
    assert places(type_, value, "\u201cx\u201d \n\n" + text + "\n\n\u00e9") == expected


def test_month_first():
    assert places("DATE_OF_BIRTH", "1961-04-05", "04/05/1961", day_first=False) == 1


def test_own_format():
    rule = UserRecogniser(name="HOSPITAL_NUMBER", pattern="[A-Z][0-9]{7}")
    text = "H1234567 h-123-4567 XH1234567 H12345678 H 1234567"
    assert places("HOSPITAL_NUMBER", "H1234567", text, recognisers=(rule,)) == 3


def test_documents_places_and_ids():
    lookup = CorpusLookup([("PERSON", "ann lee"), ("PERSON", "bo li"), ("PERSON", "no one")])
    counts = lookup.scan(
        [(["d3", "d1"], b"Ann Lee and ann  lee, Bo Li"), (["d2"], b"Ann Lee"), (["d4"], b"Annabel Leeds")]
    )
    assert counts.documents.tolist() == [3, 2, 0]
    assert counts.occurrences.tolist() == [5, 2, 0]
    assert counts.example_ids == [["d1", "d2", "d3"], ["d1", "d3"], []]
    assert (counts.scanned_documents, counts.scanned_bytes) == (4, 27 + 7 + 13)


def test_merging_is_scanning_together():
    documents = [([f"d{number:02}"], f"{'Ann Lee ' * (number % 4)}.".encode()) for number in range(40)]
    lookup = CorpusLookup([("PERSON", "ann lee")])
    together = lookup.scan(documents)
    random.Random(1).shuffle(documents)
    copy = pickle.loads(pickle.dumps(lookup))
    parts = [copy.scan(documents[start::3]) for start in range(3)]
    merged = parts[2] + parts[0] + parts[1]
    assert merged.documents.tolist() == together.documents.tolist() == [30]
    assert merged.occurrences.tolist() == together.occurrences.tolist() == [60]
    assert merged.example_ids == together.example_ids and len(merged.example_ids[0]) == 10


def test_no_values_and_no_documents():
    assert CorpusLookup([]).scan([(["a"], b"Ann Lee 12345678")]).documents.tolist() == []
    assert CorpusLookup([("PERSON", "ann lee")]).scan([]).documents.tolist() == [0]


def test_pieces_of_a_long_document_agree_with_brute_force(monkeypatch):
    monkeypatch.setattr("extraction.identifiers.lookup._PIECE", 100)
    monkeypatch.setattr("extraction.identifiers.lookup._LEAD", 40)
    monkeypatch.setattr("extraction.identifiers.lookup._TAIL", 60)
    choose = random.Random(7)
    words = ["ann", "lee", "Ann Lee", "\u00e9ann", "12345678", "1234 5678", "x12345678", "\u201c", "\u5361"]
    text = "\u00e9 " + ", ".join(choose.choice(words) for _ in range(4000))
    lookup = CorpusLookup([("PERSON", "ann lee"), ("ACCOUNT_NUMBER", "12345678")])
    counts = lookup.scan([(["a"], text.encode())])
    assert counts.occurrences[0] == len(re.findall(r"(?<!\w)ann lee(?!\w)", text, re.IGNORECASE))
    assert counts.occurrences[1] == len(re.findall(r"(?<!\w)1234 ?5678(?!\w)", text))


def test_random_digits_agree_with_brute_force():
    choose = random.Random(3)
    text = "".join(choose.choice("0123456789   \n") for _ in range(60_000))
    values = sorted({"".join(choose.choice("0123456789") for _ in range(6)) for _ in range(3000)})
    counts = CorpusLookup([("CREDIT_CARD", value) for value in values]).scan([(["a"], text.encode())])
    for value, found in zip(values, counts.occurrences.tolist(), strict=True):
        grouped = value[:2] + "".join(f"(?:{char}| {char})" for char in value[2:])
        hits = [hit.group() for hit in re.finditer(rf"(?<!\d){grouped}(?!\d)", text)]
        fine = [hit for hit in hits if all(len(part) > 1 for part in hit.split(" "))]
        assert found == len(fine), value


def test_broken_bytes_do_not_hide_what_stands_near():
    lookup = CorpusLookup([("ACCOUNT_NUMBER", "1" * 8), ("PERSON", "a a")])
    assert lookup.scan([(["a"], b"\xff\xfe 11111111 \xff")]).documents.tolist() == [1, 0]
