"""The picks of a target as the evaluation draws them, and the page of a run with a few drawings of them.

``mggcn train`` writes the page into the folder of the run.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np

from mggcn._io.files import write_atomically
from mggcn.data import UNLABELLED, Dataset
from mggcn.experiments import Part, group, render
from mggcn.explore import _drawing as drawing
from mggcn.explore._lookups import spaced
from mggcn.graph import Graph
from mggcn.kernels.pick import Explore
from mggcn.runs import Run, Scorer
from mggcn.training import RunRecord, choose_device

_MAX_SCORED, _WRONG, _CORRECT = 4096, 3, 2
_STYLE = "display:flex;flex-wrap:wrap;gap:1.5rem;align-items:flex-end"
_NOTE = (
    "S(v) of a few test targets as the evaluation drew it: the one with most edges, then some with a wrong prediction "
    "and some with a correct one."
)


def parents(graph: Graph, members: Sequence[int], explore: Explore = "both") -> list[int]:
    """The index of the member by whose edge each pick was reached: the first one that is its neighbour."""
    indices = []
    for index, node in enumerate(members[1:], 1):
        candidates = {"both": range(index), "breadth": range(1), "depth": range(index - 1, index)}[explore]
        indices.append(next(other for other in candidates if is_neighbour(graph, members[other], node)))
    return indices


def is_neighbour(graph: Graph, node: int, other: int) -> bool:
    """Whether ``other`` is in the row of ``node``."""
    row = graph.row(node)
    index = int(np.searchsorted(row, other))
    return index < row.size and int(row[index]) == other


def write_page(record: RunRecord, picks: Part | None, path: Path) -> None:
    """Write the page of a run, with the result of :func:`picks_part`."""
    page = render(group([record]), "html", [picks] if picks else [])
    write_atomically(path, page.encode())


def picks_part(run: Run, dataset: Dataset) -> Part | None:
    """Drawings of the evaluation's picks for a hub among the test targets, and a few wrong and correct predictions.

    Picks are those of the run's best recipe if it has several. None without picks or without a split.
    """
    if "picks" not in run.record.settings or dataset.split is None:
        return None
    scorer = Scorer.of(run, dataset, choose_device(run.record.device))
    if scorer.picker is None:
        return None
    test = dataset.split.test[:_MAX_SCORED]
    p = run.predict(dataset, test, device=run.record.device).probabilities if run.others else scorer.probabilities(test)
    predicted, labels, degrees = p.argmax(axis=1), dataset.y[test], dataset.graph.degrees
    wrong, correct = np.flatnonzero(predicted != labels), np.flatnonzero(predicted == labels)
    hub = int(degrees[test].argmax())
    drawings, figures = [], []
    for index in dict.fromkeys([hub, *spaced(wrong, _WRONG).tolist(), *spaced(correct, _CORRECT).tolist()]):
        members = scorer.members(int(test[index]), 0)
        picks = drawing.Picks(
            names=tuple(str(name) for name in dataset.ids_of(np.array(members)).tolist()),
            parents=tuple(parents(dataset.graph, members, scorer.explore)),
            degrees=tuple(degrees[members].tolist()),
            labels=tuple(None if label == UNLABELLED else label for label in dataset.y[members].tolist()),
        )
        truth = " (correct)" if predicted[index] == labels[index] else f", true class {dataset.classes[labels[index]]}"
        caption = f"predicted {dataset.classes[predicted[index]]}{truth}"
        drawings.append(picks)
        figures.append(
            '<figure style="margin:0;max-width:100%;overflow-x:auto">'
            f"{drawing.svg(picks, dataset.classes)}"
            f'<figcaption class="note">{escape(caption)}</figcaption></figure>'
        )
    legend = drawing.legend(drawings, dataset.classes)
    return Part("Picks", f'<p>{_NOTE}</p>\n<div style="{_STYLE}">{"".join(figures)}{legend}</div>\n')
