"""Block form equals a plain recursion written from the paper's equations, for every depth and option."""

import itertools

import numpy as np
import pytest
import torch
from torch import Tensor

from mggcn.graph import Graph
from mggcn.kernels.aggregate import neighbour_mean
from mggcn.kernels.pick import PickTable
from mggcn.keys import Key
from mggcn.nn.stack import MGGCN
from mggcn.sampling.mix_grained import MixGrainedSampler
from tests.properties import assert_batch_is_valid, assert_targets_covered_once
from tests.reference import pick as reference

SLOPE = 0.01


class Recursion:
    """H(l, u) for one target v: equations 7, 8 and 11 of the paper with f = CONCAT(h, Mean)."""

    def __init__(self, graph: Graph, x: Tensor, weights: list[Tensor], members: list[int], options: dict) -> None:
        self.graph, self.x, self.weights, self.options = graph, x, weights, options
        self.members = members
        self.target = members[0]

    def scores(self) -> Tensor:
        depth = len(self.weights)
        if depth == 1:
            return self.fine(self.target)
        rows = [self.hidden(depth - 1, u) for u in self.skip_set()]
        mean = torch.stack(rows).mean(0) if rows else torch.zeros_like(self.hidden(depth - 1, self.target))
        return torch.cat([self.hidden(depth - 1, self.target), mean]) @ self.weights[-1]

    def skip_set(self) -> list[int]:
        distinct = list(dict.fromkeys(self.members))
        padding = [self.target] * (len(self.members) - len(distinct)) if self.options["padding"] == "target" else []
        return ([self.target] if self.options["skip_self"] else []) + distinct[1:] + padding

    def hidden(self, layer: int, u: int) -> Tensor:
        if layer == 1:
            return self.activate(self.fine(u))
        neighbours = [w for w in dict.fromkeys(self.members) if w in self.graph.row(u)]
        below = self.hidden(layer - 1, u)
        mean = torch.stack([self.hidden(layer - 1, w) for w in neighbours]).mean(0) if neighbours else 0 * below
        return self.activate(torch.cat([below, mean]) @ self.weights[layer - 1])

    def fine(self, u: int) -> Tensor:
        around = [int(w) for w in self.graph.row(u)] + ([u] if self.options["fine_self"] else [])
        mean = self.x[around].mean(0) if around else torch.zeros_like(self.x[u])
        return torch.cat([self.x[u], mean]) @ self.weights[0]

    @staticmethod
    def activate(h: Tensor) -> Tensor:
        return torch.where(h > 0, h, SLOPE * h)


OPTIONS = [
    dict(zip(("padding", "skip_self", "fine_self", "direction"), values, strict=True))
    for values in itertools.product(("target", "none"), (True, False), (True, False), ("both", "out"))
]


@pytest.mark.parametrize("layers", [1, 2, 3, 4])
@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "-".join(map(str, o.values())))
def test_block_form_equals_the_recursion(layers: int, options: dict) -> None:
    rng = np.random.default_rng(layers)
    edges = np.array([[0, 1], [1, 2], [2, 0], [2, 3], [3, 4], [4, 5], [5, 2], [1, 6], [8, 9]])
    graph = Graph.from_edges(edges[:, 0], edges[:, 1], 11, direction=options["direction"])
    x = rng.normal(size=(11, 3)).astype(np.float32)
    model = MGGCN(3, 4, 2, layers, negative_slope=SLOPE).double()
    weights = [parameter.detach() for parameter in model.parameters()]
    sampler = MixGrainedSampler(
        PickTable.of(graph), 4, layers, include_target=options["skip_self"], padding=options["padding"]
    )
    means = neighbour_mean(graph, x, include_self=options["fine_self"]).astype(np.float64)
    inputs = torch.from_numpy(np.concatenate([x.astype(np.float64), means], axis=1))
    targets, key = np.arange(11), Key.of(5)
    picks = reference.pick(graph, graph.degrees.tolist(), targets.tolist(), 4, key)

    batches = list(sampler.batches(targets, key, 4))
    assert_targets_covered_once(batches, targets, 4)
    for batch in batches:
        assert_batch_is_valid(batch)
        found = model(inputs[batch.nodes.long()], [_double(block) for block in batch.blocks])
        for row, target in zip(found, batch.targets.tolist(), strict=True):
            members = picks[target].tolist()
            expected = Recursion(graph, torch.from_numpy(x).double(), weights, members, options).scores()
            torch.testing.assert_close(row, expected, rtol=0, atol=2e-7)


def _double(block):
    if block.weight is None:
        return block
    return type(block)(block.num_src, block.indptr, block.indices, block.root, block.weight.double(), block.group)
