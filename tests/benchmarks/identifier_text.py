"""Synthetic text with known identifiers: transcripts, clinical notes, e-mails, tables and code, in seven locales.

Every value is made: names and addresses by faker, telephone numbers of Britain and the United States from the ranges
that are kept for fiction, check digits computed. Between them stand numbers that are no identifiers: orders, times,
versions, book numbers, random digits whose check digit happens to fit.
"""

import random
import re
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass

LOCALES = ("en_GB", "en_US", "de_DE", "fr_FR", "es_ES", "it_IT", "nl_NL")
REGIONS = ("GB", "US", "DE", "FR", "ES", "IT", "NL")
KINDS = ("transcript", "note", "e-mail", "table", "code")

_SLOT = re.compile(r"\{(\w+)\}")
_BOOKS = ("978-0-306-40615-7", "978-3-16-148410-0", "0-306-40615-2")

_TRANSCRIPTS = (
    "Agent: Northern Vale Bank, good morning, am I speaking to {name}?\nCustomer: Yes, speaking.\n"
    "Agent: Could I take your date of birth, please?\nCustomer: Of course, {dob}.\nAgent: And the account number?\n"
    "Customer: {account}. The sort code is {sort}.\nAgent: Thanks. Your reference for today is {order}.\n",
    "Agent: Which number can we reach you on?\nCustomer: Ring me on {phone}, or on my wife's mobile, {phone}.\n"
    "Agent: And the e-mail address?\nCustomer: It is {email}.\nAgent: I have noted that, {title} {last}.\n",
    "Customer: I paid by card {card} and was charged twice.\nAgent: I can see order {order} from {day}. "
    "May I have the name on the card?\nCustomer: {name}.\nAgent: The refund of {price} takes five days.\n",
    "Customer: The transfer went to {iban} by mistake.\nAgent: I see it, it was booked at {clock} on {day}. "
    "Who is the account holder?\nCustomer: {name} is.\nAgent: We will call back on {phone}.\n",
    "Agent: To verify you I need your social security number.\nCustomer: {ssn}.\nAgent: And your birthday?\n"
    "Customer: {dob}.\nAgent: Thank you, {name}. The ticket is {order}.\n",
    "Customer: Hello, this is {name}, I called {clock} yesterday about parcel {order}.\n"
    "Agent: Hello {title} {last}, we sent it to {address}.\nCustomer: I moved. Please text {phone} instead.\n",
)
_NOTES = (
    "DISCHARGE SUMMARY\nPatient: {name}\nNHS number: {nhs}\nDOB: {dob}\nAdmitted {day} at {clock}, discharged {day}.\n"
    "Presented with chest pain. Troponin {small} ng/L, BP {pressure}. Seen by Dr {name}. GP to review in two weeks.\n"
    "Next of kin can be reached by telephone on {phone}.\n",
    "{name} (born {dob}, NHS no. {nhs}) was reviewed in clinic on {day}. Weight {small} kg. "
    "Plan: repeat bloods, ring {phone} with the result. Letter copied to {email}.\n",
    "Referral received {day}. Pt {name}, date of birth {dob}. Lives at {address}. Sample {order} sent at {clock}; "
    "batch {random}. Contact: {phone}.\n",
    "Ward round {clock}. Prof {name} asked for an MRI. {title} {last} is stable, saturation {small} %. "
    "NHS {nhs}. Device serial {random}, firmware {version}.\n",
    "Telephone consultation with {name}, called on {phone}. Social security number {ssn}, born {dob}. "
    "Medication from invoice {order} explained.\n",
)
_MAILS = (
    "From: {name} <{email}>\nTo: {email}\nSubject: Refund of order {order}\n\nDear {name},\n\nwe have refunded {price} "
    "to your card {card}. The payment was made on {day}.\n\nKind regards,\n{name}\nTel. {phone}\n",
    "Dear {title} {last},\n\nplease pay invoice {order} to IBAN {iban} by {day}. Questions? Write to {email} or call "
    "{phone}.\n\nYours sincerely,\n{name}\n",
    "Hi {first},\n\nthe server at {ip} is down since {clock}, and so is {ip}. Version {version} was rolled out at "
    "{clock}. {name} has the key ({secret}), don't pass it on.\n\nCheers\n{first}\n",
    "Hello,\n\nmy new address is {address}. My account {account}, sort code {sort}, stays the same. "
    "You can also reach me at {email}.\n\nBest wishes,\n{name}\nDate of birth: {dob}\n",
    "To whom it may concern,\n\n{name} has worked for us since {day}. For payroll use SSN {ssn} and IBAN {iban}. "
    "The book (ISBN {isbn}) arrived as parcel {random}.\n\n{name}\nDirect line: {phone}\n",
)
_TABLES = (
    'name,email,phone,date_of_birth,ordered\n{name},{email},{phone},"{dob}","{day}"\n'
    '{name},{email},{phone},"{dob}","{day}"\n',
    "| Name | NHS number | DOB | Ward |\n| --- | --- | --- | --- |\n| {name} | {nhs} | {dob} | {small} |\n"
    "| {name} | {nhs} | {dob} | {small} |\n",
    "Customer: {name}\tAccount: {account}\tSort code: {sort}\tBalance: {price}\tUpdated: {day} {clock}\n"
    "Customer: {name}\tAccount: {account}\tSort code: {sort}\tBalance: {price}\tUpdated: {day} {clock}\n",
    "Order;Card;Customer\n{order};{card};{name}\n{order};{card};{name}\n{order};{card};{name}\n",
    "Reference\tAccount\tSort code\tHolder\n{order}\t{account}\t{sort}\t{name}\n{random}\t{account}\t{sort}\t{name}\n",
    "Name: {name}\nDate of birth: {dob}\nAddress: {address}\nPhone: {phone}\nE-mail: {email}\nSSN: {ssn}\n"
    "Invoice: {order}\nIssued: {day}\n",
)
_CODE = (
    'customer = {"name": "{name}", "email": "{email}", "phone": "{phone}", "dob": "{dob}"}\n'
    "assert total == {small}  # order {order}, build {version}\n",
    '{"id": "{random}", "account_number": "{account}", "sort_code": "{sort}", "holder_name": "{name}", '
    '"created": "{stamp}", "trace": "{hex}"}\n',
    "INSERT INTO payments (card_number, iban, paid_at) VALUES ('{card}', '{iban}', '{day} {clock}');\n"
    "-- ticket {order}, commit {hex}\n",
    "{stamp} INFO login user={email} ip={ip} session={hex}\n{stamp} WARN retry host={ip} after {random} ms\n"
    "{stamp} INFO agent/{version} mac 00:1a:2b:3c:4d:5e done\n",
    'export API_TOKEN="{secret}"\nAWS_KEY={secret}\nVERSION={version}\nHOST={ip}  # owner: {email}\nISBN="{isbn}"\n',
    'def test_patient():\n    patient = Patient(name="{name}", nhs_number="{nhs}", birth_date="{dob}")\n'
    '    assert patient.age > {small}\n    assert patient.ssn == "{ssn}"\n',
)
_TEMPLATES = dict(zip(KINDS, (_TRANSCRIPTS, _NOTES, _MAILS, _TABLES, _CODE), strict=True))


