"""The classes of rows: scores from the confusion matrices of records, and how well probabilities rank the test nodes.

A matrix has a row for each true class and a column for each predicted class; those of a row's seeds are summed. Where
there is nothing to divide by, a score is 0, as in scikit-learn. The page of a report shows these for the best row of a
section.
"""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mggcn.experiments._charts import OKABE_ITO, Spec, as_spec, require_altair
from mggcn.experiments._report_tables import Column, Table, Value, brief_percent, whole
from mggcn.experiments._sections import Row
from mggcn.training import Ranking, mean

Matrix = list[list[int]]
Counts = NDArray[np.int64]

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


def scores(row: Row) -> list[ClassScores]:
    """The scores of each class of a row with a confusion matrix."""
    counts = np.array(confusion(row))
    hits, predicted, support = counts.diagonal(), counts.sum(axis=0), counts.sum(axis=1)
    shares = _share(hits, predicted), _share(hits, support), _share(2 * hits, predicted + support)
    return list(map(ClassScores, names(row), *(share.tolist() for share in shares), support.tolist()))


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
        scores(row),
    )


def f1_table(rows: Sequence[Row]) -> Table[int]:
    """F1 of each class, for every row whose confusion matrix has the same classes as the first."""
    having = [row for row in rows if confusion(row)]
    named = names(having[0])
    columns: list[Column[int]] = [Column("class", named.__getitem__)]
    for row in having:
        if names(row) == named:
            values = [entry.f1 for entry in scores(row)]
            columns.append(Column(row.label, values.__getitem__, brief_percent))
    return Table(columns, range(len(named)))


def rankings(row: Row) -> list[Ranking]:
    """The rankings of a row's seeds; none if a record has none or other classes."""
    found = [record.ranking for record in row.records if record.ranking is not None]
    return found if len(found) == row.done and len({len(one.pr_auc) for one in found}) == 1 else []


def ranking_table(rows: Sequence[Row]) -> Table[Sequence[Value]]:
    """A line for each row with rankings and each class: areas, precision at k, and alerts at the threshold."""
    having = [row for row in rows if rankings(row)]
    ks = [k for k in _KS if having and all(k in one.ks for row in having for one in rankings(row))]
    written: dict[str, Callable[[Any], str]] = {
        "method": str,
        "class": str,
        "test nodes": whole,
        "PR-AUC, %": brief_percent,
        "ROC-AUC, %": brief_percent,
        **{f"P@{k}, %": brief_percent for k in ks},
        f"threshold for {REQUIRED:.0%}": "{:.4f}".format,
        "alerts": whole,
        "their precision, %": brief_percent,
        "their recall, %": brief_percent,
    }
    columns: list[Column[Sequence[Value]]] = [
        Column(heading, itemgetter(number), write) for number, (heading, write) in enumerate(written.items())
    ]
    lines = [_ranked(row, label, ks) for row in having for label in range(len(names(row)))]
    return Table(columns[1:] if len(having) == 1 else columns, lines)


def _ranked(row: Row, label: int, ks: Sequence[int]) -> list[Value]:
    """How a row ranks the test nodes by the probability of one class, over its seeds."""
    found = rankings(row)
    alerts = [one for ranking in found for one in ranking.alerts if one.required == REQUIRED]
    support = sum(sum(record.test_confusion[label]) for record in row.records)
    raised, correct = sum(one.test[label] for one in alerts), sum(one.correct[label] for one in alerts)
    return [
        row.label,
        names(row)[label],
        support / row.done,
        mean(one.pr_auc[label] for one in found),
        mean(one.roc_auc[label] for one in found),
        *(mean(one.precision_at[label][one.ks.index(k)] for one in found) for k in ks),
        mean(one.thresholds[label] for one in alerts),
        raised / row.done,
        correct / raised if raised else None,
        correct / support if support else None,
    ]


def confusion_chart(title: str, row: Row) -> Spec | None:
    """The heat map of a row with a confusion matrix, ``title`` before its label; None if it has too many classes."""
    alt, counts, named = require_altair(), np.array(confusion(row)), names(row)
    if len(named) > _MOST_DRAWN:
        return None
    shares = _share(counts, counts.sum(axis=1, keepdims=True))
    cells = [
        {
            "true": true,
            "predicted": predicted,
            "nodes": round(int(counts[i, j]) / row.done, 2),
            "share": round(float(shares[i, j]), 4),
        }
        for i, true in enumerate(named)
        for j, predicted in enumerate(named)
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
    values = [
        {
            "class": named[label],
            "k": k,
            "precision": round(100 * statistics.fmean(one.precision_at[label][one.ks.index(k)] for one in found), 3),
        }
        for label in drawn
        for k in ks
    ]
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


def _share(part: Counts, whole: Counts) -> NDArray[np.float64]:
    return np.divide(part, whole, out=np.zeros(part.shape), where=whole > 0)
