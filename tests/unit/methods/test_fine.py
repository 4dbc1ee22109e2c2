"""The fine layer's aggregates against plain dense matrices."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mggcn.data._dataset import Dataset
from mggcn.data._split import Split
from mggcn.errors import InputError
from mggcn.graph import EdgeSchema, Graph
from mggcn.keys import Key
from mggcn.methods import MixGrained
from mggcn.methods._fine import Fine, FineNorm, Relations
from mggcn.nn.rows import to_dense
from mggcn.runs import resolve
from mggcn.sampling.mix_grained import DeviceMixGrainedSampler
from mggcn.training._compute import Compute
from tests.gpu import GPU

CPU = Compute(torch.device("cpu"))


def operator(
    graph: Graph, norm: FineNorm, include_self: bool, relations: tuple[int, ...] | None = None
) -> NDArray[np.float64]:
    """The matrix A of a fine layer, over some relations or over all."""
    edges = np.zeros((graph.num_nodes, graph.num_nodes))
    for node in range(graph.num_nodes):
        entries = graph.relations_of(node)
        numbers = np.zeros(entries.indices.size, int) if entries.number is None else entries.number
        for neighbour, number, weight in zip(entries.indices, numbers, entries.weights(), strict=True):
            edges[node, neighbour] += weight * (relations is None or number in relations)
    loops = edges + np.eye(graph.num_nodes)
    if norm == "mean":
        weights = loops if include_self else edges
        total = weights.sum(axis=1, keepdims=True)
        return weights / np.where(total == 0, 1, total)
    rows = np.sqrt(loops.sum(axis=1))
    is_one_way = relations is not None and graph.schema.is_one_way(relations)
    columns = np.sqrt(loops.sum(axis=0)) if is_one_way else rows
    symmetric = loops / rows[:, None] / columns[None, :]
    return symmetric if norm == "symmetric" else (np.eye(graph.num_nodes) + symmetric) / 2


@pytest.fixture
def directed() -> Graph:
    ends = np.random.default_rng(3).integers(0, 18, (2, 60))
    return Graph.from_edges(*ends, 20, direction="out")


@pytest.fixture
def payments() -> Graph:
    """A directed graph with weights and two types."""
    rng = np.random.default_rng(3)
    ends, weight, kind = rng.integers(0, 18, (2, 90)), rng.lognormal(size=90), rng.integers(0, 2, 90)
    return Graph.from_edges(*ends, 20, direction="directed", weight=weight, edge_type=kind, types=("pays", "lends"))


def fine_of(
    graph: Graph, norm: FineNorm, num_features: int, *, include_self: bool = True, relations: Relations = "auto"
) -> Fine:
    return Fine(1, norm, include_self, relations, graph.schema, num_features)


def assert_back_ends_equal(graph: Graph, fine: Fine) -> None:
    """Compare the aggregates of dense and sparse features and those of a GPU with dense products."""
    x = np.random.default_rng(0).normal(size=(graph.num_nodes, fine.num_features)).astype(np.float32)
    x[np.random.default_rng(1).random(x.shape) < 0.5] = 0
    tensors = (torch.from_numpy(np.array(array)).to(GPU) for array in (graph.indptr, graph.indices, x))
    on_device = fine.parts_on(graph, *tensors)[1:]
    assert len(on_device) == len(fine.groups)
    for group, part in zip(fine.groups, on_device, strict=True):
        expected = operator(graph, fine.norm, fine.include_self, group) @ x
        sparse = fine.average(graph, group)(csr_array(x))
        assert isinstance(sparse, csr_array)
        for found in (fine.average(graph, group, threads=2)(x), sparse.toarray(), part.cpu().numpy()):
            assert found.dtype == np.float32
            np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("include_self", [False, True])
@pytest.mark.parametrize("norm", ["mean", "symmetric", "half"])
@pytest.mark.parametrize("direction", ["both", "out"])
def test_every_back_end_equals_the_dense_product(
    small: Dataset, directed: Graph, direction: str, norm: FineNorm, include_self: bool
) -> None:
    graph = small.graph if direction == "both" else directed
    assert_back_ends_equal(graph, fine_of(graph, norm, 5, include_self=include_self))


@pytest.mark.parametrize("include_self", [False, True])
@pytest.mark.parametrize("norm", ["mean", "symmetric", "half"])
@pytest.mark.parametrize("relations", ["none", "direction", "type", "both", "auto"])
def test_every_group_of_relations_equals_the_dense_product(
    payments: Graph, relations: Relations, norm: FineNorm, include_self: bool
) -> None:
    fine = fine_of(payments, norm, 5, include_self=include_self, relations=relations)
    assert len(fine.groups) == {"none": 1, "direction": 2, "type": 2, "both": 4, "auto": 4}[relations]
    assert_back_ends_equal(payments, fine)


def test_weights_of_one_give_the_same_means_bit_for_bit(small: Dataset) -> None:
    source, target = small.graph.edges()
    ones = Graph.from_edges(source, target, small.num_nodes, weight=np.ones(source.size))
    for norm in ("mean", "symmetric", "half"):
        for x in (small.x, csr_array(small.x)):
            plain = fine_of(small.graph, norm, 1).average(small.graph)(x)
            weighted = fine_of(ones, norm, 1).average(ones)(x)
            is_dense = isinstance(x, np.ndarray)
            assert np.array_equal(plain if is_dense else plain.data, weighted if is_dense else weighted.data)


def test_whole_number_weights_equal_repeated_edges() -> None:
    rng = np.random.default_rng(0)
    ends, weight = np.unique(rng.integers(0, 12, (2, 40)), axis=1), None
    ends = ends[:, ends[0] != ends[1]]
    weight = rng.integers(1, 5, ends.shape[1])
    graph = Graph.from_edges(*ends, 12, direction="in", weight=weight)
    x = rng.normal(size=(12, 3)).astype(np.float32)
    for include_self in (False, True):
        expected = np.zeros((12, 3))
        for node in range(12):
            rows = [x[source] for source, target in np.repeat(ends, weight, axis=1).T if target == node]
            rows += [x[node]] if include_self else []
            expected[node] = np.mean(rows, axis=0) if rows else 0
        found = fine_of(graph, "mean", 3, include_self=include_self).average(graph)(x)
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_relations_that_a_graph_does_not_have_are_refused(small: Dataset, payments: Graph) -> None:
    with pytest.raises(InputError, match=r"relations: 'direction' needs more .*: neither directions nor types"):
        fine_of(small.graph, "mean", 4, relations="direction").groups  # noqa: B018
    with pytest.raises(InputError, match=r"relations: 'both' needs more .*: directions$"):
        Fine(1, "mean", True, "both", EdgeSchema(directed=True), 4).groups  # noqa: B018
    assert fine_of(payments, "mean", 4, relations="none").groups == (None,)


def test_auto_takes_what_makes_rows_of_at_most_8192_columns() -> None:
    edges = EdgeSchema(directed=True, types=tuple(map(str, range(10))))
    widths = {}
    for num_features in (100, 390, 391, 800, 2731):
        fine = Fine(1, "mean", True, "auto", edges, num_features)
        widths[num_features] = fine.num_parts, fine.by, bool(fine.limit)
    assert widths == {
        100: (21, "both", False),
        390: (21, "both", False),
        391: (3, "direction", True),
        800: (3, "direction", True),
        2731: (2, "none", True),
    }
    assert Fine(1, "mean", True, "auto", edges, 391).limit == (
        "directions and types apart would make input rows of 8,211 columns, more than 8,192; relations='both' uses them"
    )
    assert MixGrained().unused(edges, 390) == ()
    assert MixGrained().unused(edges, 391) == ("type",)
    assert MixGrained().unused(edges, 2731) == ("direction", "type")
    assert MixGrained(pick_from="in").unused(edges, 2731) == ("type",)
    assert MixGrained(relations="both").unused(edges, 2731) == ()


@pytest.mark.parametrize("on_gpu", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("norm", "hops"), [("mean", 1), ("symmetric", 1), ("half", 3), ("mean", 2)])
def test_inputs_are_the_powers_side_by_side(
    small: Dataset, monkeypatch: pytest.MonkeyPatch, norm: FineNorm, hops: int, sparse: bool, on_gpu: bool
) -> None:
    """The path of a GPU that holds the inputs runs through Triton's interpreter here."""
    monkeypatch.setattr(Compute, "holds", lambda *_: on_gpu)
    data = replace(small, x=csr_array(small.x)) if sparse else small
    changes = {"fine_norm": norm, "hops": hops, "scaling": "none", "explore": "breadth"}
    plan = resolve("mg-gcn", data.name, changes, preset="paper")
    prepared = plan.prepare(data, Key.of(0), Compute(GPU) if on_gpu else CPU)
    assert isinstance(prepared.train.sampler, DeviceMixGrainedSampler) == on_gpu
    parts = [small.x.astype(np.float64)]
    for _ in range(hops):
        parts.append(operator(small.graph, norm, include_self=True) @ parts[-1])
    rows = to_dense(prepared.train.inputs.rows(torch.arange(small.num_nodes, device=GPU if on_gpu else "cpu")))
    np.testing.assert_allclose(rows.cpu().numpy(), np.concatenate(parts, axis=1), atol=1e-6)
    batch = next(iter(prepared.train.sampler.batches(small.split.train, Key.of(1), 8)))
    scores = prepared.model(prepared.train.rows(prepared.model, batch), batch.blocks)
    assert scores.shape == (8, small.num_classes)
    assert set(batch.nodes.tolist()) <= {*small.split.train[:8], *np.concatenate([*map(small.graph.row, range(60))])}


