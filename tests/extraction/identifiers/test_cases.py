"""The cases of `tests/data/pii.jsonl`, and more of each kind."""

import json
from pathlib import Path

import pytest

from extraction.identifiers import Tagger

PATH = Path(__file__).parents[2] / "data" / "pii.jsonl"
CASES = [json.loads(line) for line in PATH.read_text().splitlines()]
WIDE = str.maketrans("0123456789", "".join(chr(0xFF10 + digit) for digit in range(10)))
ARABIC = str.maketrans("0123456789", "".join(chr(0x660 + digit) for digit in range(10)))


@pytest.fixture(scope="session")
def tagger():
    return Tagger()


def found(tagger, text):
    (findings,) = tagger.tag([text])
    for finding in findings:
        assert text[finding.start : finding.end] == finding.text
        assert text.encode()[finding.start_byte : finding.end_byte] == finding.text.encode()
    assert all(one.end <= two.start for one, two in zip(findings, findings[1:], strict=False))
    return {(finding.type, finding.value) for finding in findings}


@pytest.mark.parametrize("case", CASES, ids=[case["text"][:40] for case in CASES])
def test_case(tagger, case):
    got = found(tagger, case["text"])
    assert {(one["type"], one["value"]) for one in case["expected"]} <= got
    assert not {type_ for type_, _ in got} & set(case["forbidden"])


def test_cases_are_there():
    assert len(CASES) == 31


