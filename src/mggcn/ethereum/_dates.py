"""Dates and times of options and of columns, as the last second that they include."""

from contextlib import suppress
from datetime import UTC, date, datetime
from datetime import time as clock

from mggcn.errors import InputError


def parse_as_of(text: str, option: str = "as_of") -> int:
    """Return the last second to include: the end of a date, or a time; in UTC unless the time has another zone."""
    try:
        with suppress(ValueError):
            return int(datetime.combine(date.fromisoformat(text), clock(23, 59, 59), UTC).timestamp())
        moment = datetime.fromisoformat(text)
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).timestamp())
    except (ValueError, OverflowError):
        raise InputError(
            f"{option}: {text!r} is neither a date such as 2020-01-31 nor a time such as 2020-01-31T12:00:00"
        ) from None
