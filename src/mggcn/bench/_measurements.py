"""The figures of one section, each with its spread, and the ratios between them."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Measurements:
    """Figures, ratios and facts, ready for JSON.

    Attributes:
        figures: by name: label, unit, median, min, max, repeats, and ``scaled`` if only a part was measured.
        ratios: by name: label, value, and the figures ``over`` and ``under`` whose medians it divides.
        facts: the counts and settings behind the figures.
        notes: one line each on what could not be measured or how a figure was measured.
    """

    figures: dict[str, dict[str, Any]] = field(default_factory=dict)
    ratios: dict[str, dict[str, Any]] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(
        self, name: str, label: str, values: Sequence[float], *, unit: str = "s", factor: float = 1.0, basis: str = ""
    ) -> None:
        """Add a figure from one value per repeat.

        Each value is multiplied by ``factor``, to a whole from a measured part or to another unit; ``basis`` describes
        the part that was measured, if it was not the whole.
        """
        scaled = [value * factor for value in values]
        figure = {"label": label, "unit": unit, "median": statistics.median(scaled)}
        figure |= {"min": min(scaled), "max": max(scaled), "repeats": len(scaled)}
        self.figures[name] = figure | ({"scaled": factor, "basis": basis} if basis else {})

    def add_ratio(self, name: str, label: str, over: str, under: str) -> None:
        """Add the ratio of two figures' medians."""
        value = float(self.figures[over]["median"] / self.figures[under]["median"])
        self.ratios[name] = {"label": label, "value": value, "over": over, "under": under}
