"""Why runs give a node a class: contributions of features, effects of picks, and reasons in words.

Contributions are integrated gradients (Sundararajan, Taly and Yan). The features go on a straight line from a baseline
to their values, and the gradient of the probability is integrated on the way; times the distance it is a feature's
contribution, and the contributions sum to the probability minus that of the baseline. The baseline is a graph in which
all scaled features are zero: those of an average training node with the scaling ``standard``, and none at all with the
scalings ``row`` and ``none``.

Input rows are linear in the features, each part of them a matrix times x. So contributions of entries of the input rows
are contributions of features, and what the target's own features contribute follows from the input rows of a graph in
which all others are zero.

Reasons are the features that contribute most to the log-odds of the predicted class, the node's own and those of all
other nodes that the model reads. Log-odds distinguish nodes whose probabilities are all near 1.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from mggcn.block import EDGE_VALUES, Batch, Block
from mggcn.data import BACKGROUND, UNLABELLED, Dataset, Features, Measure, as_features, plain
from mggcn.errors import InputError, InputWarning
from mggcn.methods.method import GraphView
from mggcn.methods.mg_gcn import MixGrained
from mggcn.nn.rows import Rows, to_dense
from mggcn.runs._edge_words import between, group_words, heaviest
from mggcn.runs._integration import PairGradients, gauss_legendre, interleaved, mean_gradient, total_gradient
from mggcn.runs._matching import labels_in, match
from mggcn.runs._predictions import NUM_REASONS, to_frame
from mggcn.runs._scorer import PickEffect, Probabilities, Scorer, dense_rows, mean_effects
from mggcn.training import Scaled, Scaler, View, log_odds

if TYPE_CHECKING:
    import pandas


_STEPS = (32, 128, 512)
_FEW_STEPS, _FEWEST = 32, 4  # of many nodes, whose contributions are only ranked: of all draws, and of a draw
_TARGETS, _ROWS = 1024, 1 << 15  # of a batch of these
_TOLERANCE = 1e-3  # of the probability: a tenth of a percentage point


@dataclass(frozen=True, eq=False)
class Explanation:
    """What contributes to the probability of one class of one node; see :meth:`mggcn.runs.Run.explain`.

    Attributes:
        node: the node number.
        node_id: the user's id.
        classes: the name of each class.
        label: the class that is explained, as an index of ``classes``.
        probabilities: [classes] calibrated, mean over the draws.
        value: what is explained: the probability of the class or, where asked for, its log-odds, mean over the draws.
        baseline: the same if all scaled features are zero.
        features: the name of each feature.
        target: [num_features] the contributions of the node's own features.
        others: [num_features] the contributions of the features of all other nodes, summed over the nodes.
        picks: the leave-one-out effects of the picks; empty for methods without picks.
        pick_ids: the user's ids of the picks.
        relations: what the features of neighbours contribute through each group of relations that the method averages
            apart, by the name of the group; empty if there is only one, or if several runs differ in them.
        pick_edges: for each pick, its edges with the node, as the node sees them.
    """

    node: int
    node_id: object
    classes: tuple[str, ...]
    label: int
    probabilities: Probabilities
    value: float
    baseline: float
    features: tuple[str, ...]
    target: NDArray[np.float64]
    others: NDArray[np.float64]
    picks: tuple[PickEffect, ...]
    pick_ids: tuple[object, ...]
    relations: Mapping[str, float] = field(default_factory=dict)
    pick_edges: tuple[tuple[str, ...], ...] = ()

    @property
    def predicted(self) -> int:
        """The most probable class."""
        return int(self.probabilities.argmax())

    @property
    def probability(self) -> float:
        """The probability of the explained class."""
        return float(self.probabilities[self.label])

    @property
    def error(self) -> float:
        """What integration misses: the sum of all contributions minus ``value - baseline``."""
        return float(self.target.sum() + self.others.sum() - (self.value - self.baseline))

    def to_pandas(self) -> "pandas.DataFrame":
        """A row for each effect on the probability of the explained class; needs the extra ``pandas``.

        The column ``kind`` is ``target`` or ``others`` for a feature of the node or of other nodes, ``pick`` for a
        pick; ``name`` is the name of the feature or the id of the pick, and ``effect`` the contribution, the largest of
        each kind first. Features without a contribution are left out. Where the method averages over directions or
        types of edges apart, rows of the kind ``relation`` say what features contribute through each; where anything is
        known of edges, a column ``edges`` holds the edges of the node with a pick.
        """
        changes = np.array([pick.changes[self.label] for pick in self.picks])
        sizes = [self.target.size, self.others.size, changes.size, len(self.relations)]
        kind = np.repeat(np.arange(4), sizes)
        names = np.array([*self.features, *self.features, *self.pick_ids, *self.relations], object)
        effects = np.concatenate([self.target, self.others, changes, [*self.relations.values()]])
        order = np.lexsort((-np.abs(effects), kind))
        order = order[(effects[order] != 0) | (kind[order] >= 2)]
        kinds = np.array(["target", "others", "pick", "relation"])[kind]
        columns = {"kind": kinds[order], "name": names[order], "effect": effects[order]}
        if any(self.pick_edges):
            edges = np.full(kind.size, "", object)
            edges[kind == 2] = ["; ".join(of_pick) for of_pick in self.pick_edges]
            columns["edges"] = edges[order]
        return to_frame(columns)


def explain(scorers: Sequence[Scorer], node: int, label: int | None = None, *, logits: bool = False) -> Explanation:
    """Explain the mean probability of a class, by default the predicted one, over runs and their draws; on the CPU.

    ``logits`` explains the log-odds instead.
    """
    _check_attributable(scorers)
    data, run = scorers[0].dataset, scorers[0].run
    draws = [
        [scorer.scores(scorer.batch(node, draw))[0] for draw in range(scorer.inference.draws)] for scorer in scorers
    ]
    probabilities = np.mean([torch.stack(of_run).exp().mean(dim=0).numpy() for of_run in draws], axis=0)
    label = int(probabilities.argmax()) if label is None else label
    groups = _groups(scorers)
    parts = [_attribute(scorer, node, label, len(groups), logits=logits) for scorer in scorers]
    target, others, value, baseline, through = (np.mean(part, axis=0) for part in zip(*parts, strict=True))
    pickers = [scorer for scorer in scorers if scorer.picker is not None]
    drawn = [scorer.leave_one_out(node, draw) for scorer in pickers for draw in range(scorer.inference.draws)]
    picks = mean_effects(drawn)[1] if drawn else []
    ids = data.ids_of([node, *(pick.node for pick in picks)]).tolist()
    names = run.record.dataset.get("feature_names") or data.feature_names or [""] * target.size
    return Explanation(
        node,
        ids[0],
        run.classes,
        label,
        probabilities,
        float(value),
        float(baseline),
        tuple(name or f"feature {column}" for column, name in enumerate(names)),
        target,
        others,
        tuple(picks),
        tuple(ids[1:]),
        dict(zip(groups, through.tolist(), strict=True)),
        tuple(between(data.graph, node, pick.node) for pick in picks),
    )


def _groups(scorers: Sequence[Scorer]) -> dict[str, tuple[int, ...]]:
    """The groups of relations that the methods of all runs average apart, by name; empty if they differ in them."""
    found = []
    for run in (scorer.run for scorer in scorers):
        method, num_features, edges = run.plan.method, int(run.record.dataset["num_features"]), run.record.edges
        found.append(method.relations_apart(num_features, edges) if isinstance(method, MixGrained) else {})
    return found[0] if all(each == found[0] for each in found) else {}


def contributions(
    scorer: Scorer, nodes: NDArray[np.int64], labels: NDArray[np.int64], groups: int
) -> NDArray[np.float64]:
    """[n, 1 + groups, num_features] what features contribute to the log-odds of a class of each node.

    The first part are the features of the node and of all others; where a method averages over groups of relations
    apart, ``groups`` of them, the others are what features contribute through each group, and are not in the first.
    They are means over the draws of the scorer, with a fixed number of steps that the draws share.
    """
    draws = scorer.inference.draws
    steps = max(_FEWEST, -(-_FEW_STEPS // draws))
    width = int(scorer.run.record.dataset["num_features"])
    inputs, device = scorer.inference.view.inputs, scorer.inference.compute.device
    view = scorer.inference.multiplied(nodes.size)
    result = np.empty((nodes.size, 1 + groups, width))
    for start in range(0, nodes.size, _TARGETS):
        chunk = slice(start, min(start + _TARGETS, nodes.size))
        total = torch.zeros(chunk.stop - start, 1 + groups, width, dtype=torch.float64, device=device)
        gradients = PairGradients()
        for draw in range(draws):
            first = 0
            for drawn, owner in _apart(scorer, nodes[chunk], draw):
                batch = drawn.to(device)
                part = slice(first, first + batch.targets.numel())
                of_class, forward = torch.from_numpy(labels[chunk][part]).to(device), scorer.forward(batch)

                def value(x: Rows) -> Tensor:
                    return log_odds(forward(x), of_class).sum()  # noqa: B023

                with scorer.inference.compute.arithmetic():
                    rows = view.rows(scorer.run.model, batch)
                    gradients.add(
                        torch.from_numpy(owner).to(device) + first,
                        batch.nodes.long(),
                        mean_gradient(scorer.run.model, value, rows, interleaved(steps, draw, draws)),
                    )
                first = part.stop
        for owner_of, node, gradient in gradients.of_rows():
            by_part = (gradient * to_dense(inputs.rows(node)).float()).view(len(node), -1, width)
            by_row = by_part.sum(dim=1, keepdim=True)
            if groups:
                by_group = by_part[:, 1:].reshape(len(node), groups, -1, width).sum(dim=2)
                by_row = torch.cat([by_part[:, :1], by_group], dim=1)
            total.index_add_(0, owner_of, by_row.double())
        result[chunk] = (total / draws).cpu().numpy()
    return result


def _check_attributable(scorers: Sequence[Scorer]) -> None:
    for run in (scorer.run for scorer in scorers if not scorer.run.plan.method.linear_in_features):
        raise InputError(
            f"{run.record.method}: neither reasons nor attributions, which need input rows that are linear in the "
            "features and a model with gradients"
        )


def _attribute(
    scorer: Scorer, node: int, label: int, groups: int, *, logits: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64], float, float, NDArray[np.float64]]:
    """The contributions of a node's own features and of all others, the value, and the baseline; means over draws.

    Then what features contribute through each group of relations, if there are several.
    """
    own, parts = _target_only(scorer, node), []
    for draw in range(scorer.inference.draws):
        batch = scorer.batch(node, draw)
        rows, of_target, forward = (
            dense_rows(scorer.inference.view, batch),
            dense_rows(own, batch),
            scorer.forward(batch),
        )

        def value(x: Rows) -> Tensor:
            scores = forward(x)  # noqa: B023
            return log_odds(scores, torch.tensor([label]))[0] if logits else scores[0, label].exp()

        with scorer.inference.compute.arithmetic():
            with torch.no_grad():
                end, start = float(value(rows)), float(value(torch.zeros_like(rows)))
            gradient = torch.zeros_like(rows)
            for steps in _STEPS:
                gradient = total_gradient(mean_gradient(scorer.run.model, value, rows, gauss_legendre(steps)))
                if abs(float((gradient * rows).sum()) - (end - start)) < _TOLERANCE * max(1.0, abs(end - start)):
                    break
        width = int(scorer.run.record.dataset["num_features"])
        total, target = ((part * gradient).double().view(-1, width).sum(dim=0).numpy() for part in (rows, of_target))
        in_part = (rows * gradient).double().sum(dim=0).view(-1, width).sum(dim=1).numpy()
        through = in_part[1:].reshape(groups, -1).sum(axis=1) if groups else np.empty(0)
        parts.append((target, total - target, end, start, through))
    target, others, end, start, through = (np.mean(part, axis=0) for part in zip(*parts, strict=True))
    return target, others, end, start, through


def _target_only(scorer: Scorer, node: int) -> View:
    """The graph as the model receives it if the scaled features of all nodes but one are zero."""
    run, data = scorer.run, _matched(scorer)
    row = csr_array(run.scaler.apply(data.x[[node]]))
    indptr = np.where(np.arange(data.num_nodes + 1) > node, row.nnz, 0)
    x = as_features(csr_array((row.data, row.indices, indptr), shape=(data.num_nodes, row.shape[1])))
    scaled, unlabelled = Scaled(x, Scaler("none")), partial(np.full, data.num_nodes, UNLABELLED)
    view = GraphView(data.graph, scaled, unlabelled, len(run.classes), run.model, run.key, scorer.inference.compute)
    return run.plan.method.prepare(view).eval


def _matched(scorer: Scorer) -> Dataset:
    """The graph with the run's features; warnings were given when the run was prepared."""
    with warnings.catch_warnings(action="ignore", category=InputWarning):
        return match(scorer.dataset, scorer.run.record, scorer.run.plan.method.edge_parts)


