"""The demo's grammar: what is said on the telephone of a bank that does not exist, and what it publishes.

A template is text with slots (`{account}`) and choices (`[yes|it is]`). No fixed part of a call is as
long as a window, so that two calls can differ everywhere. The templates know nothing of counts, copies
or files: those are in `corpus`.
"""

import random
import re
from collections.abc import Mapping

BANK = "Wrenfield Bank"

NOTICE = (
    f"Calls to {BANK} are recorded. We keep the recording for six years so that we can train our staff, "
    "settle complaints and prevent fraud. By staying on the line you agree that the ombudsman may hear it."
)
CONFIDENTIAL = (
    "This transcript is confidential and is meant for the customer alone. If it has reached you by "
    "mistake, please tell the branch that sent it and destroy every copy. Nobody else may act on it."
)
PROTECTION = (
    "Your deposits are protected up to the limit for each customer. Interest rates can fall as well as "
    f"rise, and an overdraft is repayable on demand. {BANK} will never ask for your password or your PIN."
)
FORWARDED = ("Sent again at the request of the branch.", "Copy for the complaints team.")

OPENING = (
    "Agent: {bank}, {agent} [here|speaking]. [Name?|Who is it?]",
    "Customer: [Hello, |Hi, |It is |]{name}, account {account}, [sort code |]{sort_code}.",
)
CLOSING = (
    "Agent: [Thank you|Thanks], {formal}. [I will|We will] [text|ring] {phone} [or|and] write to {email}.",
)
SCENARIOS = (
    (
        "Customer: [I do not know|I never made] a payment of {amount} to {merchant}[ on {date}| last month].",
        "Agent: [Taken|Paid|Spent] with card {card} in {town}. [Were you|Was anybody] there?",
        "Customer: [No|Never]. {friend} [can tell you|knows that].",
    ),
    (
        "Customer: [I lost|Somebody took] my card ending {card} [in|near] {town} on {date}.",
        "Agent: The last payment was {amount} to {merchant}. [Yours?|Was it you?]",
        "Customer: [No|It was not]. {friend} saw it [go|happen] at {time}.",
    ),
    (
        "Customer: I [moved|have moved] to {town} [on|after] {date}, to {house} {street}.",
        "Agent: [Who else|Does anybody else] [lives|live] at {house} {street}?",
        "Customer: Only {friend}, [my partner|my lodger|my sister|my son].",
    ),
    (
        "Customer: [Please stop|Cancel] paying {friend} {amount} a month.",
        "Agent: The one [made|set up] on {date} for {merchant}?",
        "Customer: [Yes|That one], and [send|pay] {second_amount} to {other_account} [now|today].",
    ),
    (
        "Customer: [Can I|May I] borrow {amount} [until|to pay back by] {date}?",
        "Agent: You earn {second_amount} [a month|each month] [at|with] {merchant}?",
        "Customer: [Yes|I do], and {friend} [will sign|signs] for me in {town}.",
    ),
    (
        "Customer: I [want|would like] {friend} [on|added to] the account [from|by] {date}.",
        "Agent: [Is that|Would that be] {friend} of {house} {street}, {town}?",
        "Customer: [Yes|Correct]. [The limit|Their limit] should be {amount}.",
    ),
    (
        "Customer: {merchant} [says|claims] my {amount} [never came|is missing].",
        "Agent: It [left|was sent] at {time} on {date} [to|and went to] account {other_account}.",
        "Customer: [Wrong|That is wrong]. {friend} gave me {third_account}.",
    ),
    (
        "Customer: My salary from {merchant}[, {amount},| of {amount}] is [late|missing].",
        "Agent: {merchant} [paid|sent] {second_amount} on {date}.",
        "Customer: [Ask|Then ask] {friend} in payroll, [on|number] {other_phone}.",
    ),
)

PUBLIC = (
    "Our {town} branch at {house} {street} opens from {time} to {late} on weekdays[ and from {time} to "
    "noon on Saturdays|]. [It is closed on bank holidays.|Parking is free for customers.|The lift is at "
    "the back.] Telephone {branch_phone}.",
    "The {product} account pays {rate} per cent a year on balances from {round_amount}. [Withdraw at any "
    "time|Give us {days} days to withdraw][ and manage it online| or in any branch|]. [There is no "
    "monthly fee.|The fee is {fee} a month.]",
    "The {product} loan lets you borrow up to {round_amount} over {days} months at {rate} per cent. "
    "[Early repayment is free.|Early repayment costs {fee}.] [Apply online or in a branch.|Ask in any "
    "branch.]",
    "How do I order a new card? Call {branch_phone} or visit the {town} branch. A new card arrives "
    "within {days} days[ and costs {fee}| and is free]. [Keep your old card until then.|Destroy the old "
    "one.]",
    "The {product} savings plan: deposits of up to {round_amount} are protected, interest of {rate} per "
    "cent is paid each month, [and the rates|and our rates] never fall before {date}. [Nobody pays a "
    "fee.|A copy of the terms costs {fee}.] No recording is kept.",
    "Have you sent money by mistake? Tell us before {late} on the same day. [Customers|You] can settle "
    "most complaints in the {town} branch[ alone| or on the line {branch_phone}|]. We train our staff to "
    "prevent fraud, and will reach you in {days} days.",
    "How do I stop a standing order? [Open the app|Log in], choose payments, and press stop before "
    "{late} on the day before. [You can also call {branch_phone}.|The {town} branch can do it for you.]",
    "Notice for {town}: the branch in {street} will be closed on {date}[ for repairs| for training|]. "
    "The nearest branch is in {other_town}, open until {late}. The cash machine [will work as usual|will "
    "be moved to {house} {street}].",
)

_CHOICE = re.compile(r"\[([^][]*)\]")


def fill(template: str, slots: Mapping[str, str], rng: random.Random) -> str:
    """Fill a template: one branch of each choice is drawn, then the slots are put in.

    Args:
        template: text with `{slots}` and `[choices|of|text]`; choices do not nest.
        slots: the text of each slot.
        rng: draws the choices.

    Raises:
        KeyError: A slot has no text.
    """
    chosen = _CHOICE.sub(lambda match: rng.choice(match[1].split("|")), template)
    return chosen.format_map(slots)


def call_lines(rng: random.Random) -> tuple[str, ...]:
    """Draw the templates of one call, one for each line: opening, what it is about, closing."""
    return OPENING + rng.choice(SCENARIOS) + CLOSING
