"""GraphSAGE, Cluster-GCN and GraphSAINT in DGL: convolutions on the batches of a loader."""

import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import torch

from .data import TrainingData
from .dgl_models import graph_of, import_dgl
from .training import Options, activate, descend, timed, two_layers

_ROWS = ["x", "y", "mask"]


def graphsage_mean(data: TrainingData, options: Options) -> dict[str, Any]:
    """NeighborSampler and SAGEConv."""
    library, versions = import_dgl()
    device = torch.device(options["device"])
    sampler = library.dataloading.NeighborSampler(options["fanout"][::-1])
    loader = library.dataloading.DataLoader(
        graph_of(library, data), data.train, sampler, batch_size=options["batch_size"], shuffle=True, device=device
    )
    first, second, optimizer = two_layers(partial(library.nn.SAGEConv, aggregator_type="mean"), data, options)
    x, y = data.x, data.y

    def step(batch: Any) -> int:
        nodes, targets, blocks = batch
        h = activate(first(blocks[0], x[nodes.cpu()].to(device)), options)
        descend(optimizer, second(blocks[1], h), y[targets.cpu()].to(device))
        return int(nodes.numel())

    return {**timed(loader, step, options), "versions": versions}


def cluster_gcn(data: TrainingData, options: Options) -> dict[str, Any]:
    """ClusterGCNSampler; SAGEConv, or GraphConv on a graph with self-loops."""
    library, versions = import_dgl()
    device, is_mean = torch.device(options["device"]), options["conv"] == "mean"
    graph = graph_of(library, data)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "parts"))
        sampler = library.dataloading.ClusterGCNSampler(graph, options["num_parts"], path, prefetch_ndata=_ROWS)
    seconds = time.perf_counter() - started
    graph = graph if is_mean else library.add_self_loop(graph)
    _set_rows(graph, data)
    loader = library.dataloading.DataLoader(
        graph,
        torch.arange(options["num_parts"]),
        sampler,
        batch_size=min(options["parts_a_step"], options["num_parts"]),
        shuffle=True,
        device=device,
    )
    conv = partial(library.nn.SAGEConv, aggregator_type="mean") if is_mean else library.nn.GraphConv
    first, second, optimizer = two_layers(conv, data, options)

    def step(batch: Any) -> int:
        mask = batch.ndata["mask"]
        h = second(batch, activate(first(batch, batch.ndata["x"]), options))
        descend(optimizer, h[mask], batch.ndata["y"][mask])
        return int(batch.num_nodes())

    return {**timed(loader, step, options), "versions": versions, "preparation_seconds": seconds}


def graphsaint(data: TrainingData, options: Options) -> dict[str, Any]:
    """SAINTSampler with walks; SAGEConv or GraphConv with weights of edges.

    DGL estimates no normalisation. Edges and nodes have constant weights, so that a step takes as long as with it.
    """
    library, versions = import_dgl()
    device = torch.device(options["device"])
    graph = library.add_self_loop(graph_of(library, data))
    _set_rows(graph, data)
    graph.ndata["norm"] = torch.full((data.num_nodes,), 1 / data.num_nodes)
    graph.edata["weight"] = (1 / graph.in_degrees().float())[graph.edges()[1]]
    sampler = library.dataloading.SAINTSampler(
        "walk", (options["roots"], options["walk"]), prefetch_ndata=[*_ROWS, "norm"], prefetch_edata=["weight"]
    )
    loader = library.dataloading.DataLoader(
        graph, torch.arange(options["steps_an_epoch"]), sampler, batch_size=1, device=device
    )
    is_mean = options["conv"] == "mean"
    conv = (
        partial(library.nn.SAGEConv, aggregator_type="mean") if is_mean else partial(library.nn.GraphConv, norm="none")
    )
    first, second, optimizer = two_layers(conv, data, options)

    def step(batch: Any) -> int:
        mask, weight = batch.ndata["mask"], batch.edata["weight"]
        h = activate(first(batch, batch.ndata["x"], edge_weight=weight), options)
        h = second(batch, h, edge_weight=weight)
        descend(optimizer, h[mask], batch.ndata["y"][mask], batch.ndata["norm"][mask])
        return int(batch.num_nodes())

    return {**timed(loader, step, options), "versions": versions}


def _set_rows(graph: Any, data: TrainingData) -> None:
    graph.ndata["x"], graph.ndata["y"], graph.ndata["mask"] = data.x, data.y, data.train_mask


RUNS = {"graphsage-mean": graphsage_mean, "cluster-gcn": cluster_gcn, "graphsaint": graphsaint}
