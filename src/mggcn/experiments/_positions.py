"""The mean position of each method over several data sets, and the critical difference.

On each data set the method with the highest mean test accuracy has position 1; equal ones have the mean of theirs. Two
methods differ if their mean positions differ by more than the critical difference of Nemenyi's test, after the test of
Friedman (Demšar 2006, "Statistical comparisons of classifiers over multiple data sets"). It counts data sets only: how
clear a difference is on one of them is in its own table.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mggcn.experiments._charts import (
    OKABE_ITO,
    ROW_HEIGHT,
    Spec,
    as_spec,
    methods_axis,
    require_altair,
    sized,
    tooltips,
)
from mggcn.experiments._report_tables import Table, table_of_lines
from mggcn.experiments._sections import ExperimentInfo, Section
from mggcn.experiments._standing import LEVEL

FEWEST = 3
"""The data sets and methods that it takes."""


@dataclass(frozen=True)
class Positions:
    """The positions of the methods that were run on all data sets of an experiment or of a report.

    Attributes:
        title: of the experiment; empty for a report of several or none.
        datasets: their names.
        means: the mean position of each method, the best first.
        critical: the critical difference of two of them at 95 %.
        p: the p-value of Friedman's test that all methods are equal.
    """

    title: str
    datasets: tuple[str, ...]
    means: Mapping[str, float]
    critical: float
    p: float

    @property
    def heading(self) -> str:
        """A heading for a document."""
        return f"{self.title}: all data sets" if self.title else "All data sets"

    @property
    def note(self) -> str:
        """How it was decided."""
        return (
            f"Mean positions by test accuracy of the {len(self.means)} methods that were run on all of "
            f"{len(self.datasets)} data sets: {', '.join(self.datasets)}. Two methods differ at {LEVEL * 100:.0f} % "
            f"(Nemenyi's test) if they are more than {self.critical:.2f} apart, so that their lines do not overlap. "
            f"Friedman's test that all methods are equal has p = {self.p:.2g}."
        )

    def table(self) -> Table[Sequence[str | float | None]]:
        """The mean positions."""
        return table_of_lines(
            ["method", "mean position"], [[label, round(mean, 2)] for label, mean in self.means.items()]
        )

    def chart(self) -> Spec:
        """The mean positions, each with half of the critical difference on both sides."""
        alt = require_altair()
        values = [
            {"method": label, "position": mean, "low": mean - self.critical / 2, "high": mean + self.critical / 2}
            for label, mean in self.means.items()
        ]
        base = alt.Chart(alt.InlineData(values=values)).encode(y=methods_axis(alt))
        x = alt.X("low:Q", title="mean position, 1 is the most accurate", scale=alt.Scale(zero=False, nice=False))
        lines = base.mark_rule(strokeWidth=2, color=OKABE_ITO[4]).encode(x=x, x2="high:Q")
        means = base.mark_point(filled=True, size=70, color=OKABE_ITO[0], opacity=1).encode(
            x=alt.X("position:Q"), tooltip=tooltips(alt, "position")
        )
        title = f"Mean position over {len(self.datasets)} data sets; methods differ if their lines do not overlap"
        return as_spec(sized(alt.layer(lines, means), title, ROW_HEIGHT * len(values)))


def positions(sections: Sequence[Section]) -> list[Positions]:
    """The positions of each experiment on several data sets, and of all other sections if their data sets differ.

    It takes at least three data sets, and three methods that were run on all of them.
    """
    shown = [section for section in sections if section.measured and not section.measures_time]
    sizes = Counter(section.experiment for section in shown)
    groups: dict[ExperimentInfo | None, list[Section]] = {}
    for section in shown:
        groups.setdefault(section.experiment if sizes[section.experiment] > 1 else None, []).append(section)
    found = []
    for info, several in groups.items():
        accuracies = [{row.label: row.figures.accuracy for row in section.measured} for section in several]
        labels = [label for label in accuracies[0] if all(label in others for others in accuracies)]
        datasets = tuple(dict.fromkeys(section.dataset for section in several))
        if len(datasets) == len(several) >= FEWEST <= len(labels):
            of_all = np.array([[others[label] for label in labels] for others in accuracies])
            means, critical, p = nemenyi(of_all)
            ordered = dict(sorted(zip(labels, means, strict=True), key=lambda pair: pair[1]))
            title = (info.title or info.name) if info else ""
            found.append(Positions(title, datasets, ordered, critical, p))
    return found


def nemenyi(accuracies: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> tuple[list[float], float, float]:
    """The mean position of each method, their critical difference at 95 %, and the p-value of Friedman's test.

    Args:
        accuracies: [data sets, methods].
    """
    from scipy import stats

    count, methods = accuracies.shape
    of_each = stats.rankdata(-accuracies, axis=1)
    quantile = float(stats.studentized_range.ppf(LEVEL, methods, math.inf)) / math.sqrt(2)
    spread = np.square(of_each - (methods + 1) / 2).sum() / (methods - 1)
    between = count * np.square(of_each.mean(axis=0) - (methods + 1) / 2).sum()
    p = float(stats.chi2.sf(count * between / spread, methods - 1)) if spread else 1.0
    return of_each.mean(axis=0).tolist(), quantile * math.sqrt(methods * (methods + 1) / (6 * count)), p
