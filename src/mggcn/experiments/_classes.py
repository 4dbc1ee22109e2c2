"""Precision, recall and F1 of each class, from the confusion matrices of records.

A matrix has a row for each true class and a column for each predicted class; those of a row's seeds are summed. Where
there is nothing to divide by, a score is 0, as in scikit-learn. :mod:`mggcn.experiments._page` shows the scores and a
heat map for the best row of a section.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mggcn.experiments._charts import Spec, Values, as_spec, require_altair
from mggcn.experiments._rows import Row
from mggcn.experiments._table import Column, Table, brief_percent, whole

Matrix = list[list[int]]

_MOST_IN_CELLS, _MOST_DRAWN = 12, 60
_CELL, _WIDEST = 42, 560
_LIGHT = ["#f7fbff", "#4a98c9"]  # black digits are easy to read on all shades between


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
    if len({len(matrix) for matrix in matrices}) != 1:
        return []
    return [[sum(cells) for cells in zip(*rows, strict=True)] for rows in zip(*matrices, strict=True)]


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


def data(row: Row) -> Values:
    """The cells of the heat map: true class, predicted class, nodes of a seed, share of the true class."""
    matrix, named = confusion(row), names(row)
    if len(matrix) > _MOST_DRAWN:
        return []
    return [
        {
            "true": named[i],
            "predicted": named[j],
            "nodes": round(cell / row.done, 2),
            "share": round(_share(cell, sum(counts)), 4),
        }
        for i, counts in enumerate(matrix)
        for j, cell in enumerate(counts)
    ]


def chart(title: str, row: Row) -> Spec:
    """The heat map of a row with a confusion matrix; ``title`` stands before its label."""
    alt = require_altair()
    named = names(row)
    axis = alt.Axis(labelLimit=130)
    base = alt.Chart(alt.NamedData("confusion")).encode(
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


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
