"""How well the probability of each class ranks the test nodes, from the rankings of records."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from mggcn.experiments._charts import OKABE_ITO, Spec, Values, as_spec, require_altair
from mggcn.experiments._classes import names
from mggcn.experiments._rows import Row
from mggcn.experiments._table import Column, Table, brief_percent, whole
from mggcn.training import Alerts, Ranking

REQUIRED = 0.95
_KS = (10, 50, 100)
_MOST_CURVES = len(OKABE_ITO)

NOTE = (
    "Test nodes ranked by the probability of a class. PR-AUC is the average precision; P@50 is the precision among the "
    f"first 50 nodes. The threshold is the lowest probability with a precision of {REQUIRED:.0%} on the validation "
    "nodes; alerts are the test nodes that reach it, with their precision and recall. Means over seeds; alerts are "
    "those of all seeds together."
)


@dataclass(frozen=True)
class ClassRanking:
    """How a row ranks the test nodes by the probability of one class, over its seeds."""

    row: Row
    label: int

    @property
    def support(self) -> int:
        """The number of test nodes of the class, those of all seeds together."""
        return sum(sum(record.test_confusion[self.label]) for record in self.row.records)

    @property
    def threshold(self) -> float | None:
        """The mean threshold of the alerts."""
        return _mean([alerts.thresholds[self.label] for alerts in self._alerts])

    @property
    def alerts(self) -> int:
        """The number of alerts of all seeds."""
        return sum(alerts.test[self.label] for alerts in self._alerts)

    @property
    def correct(self) -> int:
        """The number of alerts of all seeds that are right."""
        return sum(alerts.correct[self.label] for alerts in self._alerts)

    def mean(self, figure: Callable[[Ranking], float | None]) -> float | None:
        """The mean of a figure over the seeds that have it."""
        return _mean([figure(ranking) for ranking in rankings(self.row)])

    def precision_at(self, k: int) -> float | None:
        """The mean precision among the first k nodes."""
        return self.mean(lambda ranking: ranking.precision_at[self.label][ranking.ks.index(k)])

    @property
    def _alerts(self) -> list[Alerts]:
        of_seeds = [alerts for ranking in rankings(self.row) for alerts in ranking.alerts]
        return [alerts for alerts in of_seeds if alerts.required == REQUIRED]


def _mean(values: Sequence[float | None]) -> float | None:
    """The mean over the seeds that have a value."""
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def rankings(row: Row) -> list[Ranking]:
    """The rankings of a row's seeds; none if a record has none or other classes."""
    found = [record.ranking for record in row.records if record.ranking is not None]
    return found if len(found) == row.done and len({len(one.pr_auc) for one in found}) == 1 else []


def ranking_table(rows: Sequence[Row]) -> Table[ClassRanking]:
    """A line for each row with rankings and each class: areas, precision at k, and alerts at the threshold."""
    having = [row for row in rows if rankings(row)]
    ks = [k for k in _KS if having and all(k in one.ks for row in having for one in rankings(row))]
    columns: list[Column[ClassRanking]] = [Column("method", lambda line: line.row.label)] if len(having) != 1 else []
    columns += [
        Column("class", lambda line: names(line.row)[line.label]),
        Column("test nodes", lambda line: line.support / line.row.done, whole),
        Column("PR-AUC, %", lambda line: line.mean(lambda one: one.pr_auc[line.label]), brief_percent),
        Column("ROC-AUC, %", lambda line: line.mean(lambda one: one.roc_auc[line.label]), brief_percent),
        *(Column(f"P@{k}, %", partial(ClassRanking.precision_at, k=k), brief_percent) for k in ks),
        Column(f"threshold for {REQUIRED:.0%}", lambda line: line.threshold, lambda value: f"{value:.4f}"),
        Column("alerts", lambda line: line.alerts / line.row.done, whole),
        Column("their precision, %", lambda line: line.correct / line.alerts if line.alerts else None, brief_percent),
        Column("their recall, %", lambda line: line.correct / line.support if line.support else None, brief_percent),
    ]
    lines = [ClassRanking(row, label) for row in having for label in range(len(rankings(row)[0].pr_auc))]
    return Table(columns, lines)


def data(row: Row) -> Values:
    """The points of the chart: class, k and mean precision of the seeds among the first k nodes."""
    found = rankings(row)
    if not found:
        return []
    ks = [k for k in found[0].ks if all(k in one.ks for one in found)]
    values = []
    for label, name in _drawn(row):
        for k in ks:
            precision = statistics.fmean(one.precision_at[label][one.ks.index(k)] for one in found)
            values.append({"class": name, "k": k, "precision": round(100 * precision, 3)})
    return values


def chart(title: str, row: Row) -> Spec:
    """The curves of precision at k of a row, one for each class; ``title`` stands before its label."""
    alt = require_altair()
    order = [name for _, name in _drawn(row)]
    colour = alt.Color("class:N", title=None, sort=order, scale=alt.Scale(domain=order, range=list(OKABE_ITO)))
    base = alt.Chart(alt.NamedData("ranking")).encode(
        x=alt.X("k:Q", title="first k test nodes", scale=alt.Scale(type="log")),
        y=alt.Y("precision:Q", title="precision, %", scale=alt.Scale(domain=[0, 100])),
        color=colour,
        tooltip=["class:N", "k:Q", alt.Tooltip("precision:Q", format=".1f")],
    )
    most = f" of the {len(order)} most frequent classes" if len(order) < len(names(row)) else ""
    full_title = f"{title}: precision at k of {row.label}{most}"
    layers = alt.layer(base.mark_line(), base.mark_point(filled=True, size=40))
    return as_spec(layers.properties(title=full_title, width="container", height=260))


def _drawn(row: Row) -> list[tuple[int, str]]:
    """The classes that are drawn, which have the most test nodes, in their order."""
    support = [sum(counts) for counts in row.records[0].test_confusion]
    most = sorted(range(len(support)), key=lambda label: -support[label])[:_MOST_CURVES]
    return [(label, names(row)[label]) for label in sorted(most) if support[label]]
