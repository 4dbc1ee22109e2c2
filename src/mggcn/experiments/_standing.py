"""First, tied or behind: how each method of a table stands against the one with the highest mean test accuracy.

A method is *behind* if its difference from the best, in pairs of runs, is distinguishable from 0 at 95 %; else it is
*tied*. The best is *first* if all others are behind, else it is tied, too. Methods are set apart one after the other,
the clearest difference first, as Holm (1979) does; each p-value is multiplied by the number of pairs among the methods
that are not set apart yet, and not only by their number, because it is the results that say which is the best.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from mggcn.experiments._paired import FEWEST, Difference, difference
from mggcn.training import RunRecord

LEVEL = 0.95
"""The confidence for all methods of a table together."""


Word = Literal["first", "tied", "behind"]


@dataclass(frozen=True)
class Standing:
    """How a method stands.

    Attributes:
        word: whether it is first, tied or behind.
        best: the method with the highest mean test accuracy.
        behind: the accuracy of the best minus that of this method, over pairs of runs; 0 for the best itself.
        low: the lower end of the confidence interval of ``behind``, without a correction.
        high: its upper end.
        p: the p-value of the difference, corrected for the number of methods; 1 for the best itself.
        mcnemar: the p-value of McNemar's exact test, without a correction, as a check; 1 for the best itself.
    """

    word: Word
    best: str
    behind: float = 0.0
    low: float = 0.0
    high: float = 0.0
    p: float = 1.0
    mcnemar: float = 1.0

    @property
    def text(self) -> str:
        """The word, and for a method that is behind the points."""
        return f"behind by {self.behind * 100:.2f}" if self.word == "behind" else self.word


@dataclass(frozen=True)
class Standings:
    """How the methods of a table stand.

    Attributes:
        by_label: of each method of which it is known.
        decided: a sentence on how it was decided; empty if it is known of none.
    """

    by_label: Mapping[str, Standing]
    decided: str = ""

    @classmethod
    def of(cls, records: Mapping[str, Sequence[RunRecord]]) -> "Standings":
        """Of methods with their records, at least one each.

        Nothing is known of a method whose records do not say which test nodes were right, or that has too few runs in
        common with the best; then it is not known either whether the best is first.
        """
        means = {label: statistics.fmean(run.test_accuracy for run in runs) for label, runs in records.items()}
        best = max(means, key=means.__getitem__, default="")
        found = {label: difference(records[best], runs) for label, runs in records.items() if label != best}
        known = {label: one for label, one in found.items() if one is not None}
        standings: dict[str, Standing] = {}
        for label, p in corrected({label: one.p for label, one in known.items()}).items():
            one = known[label]
            word: Word = "behind" if one.mean > 0 and p < 1 - LEVEL else "tied"
            standings[label] = Standing(word, best, one.mean, *one.interval(LEVEL), p, one.mcnemar)
        if any(one.word == "tied" for one in standings.values()):
            standings[best] = Standing("tied", best)
        elif known and len(known) == len(found):
            standings[best] = Standing("first", best)
        return cls(standings, _decided([*known.values()], len(records) - len(standings)))


def corrected(p_values: Mapping[str, float]) -> dict[str, float]:
    """The p-values of differences from the best, corrected for all pairs of methods."""
    result, least, left = {}, 0.0, len(p_values) + 1
    for label in sorted(p_values, key=p_values.__getitem__):
        least = min(1.0, max(least, p_values[label] * left * (left - 1) / 2))
        result[label] = least
        left -= 1
    return result


def _decided(found: Sequence[Difference], unknown: int) -> str:
    if not found:
        return ""
    seeds, splits, nodes = (_between({getattr(one, name) for one in found}) for name in ("seeds", "splits", "nodes"))
    over = f"{seeds} seed{'s' * (seeds != '1')}" + (f" on each of {splits} random splits" if splits != "1" else "")
    return (
        "standing: first, tied with the highest accuracy (the difference may be chance), or behind it by these points; "
        f"decided at {LEVEL * 100:.0f} % for all pairs of {len(found) + 1} methods, with {over} and {nodes} test nodes"
        + (f"; {FEWEST} runs that say which test nodes were right are missing where it is –" if unknown else "")
    )


def _between(values: set[int]) -> str:
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
