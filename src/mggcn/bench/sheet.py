"""The figures of one section: each with its spread, and ratios that name the two figures they divide."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Sheet:
    """Figures, ratios and facts, ready for JSON.

    Attributes:
        figures: by name: label, unit, median, min, max, repeats, and ``scaled`` where a part was measured.
        ratios: by name: label, value, and the figures ``over`` and ``under`` whose medians it divides.
        facts: counts and settings that the figures rest on.
        notes: one line each on what could not be measured or how a figure was taken.
    """

    figures: dict[str, dict[str, Any]] = field(default_factory=dict)
    ratios: dict[str, dict[str, Any]] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def put(
        self, name: str, label: str, values: Sequence[float], *, unit: str = "s", factor: float = 1.0, basis: str = ""
    ) -> float:
        """Enter a figure from its repeats, each times ``factor``; ``basis`` says what was measured. Return its median.

        Args:
            name: the figure's key.
            label: its words.
            values: one per repeat.
            unit: of the values.
            factor: from what was measured to what is told.
            basis: what was measured, where that is a part.
        """
        told = [value * factor for value in values]
        median = statistics.median(told)
        entry = {"label": label, "unit": unit, "median": median, "min": min(told), "max": max(told)}
        self.figures[name] = entry | {"repeats": len(told)} | ({"scaled": factor, "basis": basis} if basis else {})
        return median

    def divide(self, name: str, label: str, over: str, under: str) -> float:
        """Enter the ratio of two figures' medians, and return it."""
        value = float(self.figures[over]["median"] / self.figures[under]["median"])
        self.ratios[name] = {"label": label, "value": value, "over": over, "under": under}
        return value