def _apart(scorer: Scorer, nodes: NDArray[np.int64], draw: int) -> Iterator[tuple[Batch, NDArray[np.int64]]]:
    """Batches in which every target has input rows of its own, and the index of the target of each row."""
    key = scorer.run.key.fold("eval", draw)
    if scorer.picker is not None or not scorer.batch(int(nodes[0]), draw).blocks:
        for batch in scorer.inference.view.sampler.batches(nodes, key, _TARGETS):
            yield batch, np.arange(batch.nodes.numel()) % batch.targets.numel()
        return
    waiting: list[Batch] = []
    for index, node in enumerate(nodes.tolist()):
        waiting.append(scorer.batch(node, draw))
        sizes = [batch.nodes.numel() for batch in waiting]
        if sum(sizes) >= _ROWS or index == nodes.size - 1:
            yield _side_by_side(waiting), np.repeat(np.arange(len(sizes)), sizes)
            waiting = []


def _side_by_side(batches: Sequence[Batch]) -> Batch:
    """One batch with the rows and edges of all, in their order."""
    blocks = []
    for layer in zip(*(batch.blocks for batch in batches), strict=True):
        starts = np.cumsum([0, *(block.num_src for block in layer)]).tolist()
        ends = np.cumsum([0, *(block.indices.numel() for block in layer)]).tolist()
        values: dict[str, Any] = {
            name: torch.cat([getattr(block, name) for block in layer])
            for name in EDGE_VALUES
            if getattr(layer[0], name) is not None
        }
        blocks.append(
            Block(
                starts[-1],
                torch.cat([layer[0].indptr[:1], *(b.indptr[1:] + end for b, end in zip(layer, ends, strict=False))]),
                torch.cat([block.indices + start for block, start in zip(layer, starts, strict=False)]),
                torch.cat([block.root + start for block, start in zip(layer, starts, strict=False)]),
                **values,
            )
        )
    nodes, targets = (torch.cat([getattr(batch, name) for batch in batches]) for name in ("nodes", "targets"))
    return Batch(nodes, tuple(blocks), targets)


