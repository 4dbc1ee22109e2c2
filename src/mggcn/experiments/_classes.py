"""The classes of rows: scores from the confusion matrices of records, and how well probabilities rank the test nodes.

A matrix has a row for each true class and a column for each predicted class; those of a row's seeds are summed. Where
there is nothing to divide by, a score is 0, as in scikit-learn. The page of a report shows these for the best row of a
section.
"""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from mggcn.experiments._charts import OKABE_ITO, Spec, as_spec, require_altair
from mggcn.experiments._rows import Row
from mggcn.experiments._tables import Column, Table, brief_percent, whole
from mggcn.training import Alerts, Ranking

Matrix = list[list[int]]

_MOST_IN_CELLS, _MOST_DRAWN = 12, 60
_CELL, _WIDEST = 42, 560
_LIGHT = ["#f7fbff", "#4a98c9"]  # black digits are easy to read on all shades between
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
class ClassScores:
    """The scores of one class; ``support`` is the number of its nodes."""

    name: str
    precision: float
    recall: float
    f1: float
    support: int


def confusion(row: Row) -> Matrix:
    """The sum of the matrices of a row's seeds; empty if their sizes differ."""
    matrices = [record.test_confusion for record in row.records]
    total: Matrix = np.sum(matrices, axis=0).tolist() if len(set(map(len, matrices))) == 1 else []
    return total


def names(row: Row) -> list[str]:
    """The names of the classes, or numbers if the data set does not name as many as there are."""
    known = row.records[0].dataset.get("classes") or []
    size = len(row.records[0].test_confusion)
    return [str(name) for name in known] if len(known) == size else [f"class {label}" for label in range(size)]


def scores(matrix: Matrix, named: Sequence[str]) -> list[ClassScores]:
    """The scores of each class of a confusion matrix."""
    predicted = [sum(column) for column in zip(*matrix, strict=True)]
    of_classes = []
    for label, (name, counts) in enumerate(zip(named, matrix, strict=True)):
        hits, support = counts[label], sum(counts)
        f1 = _share(2 * hits, predicted[label] + support)
        of_classes.append(ClassScores(name, _share(hits, predicted[label]), _share(hits, support), f1, support))
    return of_classes


def best(rows: Sequence[Row]) -> Row | None:
    """The most accurate row that has a confusion matrix."""
    return max((row for row in rows if confusion(row)), key=lambda row: row.figures.accuracy, default=None)


def class_table(row: Row) -> Table[ClassScores]:
    """The scores of each class; the number of nodes is that of one seed."""
    return Table(
        [
            Column("class", lambda entry: entry.name),
            Column("precision, %", lambda entry: entry.precision, brief_percent),
            Column("recall, %", lambda entry: entry.recall, brief_percent),
            Column("F1, %", lambda entry: entry.f1, brief_percent),
            Column("test nodes", lambda entry: entry.support / row.done, whole),
        ],
        scores(confusion(row), names(row)),
    )


def f1_table(rows: Sequence[Row]) -> Table[int]:
    """F1 of each class, for every row whose confusion matrix has the same classes as the first.

    A line is a method, or a class if there are more classes than methods: tables grow down rather than wide.
    """
    having = [row for row in rows if confusion(row)]
    scored = [(row, scores(confusion(row), names(row))) for row in having if names(row) == names(having[0])]
    first, lines, headings = "method", [row.label for row, _ in scored], names(having[0])
    values = [[entry.f1 for entry in of_classes] for _, of_classes in scored]
    if len(headings) > max(len(lines), _MOST_IN_CELLS):
        first, lines, headings = "class", headings, lines
        values = [list(of_class) for of_class in zip(*values, strict=True)]

    def column(number: int) -> Column[int]:
        return Column(headings[number], lambda line: values[line][number], brief_percent)

    return Table([Column(first, lines.__getitem__), *map(column, range(len(headings)))], range(len(lines)))


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


def confusion_chart(title: str, row: Row) -> Spec | None:
    """The heat map of a row with a confusion matrix, ``title`` before its label; None if it has too many classes."""
    alt, matrix, named = require_altair(), confusion(row), names(row)
    if len(matrix) > _MOST_DRAWN:
        return None
    cells = [
        {
            "true": named[i],
            "predicted": named[j],
            "nodes": round(cell / row.done, 2),
            "share": round(_share(cell, sum(counts)), 4),
        }
        for i, counts in enumerate(matrix)
        for j, cell in enumerate(counts)
    ]
    axis = alt.Axis(labelLimit=130)
    base = alt.Chart(alt.InlineData(values=cells)).encode(
        x=alt.X("predicted:N", title="predicted class", sort=named, axis=axis),
        y=alt.Y("true:N", title="true class", sort=named, axis=axis),
        tooltip=[
            alt.Tooltip("true:N", title="true class"),
            alt.Tooltip("predicted:N", title="predicted class"),
            alt.Tooltip("nodes:Q", title="test nodes", format=",.1~f"),
            alt.Tooltip("share:Q", title="share of the true class", format=".1%"),
        ],
    )
    scale = alt.Scale(range=_LIGHT, domain=[0, 1])
    legend = alt.Legend(title="share of the true class", format=".0%", orient="bottom", gradientLength=200)
    layers = [base.mark_rect().encode(color=alt.Color("share:Q", scale=scale, legend=legend))]
    if len(named) <= _MOST_IN_CELLS:
        ink = alt.condition("datum.nodes > 0", alt.value("black"), alt.value("#767676"))
        layers.append(base.mark_text(fontSize=11).encode(text=alt.Text("nodes:Q", format=",.1~f"), color=ink))
    per_seed = ", mean number of test nodes of a seed" if row.done > 1 else ", test nodes"
    full_title = f"{title}: confusion of {row.label}{per_seed}"
    step = alt.Step(min(_CELL, _WIDEST // len(named)))
    return as_spec(alt.layer(*layers).properties(title=full_title, width=step, height=step))


def ranking_chart(title: str, row: Row) -> Spec | None:
    """The precision at k of the most frequent classes of a row, ``title`` before its label; None without rankings."""
    found = rankings(row)
    if not found:
        return None
    alt, named = require_altair(), names(row)
    support = [sum(counts) for counts in row.records[0].test_confusion]
    most = sorted(range(len(support)), key=lambda label: -support[label])[:_MOST_CURVES]
    drawn = [label for label in sorted(most) if support[label]]
    order = [named[label] for label in drawn]
    ks = [k for k in found[0].ks if all(k in one.ks for one in found)]
    values = []
    for label in drawn:
        for k in ks:
            precision = ClassRanking(row, label).precision_at(k) or 0.0
            values.append({"class": named[label], "k": k, "precision": round(100 * precision, 3)})
    colour = alt.Color("class:N", title=None, sort=order, scale=alt.Scale(domain=order, range=list(OKABE_ITO)))
    base = alt.Chart(alt.InlineData(values=values)).encode(
        x=alt.X("k:Q", title="first k test nodes", scale=alt.Scale(type="log")),
        y=alt.Y("precision:Q", title="precision, %", scale=alt.Scale(domain=[0, 100])),
        color=colour,
        tooltip=["class:N", "k:Q", alt.Tooltip("precision:Q", format=".1f")],
    )
    limited = f" of the {len(order)} most frequent classes" if len(order) < len(named) else ""
    full_title = f"{title}: precision at k of {row.label}{limited}"
    layers = alt.layer(base.mark_line(), base.mark_point(filled=True, size=40))
    return as_spec(layers.properties(title=full_title, width="container", height=260))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
