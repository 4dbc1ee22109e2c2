from dataclasses import replace

import numpy as np
import pytest
import torch

import mggcn
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.keys import Key
from mggcn.nn.conv import aggregate
from mggcn.runs import resolve
from mggcn.sampling.adjacency import propagation
from mggcn.sampling.subgraphs import SaintSampler
from tests.properties import assert_batch_is_valid


def sampler(small: Dataset, coverage: float = 50, layers: int = 2) -> SaintSampler:
    return SaintSampler(small.graph, layers, 8, 2, coverage, Key.of(5))


def with_weights(dataset: Dataset) -> Dataset:
    """The data set with weights from 1 to 4."""
    ends = dataset.graph.edges()
    return replace(dataset, graph=Graph.from_edges(*ends, dataset.num_nodes, weight=1 + (ends[0] + ends[1]) % 4))


def test_counts_are_those_of_the_subgraphs(small: Dataset) -> None:
    walks = SaintSampler(small.graph, 1, 8, 2, 3, Key.of(0))
    counts = walks.count(small.split.train)
    nodes, edges = np.zeros(60, int), np.zeros(small.graph.num_stored, int)
    rows, columns = small.graph.edges()
    for number in range(counts.draws):
        member = np.zeros(60, bool)
        member[walks.draw(small.split.train, Key.of(0).fold(number))] = True
        nodes += member
        edges += member[rows] & member[columns]
    assert counts.nodes.tolist() == nodes.tolist()
    assert counts.edges.tolist() == edges.tolist()
    assert 3 <= nodes[small.split.train].mean() < 4


def test_batches_are_valid_and_the_same_for_the_same_key(small: Dataset) -> None:
    drawn = sampler(small)
    passes = [list(drawn.batches(small.split.train, Key.of(seed), 5)) for seed in (0, 0, 1)]
    for batch in passes[0]:
        assert_batch_is_valid(batch)
        assert set(batch.targets.tolist()) <= set(small.split.train.tolist())
        assert batch.weight is not None
        assert batch.weight.numel() == batch.targets.numel()
    nodes = [[batch.nodes.tolist() for batch in batches] for batches in passes]
    assert nodes[0] == nodes[1] != nodes[2]
    visits = sum(batch.targets.numel() for batch in passes[0])
    assert 0.7 * small.split.train.size < visits < 1.6 * small.split.train.size


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_and_loss_are_unbiased(small: Dataset, weighted: bool) -> None:
    """Given that v is drawn, its sum has the exact sum as its mean; loss weights have the mean 1 / targets."""
    small = with_weights(small) if weighted else small
    drawn, targets = sampler(small, coverage=2_000, layers=1), np.array(small.split.train)
    x = torch.randn(60, 3, generator=torch.Generator().manual_seed(0))
    exact = torch.from_numpy(propagation(small.graph, "row").toarray()) @ x
    total, count, loss, batches = torch.zeros(60, 3), torch.zeros(60), torch.zeros(60), 0
    for epoch in range(500):
        for batch in drawn.batches(targets, Key.of(epoch), 1):
            total[batch.targets] += aggregate(x[batch.nodes], batch.blocks[-1])
            loss[batch.targets] += batch.weight
            count[batch.targets] += 1
            batches += 1
    mean = total[targets] / count[targets, None]
    assert float((mean - exact[targets]).abs().max()) < 0.1
    assert float((mean - exact[targets]).mean().abs()) < 0.01
    torch.testing.assert_close(loss[targets] / batches, torch.full((30,), 1 / 30), rtol=0.15, atol=0)
    assert abs(float(loss.sum()) / batches - 1) < 0.02


def test_walks_do_not_depend_on_weights(small: Dataset) -> None:
    pool = small.split.train
    assert sampler(small).draw(pool, Key.of(1)).tolist() == sampler(with_weights(small)).draw(pool, Key.of(1)).tolist()


def test_without_correction_sums_would_be_biased(small: Dataset) -> None:
    """The factors matter: rare edges weigh more than their share of the mean."""
    drawn = sampler(small, layers=1)
    (batch, *_) = drawn.batches(small.split.train, Key.of(0), 1)
    block = batch.blocks[0]
    share = 1 / (1 + np.diff(small.graph.indptr))[batch.targets.numpy()]
    self_loops = block.weight[block.indptr[:-1]]
    np.testing.assert_allclose(self_loops.numpy(), share, rtol=1e-6)
    plain = np.repeat(share, block.indptr.diff().numpy())
    assert float(block.weight.numpy().sum()) > 1.2 * plain.sum()


@pytest.mark.parametrize("conv", ["mean", "gcn"])
def test_training_learns(small: Dataset, conv: str) -> None:
    settings = {"conv": conv, "roots": 10, "lr": 0.05, "epochs": 60}
    assert mggcn.fit(small, "graphsaint", settings=settings).record.test_accuracy > 0.6


@pytest.mark.parametrize("name", ["roots", "walk", "presample"])
def test_settings_are_checked(name: str) -> None:
    with pytest.raises(InputError, match=f"{name}: 0 is less than 1"):
        resolve("graphsaint", "cora", {name: 0})
