"""Explorer: answers questions about single nodes of a run, as values that the server sends as JSON.

What depends on the whole graph is computed only once. In all answers, a class is its index, ``label`` is the true class
of a node, or None if it is unknown, and ``total`` also counts what is not listed.
"""

from collections import Counter
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mggcn.data import UNLABELLED, Dataset, plain
from mggcn.errors import InputError
from mggcn.experiments import OKABE_ITO, SHAPES
from mggcn.explore._lookups import PAYMENT, IdIndex, Payments, medians_of
from mggcn.explore._picks import is_neighbour, parents
from mggcn.runs import Run, Scorer, between, explain, mean_effects

MAX_DRAWS = 200

Answer = dict[str, Any]

_MAX_FEATURES, _MAX_NEIGHBOURS, _MAX_PICKED, _MAX_SUGGESTED = 20, 200, 60, 10
_SATURATED = 0.99  # a probability so near 1 that what adds to it is hardly seen in it


class Explorer:
    """Answers questions about the nodes of a graph.

    If the run is the mean of several recipes, so are probabilities and what changes them; picks are of the best.

    Args:
        run: scores them.
        dataset: the graph.
    """

    def __init__(self, run: Run, dataset: Dataset) -> None:
        self.dataset, self.ids = dataset, IdIndex(dataset)
        self.scorers = [Scorer.of(one, dataset) for one in run.runs]
        self.scorer = self.scorers[0]

    def about(self) -> Answer:
        """The run, its classes with a colour and a shape for each, and a few nodes to start with."""
        record, picker, data = self.scorer.run.record, self.scorer.picker, self.dataset
        count, others = len(OKABE_ITO), data.split.test if data.split else np.arange(data.num_nodes)
        examples = dict.fromkeys([int(data.graph.degrees.argmax()), *others[:4].tolist()])
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
            "payments": self._payments is not None,
            "run": str(path) if (path := self.scorer.run.path) else None,
            "picks": picker.picks if picker else 0,
            "redraws": picker is not None and picker.fixed_key is None,
            "examples": self._names(list(examples)),
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
        own = self.dataset.x[[node]]
        row = (own if isinstance(own, np.ndarray) else own.toarray())[0].astype(np.float32)
        predicted, label = int(self._probabilities(node).argmax()), self._label(node)
        (medians, deviation), names = self._medians, self.dataset.feature_names
        differences = (row - medians[predicted]) / deviation
        order = np.argsort(-np.abs(differences), kind="stable")[:_MAX_FEATURES]
        features: list[Answer] = []
        for column in order[differences[order] != 0].tolist():
            name = names[column] if names else ""
            measure = self.dataset.measures.get(name) or plain("")
            features.append(
                {
                    "name": name or f"feature {column}",
                    "unit": measure.unit,
                    "value": measure.value(float(row[column])),
                    "median": measure.value(float(medians[predicted, column])),
                    "median_of_label": None if label is None else measure.value(float(medians[label, column])),
                    "difference": float(differences[column]),
                }
            )
        return {"predicted": predicted, "label": label, "total": self.dataset.num_features, "features": features}

    def attributions(self, node: int) -> Answer:
        """What features contribute to the probability of the predicted class, the largest contributions first.

        If the probability is near 1, contributions are to its log-odds (``logits``), and so are ``value`` and
        ``baseline``. ``target`` is the contribution of the node's own features, ``others`` that of all other nodes;
        ``reason`` says why there is none.
        """
        try:
            logits = bool(self._probabilities(node).max() > _SATURATED)
            once = [replace(scorer, inference=replace(scorer.inference, draws=1)) for scorer in self.scorers]
            explained = explain(once, node, logits=logits)
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
            "relations": dict(explained.relations),
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

    def picks(self, node: int, draws: int) -> Answer:
        """How often nodes are picked over many draws, the target first, and which edges between them are walked.

        A ``share`` is that of the draws; ``hops`` is the distance from the target in the shortest walk; ``edges``
        says what is known of those that a link stands for.
        """
        graph = self.dataset.graph
        counts: Counter[int] = Counter()
        walked: Counter[tuple[int, int]] = Counter()
        distance = {node: 0}
        for draw in range(draws):
            members = self.scorer.members(node, draw)
            counts.update(members[1:])
            steps = [0]
            for pick, parent in zip(members[1:], parents(graph, members, self.scorer.explore), strict=True):
                steps.append(steps[parent] + 1)
                distance[pick] = min(distance.get(pick, steps[-1]), steps[-1])
                walked[members[parent], pick] += 1
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
                    edges = between(graph, source, target)
                    links.append({"source": i, "target": j, "share": walked[source, target] / draws, "edges": edges})
        return {"draws": draws, "total": len(counts), "nodes": nodes, "links": links}

    def influence(self, node: int, draws: int) -> Answer:
        """Leave-one-out over S(v): how much each pick adds to the probability of the predicted and of the true class.

        The numbers of a pick, such as its position among the picks (``order``), are means over its ``draws``. If the
        probability is near 1, changes are those of the log-odds (``logits``).
        """
        drawn = [scorer.leave_one_out(node, draw) for scorer in self.scorers for draw in range(draws)]
        label, (mean, effects) = self._label(node), mean_effects(drawn)
        predicted = int(mean.argmax())
        logits = bool(mean[predicted] > _SATURATED)
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
            "draws": draws,
            "logits": logits,
            "predicted": predicted,
            "probability": float(mean[predicted]),
            "label": label,
            "picks": picks,
        }

    def neighbours(self, node: int) -> Answer:
        """Neighbours with their true and predicted classes, what is known of the ``edges`` with them, and payments.

        Those with the largest sums ``sent`` to and ``received`` from them are first, or with the heaviest edges.
        """
        payments, graph = self._payments, self.dataset.graph
        row = payments.largest_first(node) if payments else graph.row(node)
        if not payments and graph.schema.weighted:
            row = row[np.argsort(-graph.neighbour_weights(node, node + 1), kind="stable")]
        first = row[:_MAX_NEIGHBOURS].astype(np.int64)
        rows = self._probabilities_of(first) if first.size else np.empty((0, self.dataset.num_classes))
        return {
            "total": row.size,
            "direction": graph.direction,
            "weighted": graph.schema.weighted,
            "payments": payments is not None,
            "neighbours": [
                {
                    **about,
                    "predicted": int(probabilities.argmax()),
                    "probability": float(probabilities.max()),
                    "edges": between(graph, node, other),
                    **(payments.between(node, other) if payments else {}),
                }
                for other, about, probabilities in zip(
                    first.tolist(), self._described(first.tolist()), rows, strict=True
                )
            ],
        }

    @cached_property
    def _payments(self) -> Payments | None:
        is_paid = set(PAYMENT) <= set(self.dataset.edge_attributes) and self.dataset.graph.direction == "both"
        return Payments(self.dataset) if is_paid else None

    @cached_property
    def _medians(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        return medians_of(self.dataset)

    def _probabilities(self, node: int) -> NDArray[np.float64]:
        return np.asarray(self._probabilities_of(np.array([node]))[0])

    def _probabilities_of(self, nodes: NDArray[np.int64]) -> NDArray[np.float64]:
        rows = [scorer.probabilities(nodes) for scorer in self.scorers]
        return rows[0] if len(rows) == 1 else np.asarray(np.mean(rows, axis=0))

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