def reasons_of(scorers: Sequence[Scorer], nodes: NDArray[np.int64], labels: NDArray[np.int64]) -> list[list[str]]:
    """At most three reasons for a class of each node, by the mean contributions over runs, the strongest first.

    Where anything is known of edges, the last is the heaviest edge with a node that is known to be of the class.
    """
    _check_attributable(scorers)
    if not nodes.size:
        return []
    run, data = scorers[0].run, scorers[0].dataset
    groups = _groups(scorers)
    effects = np.mean([contributions(scorer, nodes, labels, len(groups)) for scorer in scorers], axis=0)
    known = labels_in(data, run.classes, np.arange(data.num_nodes))
    words = _Words(_matched(scorers[0]), known, run.classes, groups, reads_edges=bool(run.plan.method.edge_parts))
    found = []
    for node, label, of_node in zip(nodes.tolist(), labels.tolist(), effects, strict=True):
        evidence = words.edge(node, label)
        strongest = np.argsort(-of_node, axis=None, kind="stable")[: NUM_REASONS - len(evidence)]
        places = [(int(place), *divmod(int(place), of_node.shape[1])) for place in strongest]
        said = [words.say(node, label, column, part) for place, part, column in places if of_node.flat[place] > 0]
        found.append([*said, *evidence])
    return found


