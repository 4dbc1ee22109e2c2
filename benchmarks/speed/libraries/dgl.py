"""The baselines in DGL."""

import importlib
import sys
import tempfile
import time
import types
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from .training import (
    Options,
    TrainingData,
    WindowModel,
    activate,
    descend,
    timed,
    train_embedding,
    train_hops,
    train_regression,
    two_layers,
)

_ROWS = ["x", "y", "mask"]


def import_dgl() -> tuple[Any, dict[str, str]]:
    """DGL, without GraphBolt if that has no build for this torch; and the versions to report."""
    left_out = {}
    try:
        library = importlib.import_module("dgl")
    except (ImportError, OSError):
        for name in [name for name in sys.modules if name.partition(".")[0] == "dgl"]:
            del sys.modules[name]
        sys.modules["dgl.graphbolt"] = _Absent("dgl.graphbolt")
        library, left_out = importlib.import_module("dgl"), {"left out": "graphbolt"}
    return library, {"dgl": library.__version__, **left_out}


class _Absent(types.ModuleType):
    """Replaces a module that cannot be loaded; when DGL is imported, it only names the classes in it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def graph_of(library: Any, data: TrainingData) -> Any:
    """The graph on the CPU, without self-loops."""
    return library.graph(("csc", (data.indptr, data.indices, torch.empty(0, dtype=torch.int64))))


def gcn(data: TrainingData, options: Options) -> dict[str, Any]:
    """GraphConv over the whole graph with self-loops."""
    library, versions = import_dgl()
    device = options["device"]
    graph = library.add_self_loop(graph_of(library, data)).to(device)
    graph.create_formats_()
    x, y, train = data.x.to(device), data.y.to(device), data.train.to(device)
    first, second, optimizer = two_layers(library.nn.GraphConv, data, options)

    def step(_: None) -> int:
        scores = second(graph, activate(first(graph, x), options))
        descend(optimizer, scores[train], y[train])
        return data.num_nodes

    return {**timed([None], step, options), "versions": versions}


def sgc(data: TrainingData, options: Options) -> dict[str, Any]:
    """SGConv with its propagated rows cached, whose linear map is trained on batches of these rows."""
    library, versions = import_dgl()
    device, started = options["device"], time.perf_counter()
    graph = library.add_self_loop(graph_of(library, data)).to(device)
    conv = library.nn.SGConv(data.x.shape[1], data.num_classes, k=options["hops"], cached=True).to(device)
    with torch.no_grad():
        conv(graph, data.x.to(device))
    facts = {"preparation_seconds": time.perf_counter() - started, "versions": versions}
    return {**train_regression(conv.fc, conv._cached_h, data, options), **facts}  # noqa: SLF001


def sign(data: TrainingData, options: Options) -> dict[str, Any]:
    """The mean over neighbours by ``update_all`` for each hop, and a network on the rows of all hops."""
    library, versions = import_dgl()
    device, started = options["device"], time.perf_counter()
    graph, parts = graph_of(library, data).to(device), [data.x.to(device)]
    for _ in range(options["hops"]):
        graph.ndata["h"] = parts[-1]
        graph.update_all(library.function.copy_u("h", "m"), library.function.mean("m", "h"))
        parts.append(graph.ndata.pop("h"))
    facts = {"preparation_seconds": time.perf_counter() - started, "versions": versions}
    return {**train_hops(parts, data, options), **facts}


def node2vec(data: TrainingData, options: Options) -> dict[str, Any]:
    """``node2vec_random_walk`` with the model of DGL's example, or with the module DeepWalk; and SparseAdam.

    Walks start at nodes that have neighbours, because both models need walks of full length.
    """
    library, versions = import_dgl()
    graph = graph_of(library, data)

    def walk(nodes: Any) -> Tensor:
        starts = torch.as_tensor(nodes)
        walks: Tensor = library.sampling.node2vec_random_walk(
            graph, starts, options["p"], options["q"], options["length"] - 1
        )
        return walks

    loader: Any = partial(
        torch.utils.data.DataLoader,
        torch.nonzero(data.degrees).flatten(),  # type: ignore[arg-type]
        batch_size=options["walks_per_step"],
        shuffle=True,
    )
    if options["variant"] == "DeepWalk":
        sizes = {"emb_dim": options["dim"], "walk_length": options["length"], "window_size": options["window"]}
        deep = library.nn.DeepWalk(graph, negative_size=options["negatives"], **sizes)
        batches = loader(collate_fn=lambda nodes: walk(torch.stack(nodes)))
        result = train_embedding(deep, batches, deep, options)
    else:
        model = WindowModel(data.num_nodes, walk, options)
        batches = loader(collate_fn=lambda nodes: model.sample(torch.stack(nodes)))
        result = train_embedding(model, batches, model.loss, options)
    return {**result, "versions": versions}


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


RUNS = {
    "gcn": gcn,
    "sgc": sgc,
    "sign": sign,
    "node2vec": node2vec,
    "graphsage-mean": graphsage_mean,
    "cluster-gcn": cluster_gcn,
    "graphsaint": graphsaint,
}