EXPECTED = [
    # cards of the brands' published test numbers, in the ways people write them
    ("amex 3782 822463 10005 expires soon", "CREDIT_CARD", "378282246310005"),
    ("Amex: 3782-822463-10005", "CREDIT_CARD", "378282246310005"),
    ("paid by credit card 378282246310005", "CREDIT_CARD", "378282246310005"),
    ("my diners card 3056 930902 5904", "CREDIT_CARD", "30569309025904"),
    ("discover 6011 1111 1111 1117", "CREDIT_CARD", "6011111111111117"),
    ("JCB card 3530 1113 3330 0000", "CREDIT_CARD", "3530111333300000"),
    ("card: 5555555555554444.", "CREDIT_CARD", "5555555555554444"),
    ("visa 4222222222222", "CREDIT_CARD", "4222222222222"),
    ("card 4111\u00a01111\u00a01111\u00a01111", "CREDIT_CARD", "4111111111111111"),
    ("card 4111\u20131111\u20131111\u20131111", "CREDIT_CARD", "4111111111111111"),
    (
        "card 4111 1111 1111 1111".translate(WIDE),
        "CREDIT_CARD",
        "4111111111111111",
    ),
    (
        "card 4111 1111 1111 1111".translate(ARABIC),
        "CREDIT_CARD",
        "4111111111111111",
    ),
    ("unionpay card 6200 0000 0000 0005", "CREDIT_CARD", "6200000000000005"),
    ("maestro 6759 6498 2643 8453", "CREDIT_CARD", "6759649826438453"),
    # what stands behind a card is not swallowed, and a card of 19 digits is not cut
    ("card 4111 1111 1111 1111 123", "CREDIT_CARD", "4111111111111111"),
    ("card 4111 1111 1111 1111 1234 GBP", "CREDIT_CARD", "4111111111111111"),
    ("amex 3782 822463 10005 1234", "CREDIT_CARD", "378282246310005"),
    ("card 6304 9000 1774 0292 441", "CREDIT_CARD", "6304900017740292441"),
    # IBANs as the registry gives them for their countries
    ("IBAN FR14 2004 1010 0505 0001 3M02 606", "IBAN", "FR1420041010050500013M02606"),
    ("iban: nl91 abna 0417 1643 00", "IBAN", "NL91ABNA0417164300"),
    ("ES91 2100 0418 4502 0005 1332", "IBAN", "ES9121000418450200051332"),
    ("NO93 8601 1117 947 is the account", "IBAN", "NO9386011117947"),
    ("MT84MALT011000012345MTLCAST001S", "IBAN", "MT84MALT011000012345MTLCAST001S"),
    ("(CH93-0076-2011-6238-5295-7)", "IBAN", "CH9300762011623852957"),
    ("BE68 5390 0754 7034;", "IBAN", "BE68539007547034"),
    ("IBAN SA03 8000 0000 6080 1016 7519.", "IBAN", "SA0380000000608010167519"),
    # phones
    ("Tel. +33 1 70 18 12 34 bitte", "PHONE", "+33170181234"),
    ("mobile 07700 900123 24 hours a day", "PHONE", "+447700900123"),
    ("call 0044 20 7946 0958 now", "PHONE", "+442079460958"),
    ("phone: +44 (0)20 7946 0958", "PHONE", "+442079460958"),
    ("Phone: 212-555-0147", "PHONE", "+12125550147"),
    ("Fax 1-212-555-0147", "PHONE", "+12125550147"),
    ("text me at 212.555.0147!", "PHONE", "+12125550147"),
    ("call (020) 7946 0958 or e-mail", "PHONE", "+442079460958"),
    ("contact: 01632 960123 (office)", "PHONE", "+441632960123"),
    ("her number is +1-415-555-0132, ring her", "PHONE", "+14155550132"),
    ("+61 2 5550 1234 rings out", "PHONE", "+61255501234"),
    ("phone 212-555-0147x12", "PHONE", "+12125550147"),
    ("\U0001f4de\ufe0f tel 020 7946 0958", "PHONE", "+442079460958"),
    (
        "cafe\u0301 tel 020 7946 0958".translate(WIDE),
        "PHONE",
        "+442079460958",
    ),
    ("phone +44\u202f7700\u202f900123", "PHONE", "+447700900123"),
    # e-mail
    ("<o'brien_99@mail.example.org>", "EMAIL", "o'brien_99@mail.example.org"),
    ("mailto:A.B-C%d@Example.COM.", "EMAIL", "a.b-c%d@example.com"),
    ('{"mail": "x!y#z@example.com"}', "EMAIL", "x!y#z@example.com"),
    ("j\u00fcrgen@m\u00fcnchen.example", "EMAIL", "j\u00fcrgen@m\u00fcnchen.example"),
    ("?email=joe@example.net&x=1", "EMAIL", "joe@example.net"),
    ("**a@example.co.uk**", "EMAIL", "a@example.co.uk"),
    # NHS numbers and social security numbers
    ("NHS No: 943-476-5919", "NHS_NUMBER", "9434765919"),
    ("nhs 9434765919", "NHS_NUMBER", "9434765919"),
    ("social security number 123 45 6789", "US_SSN", "123456789"),
    ("ssn=123456789", "US_SSN", "123456789"),
    # accounts
    ("A/C 12345678 and sort code 123456", "ACCOUNT_NUMBER", "12345678"),
    ("A/C 12345678 and sort code 123456", "SORT_CODE", "123456"),
    ("sort-code: 12 34 56", "SORT_CODE", "123456"),
    ('{"account_number": "12345678"}', "ACCOUNT_NUMBER", "12345678"),
    ('{"accountNumber": 12345678}', "ACCOUNT_NUMBER", "12345678"),
    ("account:\n1234-5678", "ACCOUNT_NUMBER", "12345678"),
    # dates of birth
    ("DOB 17/04/1961", "DATE_OF_BIRTH", "1961-04-17"),
    ("D.O.B.: 17.4.61", "DATE_OF_BIRTH", "1961-04-17"),
    ("she was born on April 17th, 1961 in Hull", "DATE_OF_BIRTH", "1961-04-17"),
    ("born the 17th of April 1961", "DATE_OF_BIRTH", "1961-04-17"),
    ("birthdate: 04/17/1961", "DATE_OF_BIRTH", "1961-04-17"),
    ("date_of_birth,1961-04-17T00:00:00", "DATE_OF_BIRTH", "1961-04-17"),
    ("DOB: 17-APR-1961", "DATE_OF_BIRTH", "1961-04-17"),
    ("Margaret Thornbury (b. 17 April 1961)", "DATE_OF_BIRTH", "1961-04-17"),
    # network addresses
    ("http://192.0.2.17:8080/x", "IP_ADDRESS", "192.0.2.17"),
    ("ping ::1 and fe80::1%eth0", "IP_ADDRESS", "fe80::1"),
    ("addr 2001:0DB8:0000:0000:0000:0000:0000:0001.", "IP_ADDRESS", "2001:db8::1"),
    ("[2001:db8::1]:443", "IP_ADDRESS", "2001:db8::1"),
    # names
    ("Dear Mr Daniel Okafor, thank you", "PERSON", "daniel okafor"),
    ("Margaret Thornbury's letter arrived on Monday.", "PERSON", "margaret thornbury"),
    ("Patient: Ricky Miller\nDOB: 2001-08-01\nTel: 020 7946 0280", "PERSON", "ricky miller"),
    ('customer = {"name": "Denis Mason", "card": 1}', "PERSON", "denis mason"),
    ("full_name=Jade O'Peacock;", "PERSON", "jade o'peacock"),
    ("Dear Kimberley Davies,\nwe charged", "PERSON", "kimberley davies"),
    ("Hello Ms Mason, we sent it to you.", "PERSON", "mason"),
    ("Yours sincerely,\nMargot Clerc\n", "PERSON", "margot clerc"),
    ("Cheers\nCindy", "PERSON", "cindy"),
    ("Patient: Esmee van den Velden, seen today", "PERSON", "esmee van den velden"),
    ("Esm\u00e9e van den Velden (born 26-09-1934) was seen.", "PERSON", "esm\u00e9e van den velden"),
    ("Patient: Amber Good\nNHS number: none", "PERSON", "amber good"),
    # in tables the header says what a value is
    ("Order;Card;Customer\n17;4111111111111111;Ann Lee", "CREDIT_CARD", "4111111111111111"),
    ("Order;Card;Customer\n17;4111111111111111;Ann Lee", "PERSON", "ann lee"),
    ("| Name | NHS number |\n| --- | --- |\n| Bo Lindt | 943 476 5919 |", "NHS_NUMBER", "9434765919"),
    ("| Name | NHS number |\n| --- | --- |\n| Bo Lindt | 943 476 5919 |", "PERSON", "bo lindt"),
    ('id,name,date_of_birth\nx,y,"April 17, 1961"\nx,z,1999-12-31', "DATE_OF_BIRTH", "1961-04-17"),
    ('id,name,date_of_birth\nx,y,"April 17, 1961"\nx,z,1999-12-31', "DATE_OF_BIRTH", "1999-12-31"),
    ("Account\tSort code\n12345678\t123456", "SORT_CODE", "123456"),
    ("direct line: 01632960860", "PHONE", "+441632960860"),
    # keys, by their published form or by a label
    ("ghp_" + "aB3" * 12, "SECRET", "ghp_" + "aB3" * 12),
    ("token xoxb-1234567890-abcdefGHIJ", "SECRET", "xoxb-1234567890-abcdefGHIJ"),
    ("-----BEGIN PGP PRIVATE KEY BLOCK-----", "SECRET", "-----BEGIN PGP PRIVATE KEY BLOCK-----"),
    ("SK" + "0f" * 16 + " is revoked", "SECRET", "SK" + "0f" * 16),
    ("GOCSPX-" + "a-B_9xy" * 4, "SECRET", "GOCSPX-" + "a-B_9xy" * 4),
    (
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "SECRET",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    ),
    # addresses
    (
        "51 Franklin Street, Fifth Floor, Boston,\nMA  02110-1301, USA",
        "POSTAL_ADDRESS",
        "51 franklin street fifth floor boston ma 02110 1301",
    ),
    (
        "She lives at 12 Orchard Lane, Little Wick, Exampleton, EX1 2AB now",
        "POSTAL_ADDRESS",
        "12 orchard lane little wick exampleton ex1 2ab",
    ),
]