def _value(x: Features, node: int, column: int) -> float:
    """A value of a feature, without the checks of scipy, which take longer for one value."""
    if isinstance(x, np.ndarray):
        return float(x[node, column])
    row = slice(int(x.indptr[node]), int(x.indptr[node + 1]))
    return float(x.data[row][x.indices[row] == column].sum())


class _Words:
    """Says features of nodes in words; ``known`` are labels of all nodes as indices of the classes, else -1."""

    def __init__(
        self,
        data: Dataset,
        known: NDArray[np.int64],
        classes: Sequence[str],
        groups: Mapping[str, tuple[int, ...]] | None = None,
        *,
        reads_edges: bool = False,
    ) -> None:
        self._data, self._known, self._classes = data, known, classes
        self._groups, self._reads_edges = groups or {}, reads_edges
        self._counts = data.edge_attributes.get("count")
        columns = [(column, name) for column in data.encoding for name in column.features]
        self._flags = {name for column, name in columns if name != column.name or column.kind == "boolean"}

    def edge(self, node: int, label: int) -> list[str]:
        """The heaviest edge of a node with one that is known to be of a class, if anything is known of edges."""
        if self._data.graph.schema.is_plain or not self._reads_edges or self._classes[label] == BACKGROUND:
            return []
        others = self._known == label
        others[node] = False
        words = heaviest(self._data, node, others)
        return [f"{words}, known {self._classes[label]}"] if words else []

    def say(self, node: int, label: int, column: int, part: int = 0) -> str:
        """A feature of a node; one that counts neighbours also says how many are known to be of the class.

        A ``part`` above 0 is a group of relations: the mean of the feature over the neighbours by these.
        """
        name = self._data.feature_names[column] if self._data.feature_names else f"feature {column}"
        if part:
            return self._mean(node, column, name, [*self._groups][part - 1])
        stored = _value(self._data.x, node, column)
        if name in self._flags:
            return name if stored else f"not {name}"
        measure = self._data.measures.get(name) or plain(name)
        text = measure.text(stored)
        members = self._members(node, label, measure) if measure.counts else 0
        if not members or self._classes[label] == BACKGROUND:  # of which nothing is known
            return text
        if measure.number(stored) == "1":
            return f"{text}, a known {self._classes[label]}"
        return f"{text}, {members:,} of them {'a ' * (members == 1)}known {self._classes[label]}"

    def _mean(self, node: int, column: int, name: str, group: str) -> str:
        graph = self._data.graph
        entries = graph.relations_of(node)
        wanted = entries.wanted(self._groups[group])
        weights = entries.weights(np.float64) * (1 if wanted is None else wanted)
        values = self._data.x[entries.indices.astype(np.int64)][:, [column]]
        dense = values if isinstance(values, np.ndarray) else values.toarray()
        total = weights.sum()
        mean = float(weights @ dense[:, 0] / total) if total else 0.0
        measure = self._data.measures.get(name) or plain(name)
        return f"{measure.text(mean)}, mean of its {group_words(group, graph.schema)}"

    def _members(self, node: int, label: int, measure: Measure) -> int:
        """The number of neighbours in the direction of a measure that are known to be of a class."""
        graph, counts = self._data.graph, self._counts
        row = graph.row(node)
        positions = np.flatnonzero(self._known[row] == label)
        if measure.counts == "both" or counts is None:
            return positions.size
        edges = (graph.indptr[node] + positions).tolist()
        if measure.counts == "in":  # edges to the node are in the rows of the senders
            senders = row[positions].tolist()
            edges = [int(graph.indptr[sender] + np.searchsorted(graph.row(sender), node)) for sender in senders]
        return sum(int(counts[edge] > 0) for edge in edges)
