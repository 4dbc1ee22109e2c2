"""Explorer: answers questions about single nodes of a run, as values that the server sends as JSON.

What depends on the whole graph is computed only once. In all answers, a class is its index, ``label`` is the true class
of a node, or None if it is unknown, and ``total`` also counts what is not listed.
"""

import math
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mggcn.data import UNLABELLED, Dataset, Measure, plain
from mggcn.errors import InputError
from mggcn.experiments import OKABE_ITO, SHAPES
from mggcn.explore._lookups import IdIndex, Medians, Payments, features_of
from mggcn.explore._picks import is_neighbour, parents
from mggcn.runs import Run, Scorer, explain

MAX_DRAWS = 1000

Answer = dict[str, Any]

_MAX_FEATURES, _MAX_NEIGHBOURS, _MAX_PICKED, _MAX_SUGGESTED = 20, 200, 60, 10
_SATURATED = 0.99


def _is_saturated(probability: float) -> bool:
    """Whether a probability is so near 1 that what adds to it is hardly seen in it."""
    return bool(probability > _SATURATED)


class _InTime:
    """The numbers of draws, of which none begins after some seconds, except for the first.

    Attributes:
        made: how many draws there were.
    """

    def __init__(self, most: int, seconds: float) -> None:
        self._most, self._end = most, time.monotonic() + seconds
        self.made = 0

    def __iter__(self) -> Iterator[int]:
        for draw in range(self._most):
            if draw and time.monotonic() >= self._end:
                return
            self.made = draw + 1
            yield draw