@pytest.mark.parametrize(("text", "type_", "value"), EXPECTED)
def test_is_found(tagger, text, type_, value):
    assert (type_, value) in found(tagger, text)


FORBIDDEN = [
    ("ref4111111111111111x", {"CREDIT_CARD"}),
    ("order 4111111111111111 shipped", {"CREDIT_CARD"}),
    ("card 41111111111111112222333344445555", {"CREDIT_CARD"}),
    ("card 4111 1111 1111 1112", {"CREDIT_CARD"}),
    ("card 0.4111111111111111", {"CREDIT_CARD"}),
    ("ISBN 978-0-306-40615-7", {"CREDIT_CARD", "PHONE", "ACCOUNT_NUMBER", "NHS_NUMBER", "US_SSN"}),
    ("ISBN-10 0-306-40615-2, call the library", {"PHONE", "NHS_NUMBER"}),
    ("epoch 1748503543 in seconds", {"PHONE", "NHS_NUMBER", "ACCOUNT_NUMBER", "US_SSN"}),
    ("2024-05-29T08:05:43.012Z call started", {"PHONE"}),
    ("call at 12/10/2019 08:30", {"PHONE"}),
    ("order number 2125550147", {"PHONE", "ACCOUNT_NUMBER", "NHS_NUMBER"}),
    ("my account shows order 12345678", {"ACCOUNT_NUMBER"}),
    ("account balance 1234567.89", {"ACCOUNT_NUMBER"}),
    ("the account was opened on 2019-10-12", {"ACCOUNT_NUMBER", "PHONE"}),
    ("account statement of 12-10-2019", {"ACCOUNT_NUMBER", "PHONE"}),
    ("we moved \u00a3250000 to the account, and $ 125000 back", {"ACCOUNT_NUMBER"}),
    ("upgrade to v1.2.3.4 or 10.0.19041.1", {"IP_ADDRESS"}),
    ("Chrome/120.0.0.1 and libfoo-1.2.3.4.tar.gz", {"IP_ADDRESS"}),
    ("firmware 2.4.0.17", {"IP_ADDRESS"}),
    ("192.0.2.256 and 1.2.3.4.5", {"IP_ADDRESS"}),
    ("std::vector abc::def 12:30:45 00:1a:2b:3c:4d:5e", {"IP_ADDRESS"}),
    ("GB82WEST12345698765432X", {"IBAN"}),
    ("XGB82WEST12345698765432", {"IBAN"}),
    ("GB82 WEST 1234 5698 7654 3", {"IBAN"}),
    ("SSN 666-12-3456", {"US_SSN"}),
    ("SSN 900-12-3456", {"US_SSN"}),
    ("SSN 219-09-9999", {"US_SSN"}),
    ("NHS number 943 476 5918", {"NHS_NUMBER"}),
    ("943 476 5919", {"NHS_NUMBER", "PHONE"}),
    ("born to run, 17 bands played", {"DATE_OF_BIRTH"}),
    ("DOB 31/02/1961", {"DATE_OF_BIRTH"}),
    ("not@an@address and a@b", {"EMAIL"}),
    ("Decimal('+35236450.6')", {"PHONE"}),
    ("Tel: 020 7946 0280\nFax: none", {"PERSON"}),
    ("Dear Sir or Madam, dear Customer Services", {"PERSON"}),
    ("Copyright 2017, Chanho Park", {"POSTAL_ADDRESS"}),
    ("Agent: Northern Vale Bank, good morning", {"PERSON"}),
    ("Agent: Thank You for calling\nCustomer: Good Morning", {"PERSON"}),
    ("Kind regards,\nThe Customer Services Team", {"PERSON"}),
    ("Order;Card;Customer\n4111111111111111;17;Ann Lee", {"CREDIT_CARD"}),
    ("Thanks\nKey: value", {"PERSON"}),
    ("Patient: Not Given\nName: See Below", {"PERSON"}),
    ("File Name: Annual Report\nuser_name = Foo Bar", {"PERSON"}),
    ("Name;Kind\nHello World;example", {"PERSON"}),
    ("Mr President said", {"PERSON"}),
    ("born,seen,ward\nx,1961-04-17,y", {"DATE_OF_BIRTH"}),
    ("host 6acc:fab5 after 246289964 ms", {"ACCOUNT_NUMBER"}),
    ("AKIAIOSFODNN7EXAMPLEXX", {"SECRET"}),
    ("sk-learn-contrib-imbalanced-learn", {"SECRET"}),
    ("commit da39a3ee5e6b4b0d3255bfef95601890afd80709", {"SECRET"}),
    ("\u00e912345678 account", {"ACCOUNT_NUMBER"}),
]


