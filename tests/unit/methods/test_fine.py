"""The fine layer's aggregates against plain dense matrices."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mggcn.data._dataset import Dataset
from mggcn.graph import Graph
from mggcn.keys import Key
from mggcn.methods._fine import FineNorm, fine, fine_on
from mggcn.nn.rows import to_dense
from mggcn.runs import resolve
from mggcn.sampling.mix_grained import DeviceMixGrainedSampler
from mggcn.training._compute import Compute
from tests.gpu import GPU

CPU = Compute(torch.device("cpu"))


def operator(graph: Graph, norm: FineNorm, include_self: bool) -> NDArray[np.float64]:
    """The matrix A of a fine layer."""
    edges = np.zeros((graph.num_nodes, graph.num_nodes))
    for node in range(graph.num_nodes):
        edges[node, graph.row(node)] = 1
    loops = edges + np.eye(graph.num_nodes)
    if norm == "mean":
        heard = loops if include_self else edges
        return heard / np.maximum(heard.sum(axis=1, keepdims=True), 1)
    root = np.sqrt(loops.sum(axis=1))
    symmetric = loops / root[:, None] / root[None, :]
    return symmetric if norm == "symmetric" else (np.eye(graph.num_nodes) + symmetric) / 2


@pytest.fixture
def directed() -> Graph:
    ends = np.random.default_rng(3).integers(0, 18, (2, 60))
    return Graph.from_edges(*ends, 20, direction="out")


@pytest.mark.parametrize("include_self", [False, True])
@pytest.mark.parametrize("norm", ["mean", "symmetric", "half"])
@pytest.mark.parametrize("direction", ["both", "out"])
def test_every_back_end_equals_the_dense_product(
    small: Dataset, directed: Graph, direction: str, norm: FineNorm, include_self: bool
) -> None:
    graph = small.graph if direction == "both" else directed
    x = np.random.default_rng(0).normal(size=(graph.num_nodes, 5)).astype(np.float32)
    x[np.random.default_rng(1).random(x.shape) < 0.5] = 0
    expected = operator(graph, norm, include_self) @ x
    on_host = fine(graph, x, norm, include_self, threads=2)
    sparse = fine(graph, csr_array(x), norm, include_self, threads=None)
    tensors = (torch.from_numpy(np.array(array)).to(GPU) for array in (graph.indptr, graph.indices, x))
    on_device = fine_on(*tensors, norm, include_self).cpu().numpy()
    assert isinstance(sparse, csr_array)
    for found in (on_host, sparse.toarray(), on_device):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, atol=1e-6)


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
