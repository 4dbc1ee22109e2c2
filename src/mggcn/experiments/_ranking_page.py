"""How well the probability of each class ranks the test nodes, from the rankings of records."""

import statistics
from collections.abc import Sequence

from mggcn.experiments._charts import OKABE_ITO, Spec, Values, as_spec, require_altair
from mggcn.experiments._classes_page import names
from mggcn.experiments._record_tables import SortKey, Table
from mggcn.experiments._row import Row
from mggcn.training import Alerts, Ranking

REQUIRED = 0.95
_KS = (10, 50, 100)
_MOST_CURVES = len(OKABE_ITO)
_NOT_THERE = "–"

NOTE = (
    "Test nodes ranked by the probability of a class. PR-AUC is the average precision; P@50 is the precision among the "
    f"first 50 nodes. The threshold is the lowest probability with a precision of {REQUIRED:.0%} on the validation "
    "nodes; alerts are the test nodes that reach it, with their precision and recall. Means over seeds; alerts are "
    "those of all seeds together."
)


def rankings(row: Row) -> list[Ranking]:
    """The rankings of a row's seeds; none if a record has none or other classes."""
    found = [record.ranking for record in row.records if record.ranking is not None]
    return found if len(found) == row.done and len({len(one.pr_auc) for one in found}) == 1 else []


def table(rows: Sequence[Row]) -> Table:
    """A line for each row with rankings and each class: areas, precision at k, and alerts at the threshold."""
    having = [row for row in rows if rankings(row)]
    ks = [k for k in _KS if having and all(k in one.ks for row in having for one in rankings(row))]
    lines = [_line(row, label, ks) for row in having for label in range(len(rankings(row)[0].pr_auc))]
    areas = ["PR-AUC, %", "ROC-AUC, %", *(f"P@{k}, %" for k in ks)]
    threshold = [f"threshold for {REQUIRED:.0%}", "alerts", "their precision, %", "their recall, %"]
    headings = ["method", "class", "test nodes", *areas, *threshold]
    cells = [[*map(str, line[:2]), *_texts(line[2:], len(areas))] for line in lines]
    if len(having) == 1:
        return Table(headings[1:], [cell[1:] for cell in cells], [line[1:] for line in lines])
    return Table(headings, cells, lines)


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


def _line(row: Row, label: int, ks: Sequence[int]) -> list[SortKey]:
    """The values of a class; None where there is none."""
    found = rankings(row)
    support = sum(sum(record.test_confusion[label]) for record in row.records)
    alerts = [one for ranking in found if (one := _at(ranking)) is not None]
    count, correct = (sum(counts[label] for counts in lists) for lists in _counts(alerts))
    return [
        row.label,
        names(row)[label],
        support / row.done,
        _mean([one.pr_auc[label] for one in found]),
        _mean([one.roc_auc[label] for one in found]),
        *(_mean([one.precision_at[label][one.ks.index(k)] for one in found]) for k in ks),
        _mean([one.thresholds[label] for one in alerts]),
        count / row.done,
        correct / count if count else None,
        correct / support if support else None,
    ]


def _at(ranking: Ranking) -> Alerts | None:
    return next((alerts for alerts in ranking.alerts if alerts.required == REQUIRED), None)


def _counts(alerts: Sequence[Alerts]) -> tuple[list[list[int]], list[list[int]]]:
    return [one.test for one in alerts], [one.correct for one in alerts]


def _texts(values: Sequence[SortKey], num_shares: int) -> list[str]:
    """The text of nodes, shares, threshold, alerts and two shares."""
    threshold = 1 + num_shares
    texts = []
    for index, value in enumerate(values):
        if not isinstance(value, int | float):
            texts.append(_NOT_THERE)
        elif index in (0, threshold + 1):
            texts.append(f"{value:,.0f}")
        else:
            texts.append(f"{value:.4f}" if index == threshold else f"{value * 100:.1f}")
    return texts


def _mean(values: Sequence[float | None]) -> float | None:
    """The mean over the seeds that have a value."""
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None
