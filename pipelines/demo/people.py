"""Who calls the demo's bank and what about: invented names and numbers, each given out once.

Numbers come from ranges kept free for fiction: Ofcom's drama numbers (07700 900xxx, 020 7946 0xxx, 03069
990xxx, 0131 496 0xxx), sort codes that begin with 00, which no bank has, and mail addresses at the
reserved example domains.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from faker import Faker

from pipelines.demo.grammar import BANK

TRIES = 1000
PRIVATE_PHONES = ("07700 900", "020 7946 0")
PRACTICE_PHONES = ("03069 990",)
BRANCH_PHONE = "0131 496 0"
MONTHS = "January February March April May June July August September October November December".split()
PRODUCTS = (
    "Harbour Meadow Lantern Orchard Saddle Granite Heron Bramble Compass Juniper Kestrel Willow".split()
)


@dataclass
class Cast:
    """Invents people and numbers from one seed; full names, accounts and mail addresses never come twice.

    Attributes:
        seed: of everything that is drawn.
        rng: the random numbers, for the grammar's choices too.
    """

    seed: int
    rng: random.Random = field(init=False)
    _faker: Faker = field(init=False)
    _given: set[str] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        """Seed both sources of chance."""
        self.rng = random.Random(self.seed)  # noqa: S311 - a demo's text, no secret
        self._faker = Faker("en_GB")
        self._faker.seed_instance(self.seed)

    def _once(self, draw: Callable[[], str]) -> str:
        """Draw until something comes that was not given out before."""
        for _ in range(TRIES):
            if (drawn := draw()) not in self._given:
                self._given.add(drawn)
                return drawn
        raise RuntimeError("the demo's cast ran out of names or numbers; ask for fewer documents")

    def _digits(self, count: int) -> str:
        return f"{self.rng.randrange(10**count):0{count}d}"

    def _amount(self, most: int) -> str:
        return f"£{self.rng.randint(10, most):,}.{self._digits(2)}"

    def _account(self) -> str:
        return self._once(lambda: str(self.rng.randint(10_000_000, 99_999_999)))

    def _clock(self, first: int, last: int) -> str:
        return f"{self.rng.randint(first, last)}:{self.rng.choice(('00', '15', '30', '45'))}"

    def _date(self) -> str:
        return f"{self.rng.randint(1, 28)} {self.rng.choice(MONTHS)}"

    def _name(self) -> tuple[str, str]:
        full = self._once(lambda: f"{self._faker.first_name()} {self._faker.last_name()}")
        first, last = full.split(" ", 1)
        return first, last

    def _phone(self, prefixes: tuple[str, ...]) -> str:
        # A thousand numbers to a range, so these may come twice.
        return self.rng.choice(prefixes) + self._digits(3)

    def caller(self, phones: tuple[str, ...] = PRIVATE_PHONES) -> dict[str, str]:
        """Invent a caller and an affair: the slots of one call.

        Args:
            phones: the ranges that the telephone numbers are drawn from.
        """
        first, last = self._name()
        title = self.rng.choice(("Mr", "Ms", "Mrs", "Dr"))
        mailbox = f"{first}.{last}".lower().replace("'", "").replace(" ", "-")
        mail = self._once(
            lambda: f"{mailbox}{self._digits(2)}@example.{self.rng.choice(('com', 'org', 'net'))}"
        )
        return {
            "bank": BANK,
            "agent": f"{self._faker.first_name()} {self._faker.last_name()}",
            "name": f"{first} {last}",
            "formal": f"{title} {last}",
            "account": self._account(),
            "other_account": self._account(),
            "third_account": self._account(),
            "sort_code": f"00-{self._digits(2)}-{self._digits(2)}",
            "phone": self._phone(phones),
            "other_phone": self._phone(phones),
            "email": mail,
            "friend": " ".join(self._name()),
            "merchant": self._faker.company(),
            **self.affair(),
        }

    def affair(self) -> dict[str, str]:
        """Invent what may come twice: places, dates, hours, amounts."""
        return {
            "town": self._faker.city(),
            "other_town": self._faker.city(),
            "street": self._faker.street_name(),
            "house": str(self.rng.randint(1, 180)),
            "card": self._digits(4),
            "amount": self._amount(3000),
            "second_amount": self._amount(900),
            "date": self._date(),
            "time": self._clock(8, 12),
        }

    def publication(self) -> dict[str, str]:
        """Invent the slots of a public text; nobody's name is among them."""
        return self.affair() | {
            "late": self._clock(15, 19),
            "branch_phone": BRANCH_PHONE + self._digits(3),
            "product": self.rng.choice(PRODUCTS),
            "rate": f"{self.rng.randint(1, 9)}.{self._digits(2)}",
            "round_amount": f"£{self.rng.randint(1, 40) * 500:,}",
            "days": str(self.rng.randint(3, 60)),
            "fee": f"£{self.rng.randint(1, 15)}",
        }
