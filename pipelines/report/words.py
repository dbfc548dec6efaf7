"""How numbers are written on a page. Every page and every check of a page uses these, so that they cannot drift apart."""

from collections.abc import Sequence

from pipelines.report.schema import Estimate

NARROW = "\u202f"  # a narrow space that does not break, before a unit
DASH = "\u2013"


def count(value: int) -> str:
    """Write a whole number: `1,234`."""
    return f"{value:,}"


def decimal(value: float) -> str:
    """Write a number that need not be whole: whole from 100 on, else with one decimal."""
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:,.1f}"


def percent(share: float) -> str:
    """Write a share (1.0 is all) in per cent with three significant figures: `1.23 %`, `0.00042 %`."""
    if share == 0 or share == 1:
        return f"{share * 100:.0f}{NARROW}%"
    hundredths = share * 100
    if 99.95 <= hundredths < 100:
        return f"more than 99.9{NARROW}%"  # three figures would round it up to all
    digits = 2
    while hundredths < 10 ** (2 - digits) and digits < 12:
        digits += 1
    text = f"{hundredths:.{digits if hundredths < 10 else 1}f}"
    return f"{text.rstrip('0').rstrip('.')}{NARROW}%"


def size(value: int) -> str:
    """Write a number of bytes in units of 1,000: `1.2 GB`."""
    amount = float(value)
    for unit in ("bytes", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f}{NARROW}{unit}" if unit == "bytes" else f"{amount:.1f}{NARROW}{unit}"
        amount /= 1000
    return f"{amount:,.1f}{NARROW}TB"


def duration(seconds: float) -> str:
    """Write a duration: `0.4 s`, `35 s`, `4 min 10 s`, `2 h 5 min`."""
    if seconds < 10:
        return f"{seconds:.1f}{NARROW}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}{NARROW}s"
    if whole < 3600:
        return f"{whole // 60}{NARROW}min {whole % 60}{NARROW}s"
    return f"{whole // 3600}{NARROW}h {whole % 3600 // 60}{NARROW}min"


def listing(words: Sequence[str]) -> str:
    """Join words as a sentence does: `a, b and c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def noun(value: int, one: str, many: str | None = None) -> str:
    """Write a count with its noun: `1 passage`, `12 passages`."""
    return f"{count(value)} {one if value == 1 else many or one + 's'}"


def interval(estimate: Estimate, as_share: bool = False) -> str:
    """Write the interval of an estimate: `3.1-4.0`, `at least 3.1`, or nothing."""
    write = percent if as_share else decimal
    if estimate.low is not None and estimate.high is not None:
        return f"{write(estimate.low)}{DASH}{write(estimate.high)}"
    if estimate.high is not None:
        return f"at most {write(estimate.high)}"
    return f"at least {write(estimate.low)}" if estimate.low is not None else ""


def bin_label(first: int, last: int | None) -> str:
    """Name a bin of document counts: `1`, `3-5`, `more than 1,000`."""
    if last is None:
        return f"{count(first)} or more"
    return count(first) if first == last else f"{count(first)}{DASH}{count(last)}"


def setting(value: object) -> str:
    """Write a setting's value: `none`, `yes`, `no`, a number or the words as they are."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(str(item) for item in value) or "none"
    return count(value) if isinstance(value, int) else str(value)


def label(name: str) -> str:
    """Turn a field's name into words: `account_number` becomes `account number`."""
    return name.replace("_", " ")
