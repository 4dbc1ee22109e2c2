"""The page that ``mggcn train`` leaves in a run folder: a report of the run alone, with a few targets' picks drawn."""

from html import escape
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mggcn import methods, storage
from mggcn.dataset import Dataset
from mggcn.explore.picks import describe
from mggcn.explore.scoring import Scorer
from mggcn.records import RunRecord, group
from mggcn.report import Part, drawing, render
from mggcn.run import Run
from mggcn.train import choose_device

_MOST_SCORED, _WRONG, _RIGHT = 4096, 3, 2
_ROW = "display:flex;flex-wrap:wrap;gap:1.5rem;align-items:flex-end"


def write_page(record: RunRecord, picks: Part | None, path: Path) -> None:
    """Write the page of a run.

    Args:
        record: of the run.
        picks: what :func:`picks_part` returned for it.
        path: the file.
    """
    published = methods.published_results(record.dataset, record.method, record.settings)
    page = render(group([record], lambda _: published), "html", [picks] if picks else [])
    storage.write_atomically(path, page.encode())


def picks_part(run: Run, dataset: Dataset) -> Part | None:
    """A hub among the test targets, a few that were given a wrong class, and a few that were given the right one.

    They are drawn with the picks that the evaluation had; None for a method that has none, or without test targets.
    """
    if "picks" not in run.record.settings or dataset.split is None:
        return None
    scorer = Scorer.of(run, dataset, choose_device(run.record.device))
    if scorer.picker is None:
        return None
    test = dataset.split.test[:_MOST_SCORED]
    given = scorer.probabilities(test).argmax(axis=1)
    drawn, figures = [], []
    for place in _chosen(dataset, test, given):
        node, right = int(test[place]), given[place] == dataset.y[test[place]]
        picks = describe(dataset, scorer.members(node, 0), scorer.explore)
        truth = "which is right" if right else f"in truth {dataset.classes[int(dataset.y[node])]}"
        caption = f"given {dataset.classes[int(given[place])]}, {truth}"
        drawn.append(picks)
        figures.append(
            '<figure style="margin:0;max-width:100%;overflow-x:auto">'
            f"{drawing.svg(picks, classes=dataset.classes, legend=False)}"
            f'<figcaption class="note">{escape(caption)}</figcaption></figure>'
        )
    legend = drawing.legend(drawn, dataset.classes)
    told = (
        "S(v) of a few test targets as the evaluation drew it: the one with most edges, then some that were given a "
        "wrong class and some that were given the right one."
    )
    return Part("Picks", f'<p>{told}</p>\n<div style="{_ROW}">{"".join(figures)}{legend}</div>\n')


def _chosen(dataset: Dataset, test: NDArray[np.int64], given: NDArray[np.int64]) -> list[int]:
    right = given == dataset.y[test]
    hub = int(dataset.graph.degrees[test].argmax())
    wrong = _spread(np.flatnonzero(~right), _WRONG)
    return list(dict.fromkeys([hub, *wrong, *_spread(np.flatnonzero(right), _RIGHT)]))


def _spread(places: NDArray[np.int64], most: int) -> list[int]:
    """At most so many, evenly spaced."""
    if places.size <= most:
        return [int(place) for place in places]
    return [int(place) for place in places[np.linspace(0, places.size - 1, most + 2).astype(np.int64)[1:-1]]]
