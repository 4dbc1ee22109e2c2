"""Explorer: answers about single nodes of a run. What grows with the graph is computed once, not for each answer."""

from collections import Counter, defaultdict
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mggcn.dataset import UNLABELLED, Dataset
from mggcn.explore import answers, ids
from mggcn.explore.medians import Medians, features_of
from mggcn.explore.picks import is_neighbour, parents
from mggcn.explore.scoring import Scorer
from mggcn.report.charts import OKABE_ITO
from mggcn.run import Run

MOST_DRAWS, MOST_FEATURES, MOST_NEIGHBOURS, MOST_PICKED, MOST_FOUND = 1000, 20, 200, 60, 10
_SHAPES = ("circle", "square", "triangle-up", "diamond")


@dataclass(frozen=True, eq=False)
class Explorer:
    """Answers questions about nodes.

    Args:
        scorer: the run, ready to score.
        search: finds nodes by the beginning of their ids.
    """

    scorer: Scorer
    search: ids.Search

    @classmethod
    def of(cls, run: Run, dataset: Dataset) -> "Explorer":
        """Prepare a run for questions about the nodes of a graph."""
        return cls(Scorer.of(run, dataset), ids.searcher(dataset))

    @property
    def dataset(self) -> Dataset:
        """The graph in question."""
        return self.scorer.dataset

    def about(self) -> answers.About:
        """What the run is."""
        record, picker = self.scorer.run.record, self.scorer.picker
        count = len(OKABE_ITO)
        return answers.About(
            dataset=record.dataset["name"],
            source=self.dataset.source,
            method=record.method,
            seed=record.seed,
            test_accuracy=record.test_accuracy,
            num_nodes=self.dataset.num_nodes,
            num_edges=self.dataset.graph.num_edges,
            classes=[
                answers.ClassInfo(name, OKABE_ITO[label % count], _SHAPES[label // count % len(_SHAPES)])
                for label, name in enumerate(self.scorer.run.classes)
            ],
            picks=picker.picks if picker else 0,
            redraws=self.scorer.redraws,
            examples=self._names(self._examples),
        )

    def suggest(self, text: str) -> list[str]:
        """A few ids that begin with ``text``."""
        return self._names(self.search(text.strip(), MOST_FOUND))

    def find(self, text: str) -> int:
        """The node of an id; an error where there is none."""
        return ids.find(self.search, self.dataset, text)

    def node(self, node: int) -> answers.Node:
        """Class probabilities, as evaluation has them, beside the truth."""
        shares = self.scorer.probabilities(np.array([node]))[0]
        return answers.Node(
            id=self._names([node])[0],
            number=node,
            degree=int(self.dataset.graph.degrees[node]),
            split=self._parts.get(int(self._part[node])),
            label=self._label(node),
            predicted=int(shares.argmax()),
            shares=[answers.Share(label, float(share)) for label, share in enumerate(shares)],
        )

    def features(self, node: int) -> answers.FeatureList:
        """The features in which a node differs most from the medians of the class it is given."""
        row = features_of(self.dataset, node)
        predicted, label = int(self.scorer.probabilities(np.array([node]))[0].argmax()), self._label(node)
        differences = self._medians.differences(row, predicted)
        order = np.argsort(-np.abs(differences), kind="stable")[:MOST_FEATURES]
        medians, names = self._medians.medians, self.dataset.feature_names
        return answers.FeatureList(
            predicted=predicted,
            label=label,
            total=self.dataset.num_features,
            features=[
                answers.Feature(
                    name=(names[place] if names else "") or f"feature {place}",
                    value=float(row[place]),
                    median=float(medians[predicted, place]),
                    median_of_label=None if label is None else float(medians[label, place]),
                    difference=float(differences[place]),
                )
                for place in order.tolist()
                if differences[place]
            ],
        )

    def picks(self, node: int, draws: int) -> answers.PickGraph:
        """How often each node is picked over many draws, and by which edges."""
        graph = self.dataset.graph
        counts: Counter[int] = Counter()
        walked: Counter[tuple[int, int]] = Counter()
        nearest = {node: 0}
        for draw in range(draws):
            members = self.scorer.members(node, draw)
            counts.update(members[1:])
            steps = [0]
            for pick, parent in zip(members[1:], parents(graph, members, self.scorer.explore), strict=True):
                steps.append(steps[parent] + 1)
                nearest[pick] = min(nearest.get(pick, steps[-1]), steps[-1])
                walked[members[parent], pick] += 1
        shown = [node, *(pick for pick, _ in counts.most_common(MOST_PICKED))]
        names = self._names(shown)
        return answers.PickGraph(
            draws=draws,
            total=len(counts),
            nodes=[
                answers.Picked(
                    id=name,
                    label=self._label(one),
                    degree=int(graph.degrees[one]),
                    hops=nearest[one],
                    share=counts[one] / draws if one != node else 1.0,
                )
                for one, name in zip(shown, names, strict=True)
            ],
            links=[
                answers.Link(source, target, walked[shown[source], shown[target]] / draws)
                for source in range(len(shown))
                for target in range(len(shown))
                if walked[shown[source], shown[target]]
                or (
                    source < target
                    and not walked[shown[target], shown[source]]
                    and is_neighbour(graph, shown[source], shown[target])
                )
            ],
        )

    def influence(self, node: int, draws: int) -> answers.InfluenceList:
        """Leave-one-out over S(v): what each pick adds to the probability of the class the node is given."""
        label, found = self._label(node), [self.scorer.leave_one_out(node, draw) for draw in range(draws)]
        mean = np.mean([one.whole for one in found], axis=0)
        predicted = int(mean.argmax())
        changes: dict[int, list[tuple[int, NDArray[np.float64]]]] = defaultdict(list)
        for one in found:
            for order, (pick, without) in enumerate(zip(one.picks, one.without, strict=True), 1):
                changes[pick].append((order, one.whole - without))
        effects = []
        for (pick, seen), name in zip(changes.items(), self._names(list(changes)), strict=True):
            change = np.mean([change for _, change in seen], axis=0)
            effects.append(
                answers.Influence(
                    id=name,
                    label=self._label(pick),
                    draws=len(seen),
                    order=float(np.mean([order for order, _ in seen])),
                    change=float(change[predicted]),
                    change_of_label=None if label is None else float(change[label]),
                )
            )
        effects.sort(key=lambda effect: -abs(effect.change))
        return answers.InfluenceList(draws, predicted, float(mean[predicted]), label, effects)

    def neighbours(self, node: int) -> answers.NeighbourList:
        """The first neighbours with their classes."""
        row = self.dataset.graph.row(node)
        first = row[:MOST_NEIGHBOURS].astype(np.int64)
        scored = self.scorer.probabilities(first) if first.size else np.empty((0, self.dataset.num_classes))
        return answers.NeighbourList(
            total=row.size,
            direction=self.dataset.graph.direction,
            neighbours=[
                answers.Neighbour(
                    id=name,
                    degree=int(self.dataset.graph.degrees[one]),
                    label=self._label(one),
                    predicted=int(shares.argmax()),
                    probability=float(shares.max()),
                )
                for one, name, shares in zip(first.tolist(), self._names(first.tolist()), scored, strict=True)
            ],
        )

    @property
    def _parts(self) -> dict[int, str]:
        split = self.dataset.split
        return {number: part.name for number, part in enumerate(fields(split))} if split else {}

    @cached_property
    def _part(self) -> NDArray[np.int8]:
        """[num_nodes] which part of the split a node is in, -1 for none."""
        found = np.full(self.dataset.num_nodes, -1, np.int8)
        for number, name in self._parts.items():
            found[getattr(self.dataset.split, name)] = number
        return found

    @cached_property
    def _medians(self) -> Medians:
        return Medians.of(self.dataset)

    @cached_property
    def _examples(self) -> list[int]:
        """The node with most edges, then a few test nodes, or the first nodes where there is no split."""
        others = self.dataset.split.test if self.dataset.split else np.arange(self.dataset.num_nodes)
        return list(dict.fromkeys([int(self.dataset.graph.degrees.argmax()), *others[:4].tolist()]))

    def _label(self, node: int) -> int | None:
        label = int(self.dataset.y[node])
        return None if label == UNLABELLED else label

    def _names(self, nodes: list[int]) -> list[str]:
        return [str(name) for name in self.dataset.ids_of(nodes).tolist()]
