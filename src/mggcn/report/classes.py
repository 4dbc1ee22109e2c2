"""How well each class is told from the others, from the confusion matrices that runs record.

A matrix has a row for each true class and a column for each class given; those of a line's seeds are summed. From that
come precision, recall and F1 of each class (0 where there is nothing to divide by, as scikit-learn has it), a table
of them, one of F1 by method, and a heat map. :mod:`mggcn.report.page` shows them for the best line of a section; what a
page shows beyond its sections is given to it as :class:`mggcn.report.page.Part`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mggcn.records.lines import Line
from mggcn.report.charts import Chart, Values, drawn, require_altair
from mggcn.report.tables import Table

Matrix = list[list[int]]

_MOST_IN_CELLS, _MOST_DRAWN = 12, 60
_CELL, _TALLEST = 32, 720


@dataclass(frozen=True)
class ClassScores:
    """One class of a confusion matrix.

    Attributes:
        name: of the class.
        precision: the share of what was given this class that is of it.
        recall: the share of what is of this class that was given it.
        f1: their harmonic mean.
        support: how many nodes are of this class.
    """

    name: str
    precision: float
    recall: float
    f1: float
    support: int


def confusion(line: Line) -> Matrix:
    """The matrices of a line's seeds, summed; empty where their sizes differ."""
    matrices = [record.test_confusion for record in line.records]
    if len({len(matrix) for matrix in matrices}) != 1:
        return []
    return [[sum(cells) for cells in zip(*rows, strict=True)] for rows in zip(*matrices, strict=True)]


def names(line: Line) -> list[str]:
    """Those of the classes of a line's data set, or numbers where it does not name as many as there are."""
    known = line.records[0].dataset.get("classes") or []
    size = len(line.records[0].test_confusion)
    return [str(name) for name in known] if len(known) == size else [f"class {label}" for label in range(size)]


def scores(matrix: Matrix, named: Sequence[str]) -> list[ClassScores]:
    """The scores of each class of a confusion matrix."""
    given = [sum(column) for column in zip(*matrix, strict=True)]
    found = []
    for label, (name, row) in enumerate(zip(named, matrix, strict=True)):
        hits, support = row[label], sum(row)
        f1 = _share(2 * hits, given[label] + support)
        found.append(ClassScores(name, _share(hits, given[label]), _share(hits, support), f1, support))
    return found


def best(lines: Sequence[Line]) -> Line | None:
    """The most accurate of the lines that have a confusion matrix."""
    return max((line for line in lines if confusion(line)), key=lambda line: line.figures.accuracy, default=None)


def table(line: Line) -> Table:
    """The scores of each class for a line; its nodes are those of one seed."""
    found = scores(confusion(line), names(line))
    seeds = len(line.records)
    rows = [
        [
            one.name,
            *(f"{value * 100:.1f}" for value in (one.precision, one.recall, one.f1)),
            f"{one.support / seeds:,.0f}",
        ]
        for one in found
    ]
    keys: list[list[str | float | None]] = [
        [one.name, one.precision, one.recall, one.f1, one.support / seeds] for one in found
    ]
    return Table(["class", "precision, %", "recall, %", "F1, %", "test nodes"], rows, keys)


def f1_table(lines: Sequence[Line]) -> Table:
    """F1 of each class, a row for each line with a confusion matrix of the same classes as the first one's."""
    having = [line for line in lines if confusion(line)]
    scored = [(line, scores(confusion(line), names(line))) for line in having if names(line) == names(having[0])]
    headings = ["method", *(one.name for one in scored[0][1])]
    rows = [[line.label, *(f"{one.f1 * 100:.1f}" for one in found)] for line, found in scored]
    return Table(headings, rows, [[line.label, *(one.f1 for one in found)] for line, found in scored])


def data(line: Line) -> Values:
    """A row for each cell of the heat map: true class, class given, nodes of a seed, share of the true class."""
    matrix, named, seeds = confusion(line), names(line), len(line.records)
    if len(matrix) > _MOST_DRAWN:
        return []
    return [
        {
            "true": named[i],
            "given": named[j],
            "nodes": round(cell / seeds, 2),
            "share": round(_share(cell, sum(row)), 4),
        }
        for i, row in enumerate(matrix)
        for j, cell in enumerate(row)
    ]


def chart(title: str, line: Line, source: str) -> Chart:
    """The heat map.

    Args:
        title: what it is of, before the label of the line.
        line: with a confusion matrix.
        source: the name under which the page holds :func:`data`.
    """
    alt = require_altair()
    named = names(line)
    axis = alt.Axis(labelLimit=130)
    base = alt.Chart(alt.NamedData(source)).encode(
        x=alt.X("given:N", title="class given", sort=named, axis=axis),
        y=alt.Y("true:N", title="true class", sort=named, axis=axis),
        tooltip=[
            alt.Tooltip("true:N", title="true class"),
            alt.Tooltip("given:N", title="class given"),
            alt.Tooltip("nodes:Q", title="test nodes", format=",.1~f"),
            alt.Tooltip("share:Q", title="share of the true class", format=".1%"),
        ],
    )
    scale = alt.Scale(scheme="cividis", domain=[0, 1])
    legend = alt.Legend(title="share of the true class", format=".0%", orient="bottom", gradientLength=200)
    layers = [base.mark_rect().encode(color=alt.Color("share:Q", scale=scale, legend=legend))]
    if len(named) <= _MOST_IN_CELLS:
        ink = alt.condition("datum.share > 0.5", alt.value("black"), alt.value("white"))
        layers.append(base.mark_text(fontSize=11).encode(text=alt.Text("nodes:Q", format=",.1~f"), color=ink))
    per_seed = ", test nodes of a seed on average" if len(line.records) > 1 else ", test nodes"
    return drawn(
        alt.layer(*layers).properties(
            title=f"{title}: confusion of {line.label}{per_seed}",
            width="container",
            height=min(_TALLEST, _CELL * len(named)),
        ),
        source,
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
