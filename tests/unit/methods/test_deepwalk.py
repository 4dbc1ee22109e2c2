"""Skip-gram embeddings and the methods that read them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional

import mggcn
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.keys import Key
from mggcn.methods import deepwalk as embedding
from mggcn.methods.deepwalk import DeepWalk, embed
from mggcn.runs import resolve
from mggcn.runs._run_folder import load_run
from mggcn.training._compute import Compute

CPU = Compute(torch.device("cpu"))
QUICK: dict[str, object] = {"dim": 16, "walks": 20, "length": 10, "window": 3, "epochs": 60}


def cliques() -> Graph:
    """Two cliques of ten with one edge between them, and a node alone."""
    pairs = [(first + i, first + j) for first in (0, 10) for i in range(10) for j in range(i)]
    return Graph.from_edges(*np.array([*pairs, (0, 10)]).T, 21)


def test_nodes_of_a_clique_lie_together() -> None:
    found = embed(cliques(), DeepWalk(dim=16, walks=200, length=10, window=3), Key.of(0), CPU)
    assert found.shape == (21, 16)
    assert found.dtype == np.float32
    scaled = found[:20] / np.linalg.norm(found[:20], axis=1, keepdims=True)
    alike = scaled @ scaled.T
    assert alike[:10, :10].mean() > 0.5 + alike[:10, 10:].mean()
    assert np.abs(found[20]).max() <= 0.5 / 16


def test_the_same_key_gives_the_same_bits_for_any_number_of_threads() -> None:
    options = DeepWalk(dim=8, walks=2, length=6, window=2)
    first = embed(cliques(), options, Key.of(1), CPU)
    torch.manual_seed(3)
    assert np.array_equal(embed(cliques(), options, Key.of(1), replace(CPU, threads=1)), first)
    assert not np.array_equal(embed(cliques(), options, Key.of(2), CPU), first)
    assert not np.array_equal(embed(cliques(), options, Key.of(1), CPU, p=0.1, q=5.0), first)


def test_a_directed_graph_is_walked_both_ways() -> None:
    options, edges = DeepWalk(dim=8, walks=2, length=6, window=2), cliques().edges()
    forward = Graph.from_edges(*(end[edges[0] < edges[1]] for end in edges), 21, direction="out")
    assert np.array_equal(embed(forward, options, Key.of(1), CPU), embed(cliques(), options, Key.of(1), CPU))


@pytest.mark.parametrize("direction", ["out", "directed"])
def test_weights_of_both_ways_are_added(direction: str) -> None:
    options, (source, target) = DeepWalk(dim=8, walks=2, length=6, window=2), cliques().edges()
    once = source < target
    number = np.arange(np.count_nonzero(once))
    ends = [
        np.concatenate(pair) for pair in zip((source[once], target[once]), (target[once], source[once]), strict=True)
    ]
    there, back = 1.0 + number % 3, 0.5 + number % 4
    one = Graph.from_edges(*ends, 21, direction=direction, weight=np.concatenate([there, back]))
    other = Graph.from_edges(source[once], target[once], 21, weight=there + back)
    found, expected = (embed(graph, options, Key.of(1), CPU) for graph in (one, other))
    assert np.array_equal(found, expected)
    assert not np.array_equal(found, embed(cliques(), options, Key.of(1), CPU))


def test_heavy_edges_bring_nodes_together() -> None:
    """Two groups in a complete graph that differ in nothing but the weights of edges."""
    source, target = np.triu_indices(20, 1)
    weight = np.where((source < 10) == (target < 10), 50.0, 0.1)
    graph = Graph.from_edges(source, target, 20, weight=weight)
    found = embed(graph, DeepWalk(dim=16, walks=200, length=10, window=3), Key.of(0), CPU)
    scaled = found / np.linalg.norm(found, axis=1, keepdims=True)
    alike = scaled @ scaled.T
    assert alike[:10, :10].mean() > 0.5 + alike[:10, 10:].mean()


def test_a_step_follows_the_gradient_of_the_loss() -> None:
    """Against autograd on the loss written out pair by pair; the last row stands for places behind a walk's end."""
    options, negatives, rate = DeepWalk(dim=4, length=5, window=2), 3, 0.1
    walks, others = torch.tensor([[0, 1, 2, 1, 0], [3, 2, 5, 5, 5]]), torch.tensor([4, 0, 4])
    u, c = (torch.randn(6, 4, generator=torch.Generator().manual_seed(i), requires_grad=True) for i in (0, 1))
    loss = torch.zeros(())
    for row in walks.tolist():
        for i, v in enumerate(row):
            for j, w in enumerate(row):
                chance = max(0, options.window + 1 - abs(i - j)) / options.window
                if i != j and 5 not in (v, w):
                    near = -functional.logsigmoid(u[v] @ c[w])
                    away = -functional.logsigmoid(-(c[others] @ u[v])).mean()
                    loss = loss + chance * (near + negatives * away)
    gradients = torch.autograd.grad(loss, (u, c))
    tables = [embedding._Rows(t.detach().clone()) for t in (u, c)]
    embedding._step(walks, others, *tables, embedding._pair_weights(options, torch.device("cpu")), negatives, rate)
    for table, start, gradient in zip(tables, (u, c), gradients, strict=True):
        size = gradient.square().mean(dim=1, keepdim=True).sqrt()
        expected = start.detach() - rate * gradient / size.clamp(min=1e-30)
        torch.testing.assert_close(table.values, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("change", [{"dim": 0}, {"walks": 0}, {"window": -1}, {"rate": 0.0}])
def test_settings_are_checked(change: dict[str, float]) -> None:
    with pytest.raises(InputError, match=next(iter(change))):
        DeepWalk(**change)


@pytest.mark.parametrize("method", ["deepwalk", "node2vec"])
def test_it_learns_and_scores_the_same_after_loading(small: Dataset, tmp_path: Path, method: str) -> None:
    run = mggcn.fit(small, method, settings=QUICK, device="cpu")
    assert run.record.test_accuracy >= 0.6
    before = run.predict(device="cpu").probabilities
    run.save(tmp_path / "run")
    after = load_run(tmp_path / "run").predict(small, device="cpu").probabilities
    assert np.array_equal(before, after)


def test_another_graph_is_refused(small: Dataset) -> None:
    run = mggcn.fit(small, "deepwalk", settings=QUICK | {"epochs": 1}, device="cpu")
    with pytest.raises(InputError, match="an embedding is valid only for the whole graph it was trained on"):
        run.predict(replace(small, graph=small.graph.subgraph(np.arange(30))), device="cpu")


@pytest.mark.filterwarnings("ignore:small. edges have no weights")
def test_the_same_graph_with_other_weights_is_refused(small: Dataset) -> None:
    ends = small.graph.edges()
    weighted = [
        replace(small, graph=Graph.from_edges(*ends, 60, weight=1 + (ends[0] + ends[1]) % number)) for number in (2, 3)
    ]
    run = mggcn.fit(weighted[0], "deepwalk", settings=QUICK | {"epochs": 1}, device="cpu")
    for other in (small, weighted[1]):
        with pytest.raises(InputError, match="and this is another graph"):
            run.predict(other, device="cpu")


def test_an_inductive_data_set_is_embedded_whole(small: Dataset) -> None:
    data = replace(small, inductive=True)
    plan = resolve("deepwalk", data.name, QUICK)
    method = plan.prepare(data, Key.of(0), CPU)
    assert method.train is method.eval
    with pytest.raises(InputError, match="whole graph"):
        resolve("deepwalk", data.name, QUICK | {"training_graph": "train"}).prepare(data, Key.of(0), CPU)


@pytest.mark.parametrize("change", [{"p": 0}, {"q": -1}])
def test_node2vecs_biases_are_checked(change: dict[str, object]) -> None:
    with pytest.raises(InputError, match="is not a positive number"):
        resolve("node2vec", "cora", change)