@dataclass(frozen=True)
class Planted:
    """One identifier that stands in a text, by characters."""

    type: str
    start: int
    end: int


@dataclass(frozen=True)
class Sample:
    """A text and all identifiers in it."""

    kind: str
    locale: str
    text: str
    planted: tuple[Planted, ...]


def samples(count: int, seed: int) -> Iterator[Sample]:
    """Make texts, each locale and kind in turn; the same seed gives the same texts."""
    writers = [Writer(locale, seed) for locale in LOCALES]
    for number in range(count):
        yield writers[number % len(writers)].sample(KINDS[number // len(writers) % len(KINDS)])


class Writer:
    """Fills templates with made values of one locale."""

    def __init__(self, locale: str, seed: int) -> None:
        from faker import Faker

        self._locale = locale
        self._fake = Faker(locale)
        self._fake.seed_instance(f"{seed} {locale}")
        self._draw = random.Random(f"{seed} {locale} values")
        self._slots: dict[str, tuple[str, Callable[[], str]]] = {
            "name": ("PERSON", self._name),
            "first": ("PERSON", self._fake.first_name),
            "last": ("PERSON", self._fake.last_name),
            "email": ("EMAIL", self._email),
            "phone": ("PHONE", self._phone),
            "card": ("CREDIT_CARD", self._card),
            "iban": ("IBAN", lambda: self._grouped(self._fake.iban(), (4,), " ")),
            "account": ("ACCOUNT_NUMBER", lambda: self._grouped(self._digits(8), (4,), " ")),
            "sort": ("SORT_CODE", lambda: self._grouped(self._digits(6), (2,), "-")),
            "nhs": ("NHS_NUMBER", self._nhs),
            "ssn": ("US_SSN", self._ssn),
            "dob": ("DATE_OF_BIRTH", lambda: self._date(1930, 2012)),
            "ip": ("IP_ADDRESS", lambda: self._draw.choice((self._fake.ipv4, self._fake.ipv6))()),
            "address": ("POSTAL_ADDRESS", self._address),
            "secret": ("SECRET", self._secret),
        }
        self._plain: dict[str, Callable[[], str]] = {
            "title": lambda: self._draw.choice(("Mr", "Mrs", "Ms", "Dr")),
            "order": lambda: self._draw.choice(
                (self._digits(8), self._digits(10), f"AB-{self._digits(7)}", self._luhn(16))
            ),
            "random": lambda: self._digits(self._draw.choice((9, 10, 13))),
            "day": lambda: self._date(2019, 2025),
            "clock": lambda: f"{self._draw.randrange(24):02}:{self._draw.randrange(60):02}",
            "stamp": lambda: (
                f"2024-0{self._draw.randrange(1, 10)}-1{self._digits(1)}T08:{self._draw.randrange(10, 60)}:43Z"
            ),
            "price": lambda: f"{self._draw.randrange(1, 2000)}.{self._digits(2)}",
            "small": lambda: str(self._draw.randrange(30, 200)),
            "pressure": lambda: f"{self._draw.randrange(100, 160)}/{self._draw.randrange(60, 99)}",
            "version": lambda: ".".join(
                str(self._draw.randrange(30)) for _ in range(self._draw.choice((3, 4)))
            ),
            "hex": lambda: f"{self._draw.getrandbits(160):040x}"[: self._draw.choice((12, 40))],
            "isbn": lambda: self._draw.choice(_BOOKS),
        }

    def sample(self, kind: str) -> Sample:
        """Fill a template of one kind."""
        template = self._draw.choice(_TEMPLATES[kind])
        text, planted, last = "", [], 0
        for slot in _SLOT.finditer(template):
            if slot[1] not in self._slots and slot[1] not in self._plain:
                continue
            text += template[last : slot.start()]
            type_, value = self._fill(slot[1])
            if type_:
                planted.append(Planted(type_, len(text), len(text) + len(value)))
            text, last = text + value, slot.end()
        return Sample(kind, self._locale, text + template[last:], tuple(planted))

    def _fill(self, slot: str) -> tuple[str, str]:
        if slot in self._plain:
            return "", self._plain[slot]()
        type_, make = self._slots[slot]
        return type_, make()

    def _name(self) -> str:
        return f"{self._fake.first_name()} {self._fake.last_name()}"

    def _email(self) -> str:
        return str(self._draw.choice((self._fake.email, self._fake.company_email, self._fake.free_email))())

    def _digits(self, count: int) -> str:
        return "".join(self._draw.choices(string.digits, k=count))

    def _grouped(self, value: str, sizes: tuple[int, ...], separator: str) -> str:
        """Leave half of the values in one piece; cut the others in groups, the last size repeated."""
        if self._draw.random() < 0.5:
            return value
        groups, at, size = [], 0, sizes[0]
        while at < len(value):
            size = sizes[len(groups)] if len(groups) < len(sizes) else size
            groups.append(value[at : at + size])
            at += size
        return separator.join(groups)

    def _phone(self) -> str:
        if self._locale == "en_GB":
            national = self._draw.choice(
                (f"07700 900{self._digits(3)}", f"020 7946 0{self._digits(3)}", f"01632 960{self._digits(3)}")
            )
            return self._draw.choice((national, f"+44 {national[1:]}", national.replace(" ", "")))
        if self._locale == "en_US":
            area = self._draw.choice(("212", "415", "303", "617"))
            last = f"01{self._digits(2)}"
            return self._draw.choice(
                (f"({area}) 555-{last}", f"{area}-555-{last}", f"+1 {area} 555 {last}", f"{area}.555.{last}")
            )
        return self._planned_phone()

    def _planned_phone(self) -> str:
        """A number of faker's that its country's plan knows, as people of that country write it."""
        import phonenumbers

        region, form = self._locale[-2:], phonenumbers.PhoneNumberFormat
        while True:
            try:
                number = phonenumbers.parse(self._fake.phone_number(), region)
            except phonenumbers.NumberParseException:
                continue  # faker makes a few numbers that no country has
            if phonenumbers.is_valid_number(number):
                written = self._draw.choice((form.INTERNATIONAL, form.NATIONAL, form.E164))
                return str(phonenumbers.format_number(number, written))

    def _luhn(self, length: int) -> str:
        from stdnum import luhn

        body = "4" + self._digits(length - 2)
        return str(body + luhn.calc_check_digit(body))

    def _card(self) -> str:
        brand = self._draw.choice(("visa16", "mastercard", "amex", "discover"))
        sizes = (4, 6, 5) if brand == "amex" else (4,)
        return self._grouped(self._fake.credit_card_number(brand), sizes, self._draw.choice(" -"))

    def _nhs(self) -> str:
        from stdnum.gb import nhs

        while True:
            value = self._digits(10)
            if nhs.is_valid(value):
                return self._grouped(value, (3, 3, 4), self._draw.choice(" -"))

    def _ssn(self) -> str:
        from stdnum.us import ssn

        while True:
            value = self._digits(9)
            if ssn.is_valid(value):
                return self._grouped(value, (3, 2, 4), "-")

    def _date(self, first: int, last: int) -> str:
        import datetime

        day = datetime.date(
            self._draw.randint(first, last), self._draw.randint(1, 12), self._draw.randint(1, 28)
        )
        numbers = (
            "%m/%d/%Y" if self._locale == "en_US" else self._draw.choice(("%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y"))
        )
        return day.strftime(self._draw.choice((numbers, "%Y-%m-%d", "%d %B %Y", "%B %d, %Y", "%d-%b-%Y")))

    def _address(self) -> str:
        number, kind = self._draw.randrange(1, 300), self._draw.choice(("Street", "Road", "Avenue", "Lane"))
        town = self._draw.choice(("Ashford", "Millbrook", "Northam", "Weston"))
        code = self._draw.choice((f"EX{self._digits(1)} {self._digits(1)}AB", f"MA 0{self._digits(4)}"))
        return f"{number} {self._fake.last_name()} {kind}, {town}, {code}"

    def _secret(self) -> str:
        letters = string.ascii_letters + string.digits

        def some(count: int, of: str = letters) -> str:
            return "".join(self._draw.choices(of, k=count))

        return self._draw.choice(
            (
                "AKIA" + some(16, string.ascii_uppercase + "234567"),
                "ghp_" + some(36),
                "glpat-" + some(20),
                f"xoxb-{self._digits(12)}-{self._digits(12)}-{some(24)}",
                "sk_live_" + some(24),
                "AIza" + some(35),
                "hf_" + some(34),
                "npm_" + some(36),
            )
        )