def test_without_a_fine_layer_inputs_are_the_features(small: Dataset) -> None:
    changes = {"fine": False, "hops": 3, "scaling": "none"}
    prepared = resolve("mg-gcn", small.name, changes).prepare(small, Key.of(0), CPU)
    assert to_dense(prepared.train.inputs.rows(torch.arange(3))).shape[1] == small.num_features


@pytest.mark.parametrize("on_gpu", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_inputs_have_a_part_for_each_hop_and_relation(
    small: Dataset, payments: Graph, monkeypatch: pytest.MonkeyPatch, sparse: bool, on_gpu: bool
) -> None:
    monkeypatch.setattr(Compute, "holds", lambda *_: on_gpu)
    x = small.x[:20]
    data = Dataset(
        "payments",
        payments,
        csr_array(x) if sparse else x,
        np.arange(20) % 2,
        ("a", "b"),
        Split(np.arange(12), np.arange(12, 16), np.arange(16, 20)),
    )
    changes = {"hops": 2, "scaling": "none", "pick_by": "weight", "pick_from": "in"}
    prepared = resolve("mg-gcn", data.name, changes, preset="paper").prepare(
        data, Key.of(0), Compute(GPU) if on_gpu else CPU
    )
    parts = [x.astype(np.float64)]
    for number in range(4):
        part = parts[0]
        for _ in range(2):
            part = operator(payments, "mean", include_self=True, relations=(number,)) @ part
            parts.append(part)
    rows = to_dense(prepared.train.inputs.rows(torch.arange(20, device=GPU if on_gpu else "cpu")))
    np.testing.assert_allclose(rows.cpu().numpy(), np.concatenate(parts, axis=1), atol=1e-6)
    batch = next(iter(prepared.train.sampler.batches(data.split.train, Key.of(1), 12)))
    assert prepared.model(prepared.train.rows(prepared.model, batch), batch.blocks).shape == (12, 2)


def test_picks_from_one_end_of_edges(payments: Graph, small: Dataset) -> None:
    split = Split(np.arange(12), np.arange(12, 16), np.arange(16, 20))
    data = Dataset("payments", payments, small.x[:20], np.arange(20) % 2, ("a", "b"), split)
    changes = {"pick_from": "out", "picks": 1}
    prepared = resolve("mg-gcn", data.name, changes, preset="paper").prepare(data, Key.of(0), CPU)
    batch = next(iter(prepared.train.sampler.batches(np.arange(20), Key.of(1), 20)))
    receivers = payments.towards("out")
    for target, pick in zip(batch.nodes[:20].tolist(), batch.nodes[20:].tolist(), strict=True):
        assert pick in receivers.row(target) if receivers.row(target).size else pick == target
    with pytest.raises(InputError, match="pick_from: 'out' needs a directed graph, but this one is 'both'"):
        resolve("mg-gcn", small.name, changes).prepare(small, Key.of(0), CPU)
