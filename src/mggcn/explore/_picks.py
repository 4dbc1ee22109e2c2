"""The picks of a target as the evaluation draws them, and the page of a run with a few drawings of them.

``mggcn train`` writes the page into the folder of the run.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mggcn._io.files import write_atomically
from mggcn.data import UNLABELLED, Dataset, names_in_draws
from mggcn.experiments import Part, group, render
from mggcn.explore import _drawing as drawing
from mggcn.graph import Graph
from mggcn.kernels.pick import Explore, PickTable
from mggcn.keys import Key
from mggcn.runs import Run, Scorer, without_padding
from mggcn.training import RunRecord, choose_device

_MAX_SCORED, _WRONG, _CORRECT = 4096, 3, 2
_STYLE = "display:flex;flex-wrap:wrap;gap:1.5rem;align-items:flex-end"
_NOTE = (
    "S(v) of a few test targets as the evaluation drew it: the one with most edges, then some with a wrong prediction "
    "and some with a correct one."
)


def draw_picks(
    dataset: Dataset, target: int, *, picks: int, seed: int = 0, draw: int = 0, explore: Explore = "both"
) -> drawing.Picks:
    """Pick nodes for a target by degree, as the evaluation does.

    Args:
        dataset: the graph, the ids and the labels.
        target: its node number.
        picks: the paper's M.
        seed: the seed of the run.
        draw: the number of the evaluation's draw; the test accuracy is that of draw 0.
        explore: whose neighbours may be picked, see :meth:`mggcn.kernels.pick.PickTable.draw`.
    """
    table = PickTable.of(dataset.graph, names=names_in_draws(dataset))
    key = Key.of(seed).fold("eval", draw)
    (members,) = table.draw(np.array([target]), picks, key, explore=explore)
    return describe(dataset, without_padding(members.tolist()), explore)


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


def describe(dataset: Dataset, members: Sequence[int], explore: Explore = "both") -> drawing.Picks:
    """The drawing of S(v): the target, then its picks in order, without padding."""
    labels = (int(dataset.y[node]) for node in members)
    return drawing.Picks(
        names=tuple(str(name) for name in dataset.ids_of(np.array(members)).tolist()),
        parents=tuple(parents(dataset.graph, members, explore)),
        degrees=tuple(int(dataset.graph.degrees[node]) for node in members),
        labels=tuple(None if label == UNLABELLED else label for label in labels),
    )


def write_page(record: RunRecord, picks: Part | None, path: Path) -> None:
    """Write the page of a run, with the result of :func:`picks_part`."""
    page = render(group([record]), "html", [picks] if picks else [])
    write_atomically(path, page.encode())


def picks_part(run: Run, dataset: Dataset) -> Part | None:
    """Drawings of the evaluation's picks for a hub among the test targets, and a few wrong and correct predictions.

    None if the method has no picks or the data set no split.
    """
    if "picks" not in run.record.settings or dataset.split is None:
        return None
    scorer = Scorer.of(run, dataset, choose_device(run.record.device))
    if scorer.picker is None:
        return None
    test = dataset.split.test[:_MAX_SCORED]
    predicted, labels = scorer.probabilities(test).argmax(axis=1), dataset.y[test]
    drawings, figures = [], []
    for index in _selected(dataset.graph.degrees[test], predicted == labels):
        picks = describe(dataset, scorer.members(int(test[index]), 0), scorer.explore)
        is_correct = predicted[index] == labels[index]
        truth = " (correct)" if is_correct else f", true class {dataset.classes[labels[index]]}"
        caption = f"predicted {dataset.classes[predicted[index]]}{truth}"
        drawings.append(picks)
        figures.append(
            '<figure style="margin:0;max-width:100%;overflow-x:auto">'
            f"{drawing.svg(picks, classes=dataset.classes, legend=False)}"
            f'<figcaption class="note">{escape(caption)}</figcaption></figure>'
        )
    legend = drawing.legend(drawings, dataset.classes)
    return Part("Picks", f'<p>{_NOTE}</p>\n<div style="{_STYLE}">{"".join(figures)}{legend}</div>\n')


def _selected(degrees: NDArray[np.int64], is_correct: NDArray[np.bool_]) -> list[int]:
    """The indices of the hub, of some wrong and of some correct predictions."""
    wrong = _spaced(np.flatnonzero(~is_correct), _WRONG)
    return list(dict.fromkeys([int(degrees.argmax()), *wrong, *_spaced(np.flatnonzero(is_correct), _CORRECT)]))


def _spaced(indices: NDArray[np.int64], count: int) -> list[int]:
    """At most ``count`` of the indices, evenly spaced."""
    if indices.size > count:
        indices = indices[np.linspace(0, indices.size - 1, count + 2).astype(np.int64)[1:-1]]
    return [int(index) for index in indices]
