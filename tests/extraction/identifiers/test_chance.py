"""Random values have the format of the real ones and are others."""

import random

from extraction.identifiers.chance import random_values
from extraction.identifiers.lookup import CorpusLookup
from extraction.identifiers.normalise import NORMALISERS, Locale
from extraction.identifiers.validators import Verdict, card, iban, stdnum_validator

VALUES = [
    ("CREDIT_CARD", "4111111111111111"),
    ("NHS_NUMBER", "9434765919"),
    ("IBAN", "GB82WEST12345698765432"),
    ("PHONE", "+442079460958"),
    ("DATE_OF_BIRTH", "1961-04-17"),
    ("EMAIL", "j.alder@example.com"),
    ("IP_ADDRESS", "192.0.2.17"),
    ("IP_ADDRESS", "2001:db8::8a2e:370:7334"),
    ("SECRET", "AKIAIOSFODNN7EXAMPLE"),
    ("PERSON", "margaret thornbury"),
    ("PERSON", "daniel okafor"),
    ("PERSON", "margaret"),
    ("ACCOUNT_NUMBER", "12345678"),
    ("POSTAL_ADDRESS", "12 orchard lane ex1 2ab"),
    ("HOSPITAL_NUMBER", "H1234567"),
]


def test_as_many_of_the_same_types_and_none_of_the_real_ones():
    made = random_values(VALUES, 1)
    assert [type_ for type_, _ in made] == [type_ for type_, _ in VALUES]
    assert not set(made) & set(VALUES)
    assert made == random_values(VALUES, 1) != random_values(VALUES, 2)


def test_check_digits_fit():
    for seed in range(50):
        made = dict(random_values(VALUES, seed))
        assert card(made["CREDIT_CARD"]) is Verdict.VALID
        assert iban(made["IBAN"]) is Verdict.VALID
        assert stdnum_validator("gb.nhs")(made["NHS_NUMBER"]) is Verdict.VALID
        assert NORMALISERS["date"](made["DATE_OF_BIRTH"], Locale()) == made["DATE_OF_BIRTH"]
        assert made["SECRET"].startswith("AKIA") and made["PHONE"].startswith("+442")


def test_full_names_are_made_of_the_runs_own():
    made = [value for type_, value in random_values(VALUES, 3) if type_ == "PERSON"]
    assert made[:2] == ["margaret okafor", "daniel thornbury"]


def test_the_letters_of_a_users_own_format_stay():
    values = [
        ("HOSPITAL_NUMBER", "H1234567"),
        ("POSTAL_ADDRESS", "12 orchard lane ex1 2ab"),
        ("WARD", "north"),
    ]
    hospital, address, ward = (value for _, value in random_values(values, 1))
    assert hospital[0] == "H" and hospital != "H1234567"
    assert " orchard lane ex" in address and address != "12 orchard lane ex1 2ab"
    assert ward != "north" and ward.isalpha()


def test_the_level_of_short_numbers_shows():
    draw = random.Random(5)
    text = " ".join(f"{draw.randrange(10**6):06}" for _ in range(100_000)).replace(" ", "; ").encode()
    values = [("SORT_CODE", f"{number:06}") for number in range(0, 10**6, 1000)]
    counts = CorpusLookup(random_values(values, 1)).scan([(["a"], text)])
    assert 60 < int((counts.documents > 0).sum()) < 130  # 1 - exp(-0.1) of them, 95


def test_a_lone_full_name_is_not_its_own_chance_level():
    (made,) = random_values([("PERSON", "margaret thornbury")], 1)
    assert made[1] != "margaret thornbury" and sorted(made[1]) == sorted("margaret thornbury")