def test_a_word_speaks_for_one_date_of_birth(tagger):
    text = "born 21 April 1973,2022-05-18 and 3 May 2021"
    assert {value for type_, value in found(tagger, text) if type_ == "DATE_OF_BIRTH"} == {"1973-04-21"}


def test_a_label_with_a_number_of_its_own_says_nothing_of_the_one_in_front(tagger):
    got = found(tagger, '{"id": "824525713", "account_number": "6944 7624"}')
    assert {value for type_, value in got if type_ == "ACCOUNT_NUMBER"} == {"69447624"}


@pytest.mark.parametrize(("text", "types"), FORBIDDEN)
def test_is_not_found(tagger, text, types):
    assert not {type_ for type_, _ in found(tagger, text)} & types


@pytest.mark.parametrize("digits", [WIDE, ARABIC], ids=["full-width", "Arabic-Indic"])
@pytest.mark.parametrize(
    ("text", "type_", "value"),
    [
        ("NHS number 943 476 5919", "NHS_NUMBER", "9434765919"),
        ("account 1234 5678", "ACCOUNT_NUMBER", "12345678"),
        ("sort code 12-34-56", "SORT_CODE", "123456"),
        ("SSN 123-45-6789", "US_SSN", "123456789"),
        ("DOB 17/04/1961", "DATE_OF_BIRTH", "1961-04-17"),
        ("born 17 April 1961", "DATE_OF_BIRTH", "1961-04-17"),
        ("IBAN GB82 WEST 1234 5698 7654 32", "IBAN", "GB82WEST12345698765432"),
        ("Mastercard 2221-0000-0000-0009", "CREDIT_CARD", "2221000000000009"),
        ("ring +44 7700 900123", "PHONE", "+447700900123"),
        ("host 192.0.2.17", "IP_ADDRESS", "192.0.2.17"),
    ],
)
def test_digits_of_other_scripts_give_the_same_value(tagger, text, type_, value, digits):
    assert (type_, value) in found(tagger, text.translate(digits))
