"""How amounts, accounts and times are written on the page of an account."""

from decimal import Context, Decimal

_ETHER = 10**18
_DIGITS = Context(prec=4)
_LONGEST = 14


def ether(wei: int) -> str:
    """An amount in ether: four digits, or all before the point if there are more."""
    exact = Decimal(wei) / _ETHER
    if abs(exact) >= 1000:
        return f"{exact:,.0f}"
    rounded = _DIGITS.create_decimal(exact)
    text = f"{rounded:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def short(account: str) -> str:
    """The beginning and the end of an address."""
    return account if len(account) <= _LONGEST else f"{account[:6]}…{account[-4:]}"


def counted(number: int, noun: str) -> str:
    """A number with its noun, which gets an s unless the number is one."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def percent(part: int, whole: int) -> str:
    """A share in words; what is neither nothing nor all is never rounded to it."""
    if 0 < 100 * part < whole:
        return "less than 1 %"
    if part < whole < part + whole / 100:
        return "more than 99 %"
    return f"{100 * part / whole:.0f} %"


def when(first: str | None, last: str | None) -> str:
    """The days of the first and the last of several times."""
    days = [time[:10] for time in (first, last) if time]
    return "" if not days else days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