@dataclass(frozen=True, eq=False)
class Explorer:
    """Answers questions about nodes."""

    scorer: Scorer
    ids: IdIndex

    @classmethod
    def of(cls, run: Run, dataset: Dataset) -> "Explorer":
        """Prepare a run to answer questions about the nodes of a graph."""
        return cls(Scorer.of(run, dataset), IdIndex(dataset))

    @property
    def dataset(self) -> Dataset:
        """The graph."""
        return self.scorer.dataset

    def about(self) -> Answer:
        """The run, its classes with a colour and a shape for each, and a few nodes to start with."""
        record, picker = self.scorer.run.record, self.scorer.picker
        count = len(OKABE_ITO)
        return {
            "dataset": record.dataset["name"],
            "source": self.dataset.source,
            "method": record.method,
            "seed": record.seed,
            "test_accuracy": record.test_accuracy,
            "num_nodes": self.dataset.num_nodes,
            "num_edges": self.dataset.graph.num_edges,
            "classes": [
                {"name": name, "colour": OKABE_ITO[label % count], "shape": SHAPES[label // count % len(SHAPES)]}
                for label, name in enumerate(self.scorer.run.classes)
            ],
            "picks": picker.picks if picker else 0,
            "redraws": picker is not None and picker.fixed_key is None,
            "examples": self._names(self._examples()),
        }

    def suggest(self, text: str) -> list[str]:
        """A few ids that begin with ``text``."""
        return self._names(self.ids.search(text.strip(), _MAX_SUGGESTED))

    def node(self, node: int) -> Answer:
        """The class probabilities of a node, as in the evaluation, and its part of the split, None if it is in none."""
        probabilities = self._probabilities(node)
        parts = self.dataset.split.parts() if self.dataset.split else {}
        return {
            **self._described([node])[0],
            "number": node,
            "split": next((name for name, nodes in parts.items() if node in nodes), None),
            "predicted": int(probabilities.argmax()),
            "probabilities": probabilities.tolist(),
        }

    def features(self, node: int) -> Answer:
        """The features in which a node differs most from the medians of its predicted class.

        Values and medians are in the unit of the feature, a ``difference`` is in standard deviations of the training
        nodes.
        """
        row = features_of(self.dataset, node)
        predicted, label = int(self._probabilities(node).argmax()), self._label(node)
        medians, names = self._medians.medians, self.dataset.feature_names
        differences = (row - medians[predicted]) / self._medians.deviation
        order = np.argsort(-np.abs(differences), kind="stable")[:_MAX_FEATURES]
        measures = [self._measure(column) for column in range(self.dataset.num_features)]
        return {
            "predicted": predicted,
            "label": label,
            "total": self.dataset.num_features,
            "features": [
                {
                    "name": (names[column] if names else "") or f"feature {column}",
                    "unit": measures[column].unit,
                    "value": measures[column].value(float(row[column])),
                    "median": measures[column].value(float(medians[predicted, column])),
                    "median_of_label": None if label is None else measures[column].value(float(medians[label, column])),
                    "difference": float(differences[column]),
                }
                for column in order.tolist()
                if differences[column]
            ],
        }

    def attributions(self, node: int) -> Answer:
        """What features contribute to the probability of the predicted class, the largest contributions first.

        If the probability is near 1, contributions are to its log-odds (``logits``), and so are ``value`` and
        ``baseline``. ``target`` is the contribution of the node's own features, ``others`` that of all other nodes;
        ``reason`` says why there is none.
        """
        try:
            logits = _is_saturated(self._probabilities(node).max())
            explained = explain([replace(self.scorer, draws=1)], node, logits=logits)
        except InputError as error:
            return {"reason": str(error), "total": self.dataset.num_features, "features": []}
        size = np.maximum(np.abs(explained.target), np.abs(explained.others))
        return {
            "reason": None,
            "logits": logits,
            "predicted": explained.label,
            "probability": explained.probability,
            "value": explained.value,
            "baseline": explained.baseline,
            "target": float(explained.target.sum()),
            "others": float(explained.others.sum()),
            "total": size.size,
            "features": [
                {
                    "name": explained.features[column],
                    "target": float(explained.target[column]),
                    "others": float(explained.others[column]),
                }
                for column in np.argsort(-size, kind="stable")[:_MAX_FEATURES].tolist()
                if size[column]
            ],
        }

    def picks(self, node: int, draws: int, seconds: float = math.inf) -> Answer:
        """How often nodes are picked over many draws, the target first, and which edges between them are walked.

        A ``share`` is that of the draws; ``hops`` is the distance from the target in the shortest walk. No draw begins
        after so many seconds; ``draws`` counts those that were made.
        """
        graph = self.dataset.graph
        counts: Counter[int] = Counter()
        walked: Counter[tuple[int, int]] = Counter()
        distance = {node: 0}
        in_time = _InTime(draws, seconds)
        for draw in in_time:
            members = self.scorer.members(node, draw)
            counts.update(members[1:])
            steps = [0]
            for pick, parent in zip(members[1:], parents(graph, members, self.scorer.explore), strict=True):
                steps.append(steps[parent] + 1)
                distance[pick] = min(distance.get(pick, steps[-1]), steps[-1])
                walked[members[parent], pick] += 1
        draws = in_time.made
        shown = [node, *(pick for pick, _ in counts.most_common(_MAX_PICKED))]
        nodes = [
            {**about, "hops": distance[member], "share": counts[member] / draws if member != node else 1.0}
            for member, about in zip(shown, self._described(shown), strict=True)
        ]
        links = []
        for i, source in enumerate(shown):
            for j, target in enumerate(shown):
                never_walked = i < j and not walked[target, source] and is_neighbour(graph, source, target)
                if walked[source, target] or never_walked:
                    links.append({"source": i, "target": j, "share": walked[source, target] / draws})
        return {"draws": draws, "total": len(counts), "nodes": nodes, "links": links}

    def influence(self, node: int, draws: int, seconds: float = math.inf) -> Answer:
        """Leave-one-out over S(v): how much each pick adds to the probability of the predicted and of the true class.

        The numbers of a pick, such as its position among the picks (``order``), are means over its ``draws``. If the
        probability is near 1, changes are those of the log-odds (``logits``). No draw begins after so many seconds.
        """
        in_time = _InTime(draws, seconds)
        label, (mean, effects) = self._label(node), self.scorer.effects(node, in_time)
        predicted = int(mean.argmax())
        logits = _is_saturated(mean[predicted])
        changes = [effect.logit_changes if logits else effect.changes for effect in effects]
        names = self._names([effect.node for effect in effects])
        picks: list[Answer] = [
            {
                "id": name,
                "label": self._label(effect.node),
                "draws": effect.draws,
                "order": effect.order,
                "change": float(change[predicted]),
                "change_of_label": None if label is None else float(change[label]),
            }
            for effect, name, change in zip(effects, names, changes, strict=True)
        ]
        picks.sort(key=lambda pick: -abs(pick["change"]))
        return {
            "draws": in_time.made,
            "logits": logits,
            "predicted": predicted,
            "probability": float(mean[predicted]),
            "label": label,
            "picks": picks,
        }

    def neighbours(self, node: int) -> Answer:
        """Neighbours with their true and predicted classes, and what was ``sent`` to and ``received`` from them.

        With such transactions, those with the largest sums are first.
        """
        payments = self._payments
        row = payments.largest_first(node) if payments else self.dataset.graph.row(node)
        first = row[:_MAX_NEIGHBOURS].astype(np.int64)
        rows = self.scorer.probabilities(first) if first.size else np.empty((0, self.dataset.num_classes))
        return {
            "total": row.size,
            "direction": self.dataset.graph.direction,
            "payments": payments is not None,
            "neighbours": [
                {
                    **about,
                    "predicted": int(probabilities.argmax()),
                    "probability": float(probabilities.max()),
                    **(payments.between(node, other) if payments else {}),
                }
                for other, about, probabilities in zip(
                    first.tolist(), self._described(first.tolist()), rows, strict=True
                )
            ],
        }

    @cached_property
    def _payments(self) -> Payments | None:
        return Payments.of(self.dataset)

    def _measure(self, column: int) -> Measure:
        names = self.dataset.feature_names
        return self.dataset.measures.get(names[column] if names else "") or plain("")

    @cached_property
    def _medians(self) -> Medians:
        return Medians.of(self.dataset)

    def _examples(self) -> list[int]:
        """The node with most edges, then a few test nodes, or the first nodes if there is no split."""
        others = self.dataset.split.test if self.dataset.split else np.arange(self.dataset.num_nodes)
        return list(dict.fromkeys([int(self.dataset.graph.degrees.argmax()), *others[:4].tolist()]))

    def _probabilities(self, node: int) -> NDArray[np.float64]:
        return np.asarray(self.scorer.probabilities(np.array([node]))[0])

    def _label(self, node: int) -> int | None:
        label = int(self.dataset.y[node])
        return None if label == UNLABELLED else label

    def _described(self, nodes: list[int]) -> list[Answer]:
        degrees = self.dataset.graph.degrees
        return [
            {"id": name, "label": self._label(node), "degree": int(degrees[node])}
            for node, name in zip(nodes, self._names(nodes), strict=True)
        ]

    def _names(self, nodes: list[int]) -> list[str]:
        return [str(name) for name in self.dataset.ids_of(nodes).tolist()]
