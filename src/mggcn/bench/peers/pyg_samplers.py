"""GraphSAGE, Cluster-GCN and GraphSAINT in PyTorch Geometric: convolutions on the batches of a loader."""

import time
from functools import partial
from typing import Any

import torch
import torch_geometric
from torch import Tensor
from torch_geometric import loader, nn, typing
from torch_geometric.nn.conv import gcn_conv

from .data import TrainingData
from .pyg_models import VERSIONS, adjacency
from .training import Options, activate, descend, timed, two_layers


def graphsage_mean(data: TrainingData, options: Options) -> dict[str, Any]:
    """NeighborLoader and SAGEConv; each layer computes only the nodes that the next one needs."""
    if not (typing.WITH_PYG_LIB or typing.WITH_TORCH_SPARSE):
        raise ImportError("NeighborLoader needs pyg-lib or torch-sparse")
    form = options["variant"]
    graph = torch_geometric.data.Data(x=data.x, edge_index=data.edges(), y=data.y)
    batches = loader.NeighborLoader(
        graph, options["fanout"], data.train, batch_size=options["batch_size"], shuffle=True, is_sorted=True
    )
    first, second, optimizer = two_layers(nn.SAGEConv, data, options)

    def step(batch: Any) -> int:
        size, batch = batch.batch_size, batch.to(options["device"])
        last = batch.edge_index[:, batch.edge_index[1] < size]
        inner = max(size, int(last[0].max()) + 1 if last.numel() else 0)
        lower, _ = adjacency(form, batch.edge_index, (inner, batch.num_nodes))
        upper, _ = adjacency(form, last, (size, inner))
        h = activate(first((batch.x, batch.x[:inner]), lower), options)
        descend(optimizer, second((h, h[:size]), upper), batch.y[:size])
        return int(batch.num_nodes)

    backend = "pyg-lib" if typing.WITH_PYG_LIB else "torch-sparse"
    return {**timed(batches, step, options), "versions": {**VERSIONS, "sampler": backend}}


def cluster_gcn(data: TrainingData, options: Options) -> dict[str, Any]:
    """ClusterLoader over METIS parts; SAGEConv, or GCNConv with a normalisation for each batch."""
    form, is_mean = options["variant"], options.get("conv", "mean") == "mean"
    graph = torch_geometric.data.Data(x=data.x, edge_index=data.edges(), y=data.y, train_mask=data.train_mask)
    started = time.perf_counter()
    kind, partitioner = _cluster_kind(loader.ClusterData)
    clusters = kind(graph, num_parts=options["num_parts"], log=False)
    seconds = time.perf_counter() - started
    batches = loader.ClusterLoader(
        clusters, batch_size=min(options["parts_a_step"], options["num_parts"]), shuffle=True
    )
    conv = nn.SAGEConv if is_mean else partial(nn.GCNConv, normalize=False)
    first, second, optimizer = two_layers(conv, data, options)

    def step(batch: Any) -> int:
        batch = batch.to(options["device"])
        edges, weight = batch.edge_index, None
        if not is_mean:
            edges, weight = gcn_conv.gcn_norm(edges, num_nodes=batch.num_nodes)
        adj, weight = adjacency(form, edges, (batch.num_nodes, batch.num_nodes), weight)
        extra = (adj,) if is_mean else (adj, weight)
        h = second(activate(first(batch.x, *extra), options), *extra)
        descend(optimizer, h[batch.train_mask], batch.y[batch.train_mask])
        return int(batch.num_nodes)

    facts = {"versions": {**VERSIONS, "partitioner": partitioner}, "preparation_seconds": seconds}
    return {**timed(batches, step, options), **facts}


def graphsaint(data: TrainingData, options: Options) -> dict[str, Any]:
    """GraphSAINTRandomWalkSampler with its normalisation; GraphConv or GCNConv with weights of edges.

    The sampler estimates the normalisation from sub-graphs that hold each node once, which does not change an epoch.
    """
    if not typing.WITH_TORCH_SPARSE:
        raise ImportError("GraphSAINTRandomWalkSampler needs torch-sparse")
    form = options["variant"]
    edges = data.edges(loops=True)
    share = 1 / (data.degrees + 1).float()
    graph = torch_geometric.data.Data(x=data.x, edge_index=edges, y=data.y, train_mask=data.train_mask)
    graph.edge_weight = share[edges[1]]
    batches = loader.GraphSAINTRandomWalkSampler(
        graph, options["roots"], options["walk"], options["steps_an_epoch"], sample_coverage=1, log=False
    )
    conv = nn.GraphConv if options["conv"] == "mean" else partial(nn.GCNConv, normalize=False)
    first, second, optimizer = two_layers(conv, data, options)

    def step(batch: Any) -> int:
        batch = batch.to(options["device"])
        weight, mask = batch.edge_weight * batch.edge_norm, batch.train_mask
        adj = adjacency(form, batch.edge_index, (batch.num_nodes, batch.num_nodes), weight)
        h = second(activate(first(batch.x, *adj), options), *adj)
        descend(optimizer, h[mask], batch.y[mask], batch.node_norm[mask])
        return int(batch.num_nodes)

    return {**timed(batches, step, options), "versions": {**VERSIONS, "sampler": "torch-sparse"}}


def _cluster_kind(cluster_data: Any) -> tuple[Any, str]:
    """ClusterData, with pymetis for its call of METIS if that is installed; and the name of the partitioner."""
    try:
        import pymetis
    except ImportError:
        return cluster_data, "PyTorch Geometric's"

    class WithPymetis(cluster_data):  # type: ignore[misc]
        def _metis(self, edge_index: Tensor, num_nodes: int) -> Tensor:
            row, column = edge_index
            order = torch.argsort(row, stable=True)
            starts = torch.zeros(num_nodes + 1, dtype=torch.int64)
            starts[1:] = torch.bincount(row, minlength=num_nodes).cumsum(0)
            dtype = pymetis.zero_copy_dtype()
            graph = pymetis.CSRAdjacency(starts.numpy().astype(dtype), column[order].numpy().astype(dtype))
            return torch.tensor(pymetis.part_graph(self.num_parts, graph).vertex_part)

    return WithPymetis, "pymetis"


RUNS = {"graphsage-mean": graphsage_mean, "cluster-gcn": cluster_gcn, "graphsaint": graphsaint}
