"""Structural features against NetworkX."""

import networkx as nx
import numpy as np
import pytest

from mggcn.data._structure import structural_features
from mggcn.graph import Graph


def graphs(num_nodes: int, num_edges: int, seed: int, direction: str) -> tuple[Graph, nx.Graph]:
    """A random graph with a hub and isolated nodes, ours and NetworkX's."""
    rng = np.random.default_rng(seed)
    source, target = rng.integers(0, num_nodes - 2, (2, num_edges))
    source[: num_edges // 4] = 0
    theirs = nx.Graph() if direction == "both" else nx.DiGraph()
    theirs.add_nodes_from(range(num_nodes))
    theirs.add_edges_from((u, v) for u, v in zip(source.tolist(), target.tolist(), strict=True) if u != v)
    return Graph.from_edges(source, target, num_nodes, direction=direction), theirs


@pytest.mark.parametrize("direction", ["both", "in", "out", "directed"])
@pytest.mark.parametrize(("num_nodes", "num_edges"), [(40, 30), (60, 400), (200, 1500)])
def test_every_feature_equals_networkx(direction: str, num_nodes: int, num_edges: int) -> None:
    ours, theirs = graphs(num_nodes, num_edges, num_nodes, direction)
    x, names = structural_features(ours)
    columns = dict(zip(names, x.T, strict=True))
    undirected = nx.Graph(theirs)
    degrees = dict(undirected.degree())
    neighbour_degrees = nx.average_neighbor_degree(undirected)
    ranks = nx.pagerank(theirs, tol=1e-14, max_iter=10_000)
    cores, clustering = nx.core_number(undirected), nx.clustering(undirected)
    expected = {
        "log degree": [np.log1p(degrees[v]) for v in range(num_nodes)],
        "log mean neighbour degree": [np.log1p(neighbour_degrees[v]) for v in range(num_nodes)],
        "clustering": [clustering[v] for v in range(num_nodes)],
        "log core number": [np.log1p(cores[v]) for v in range(num_nodes)],
        "log PageRank": [np.log(ranks[v] * num_nodes) for v in range(num_nodes)],
    }
    if direction != "both":
        expected["log in-degree"] = [np.log1p(theirs.in_degree(v)) for v in range(num_nodes)]
        expected["log out-degree"] = [np.log1p(theirs.out_degree(v)) for v in range(num_nodes)]
    assert set(names) == set(expected)
    assert x.dtype == np.float32
    for name, values in expected.items():
        np.testing.assert_allclose(columns[name], values, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("direction", ["both", "in", "directed"])
def test_weights_and_types_do_not_count(direction: str) -> None:
    rng = np.random.default_rng(0)
    source, target = rng.integers(0, 50, (2, 300))
    kinds = {"weight": rng.random(300) + 0.1, "edge_type": rng.integers(0, 3, 300)}
    plain = structural_features(Graph.from_edges(source, target, 50, direction=direction))
    related = structural_features(Graph.from_edges(source, target, 50, direction=direction, **kinds))
    assert related[1] == plain[1]
    assert np.array_equal(related[0], plain[0])


def test_shapes_with_known_values() -> None:
    clique = Graph.from_edges([0, 0, 0, 1, 1, 2], [1, 2, 3, 2, 3, 3], 5)
    x, names = structural_features(clique)
    columns = dict(zip(names, x.T, strict=True))
    assert columns["clustering"].tolist() == [1, 1, 1, 1, 0]
    assert np.expm1(columns["log core number"]).tolist() == pytest.approx([3, 3, 3, 3, 0])
    assert np.exp(columns["log PageRank"]).mean() == pytest.approx(1)
    assert np.isfinite(structural_features(Graph.from_edges([], [], 3))[0]).all(), "a graph without edges"
