"""What the numbers of a feature mean to a reader: the value in its unit, and a few words for it."""

import math
from typing import Literal

import msgspec

_WHOLE = 100  # from here on a value has no digits after the point


class Measure(msgspec.Struct, frozen=True):
    """What the numbers of a feature mean.

    Attributes:
        words: a phrase with ``{}`` for the value, such as ``received from {} accounts``.
        unit: of the value, such as ``ether``; empty for a number without one.
        is_log: whether the feature f is stored as sign(f) · log(1 + |f|).
        counts: which neighbours the value counts, by the direction of the edges; empty if it counts none.
    """

    words: str
    unit: str = ""
    is_log: bool = False
    counts: Literal["", "in", "out", "both"] = ""

    def value(self, stored: float) -> float:
        """The value in its unit."""
        return math.copysign(math.expm1(abs(stored)), stored) if self.is_log else stored

    def number(self, stored: float) -> str:
        """The value as text, without its unit: three digits, and all those before the point."""
        value = self.value(stored)
        text = f"{value:,.0f}" if abs(value) >= _WHOLE else f"{value:.3g}"
        return "0" if text == "-0" else text

    def text(self, stored: float) -> str:
        """The phrase with the value."""
        return self.words.replace("{}", self.number(stored))


def plain(name: str) -> Measure:
    """The measure of a feature of which only the name is known."""
    return Measure(f"{name} {{}}")
