"""The baselines in PyTorch Geometric."""

import importlib
import time
from functools import partial
from typing import Any

import torch
import torch_geometric
from torch import Tensor
from torch_geometric import loader, nn, transforms, typing, utils
from torch_geometric.nn.conv import gcn_conv

from .training import (
    Options,
    TrainingData,
    activate,
    descend,
    timed,
    train_embedding,
    train_hops,
    train_regression,
    two_layers,
)

VERSIONS = {"torch_geometric": torch_geometric.__version__}
_WALK = "random_walk(Tensor ptr, Tensor col, Tensor seed, int length, float p, float q) -> Tensor"
_COPIES = 4  # of a row for every edge: the message before and after its weight, and their gradients


def adjacency(form: str, edges: Tensor, size: tuple[int, int], weight: Any = None) -> tuple[Any, Any]:
    """Edges and their weights in the form that a convolution is called with.

    Args:
        form: ``edge_index``, ``torch CSR`` or ``SparseTensor``, of which the last needs torch-sparse.
        edges: [2, e] senders and receivers.
        size: the numbers of receivers and senders.
        weight: [e] or None.
    """
    if form == "edge_index":
        return edges, weight
    if form == "torch CSR":
        return utils.to_torch_csr_tensor(edges.flip(0), weight, size=size), None
    if not typing.WITH_TORCH_SPARSE:
        raise ImportError("SparseTensor needs torch-sparse")
    sparse = importlib.import_module("torch_sparse")
    return sparse.SparseTensor(row=edges[1], col=edges[0], value=weight, sparse_sizes=size), None


def gcn(data: TrainingData, options: Options) -> dict[str, Any]:
    """GCNConv over the whole graph, with the normalised adjacency cached."""
    device, form, edges = options["device"], options["variant"], data.edges()
    if form == "edge_index":
        _check_memory((edges.shape[1] + data.num_nodes) * options["hidden"] * 4 * _COPIES)
    x, y, train = data.x.to(device), data.y.to(device), data.train.to(device)
    adj, _ = adjacency(form, edges.to(device), (data.num_nodes, data.num_nodes))
    first, second, optimizer = two_layers(partial(nn.GCNConv, cached=True), data, options)

    def step(_: None) -> int:
        scores = second(activate(first(x, adj), options), adj)
        descend(optimizer, scores[train], y[train])
        return data.num_nodes

    return {**timed([None], step, options), "versions": VERSIONS}


def sgc(data: TrainingData, options: Options) -> dict[str, Any]:
    """SGConv with its propagated rows cached, whose linear map is trained on batches of these rows."""
    device, started = options["device"], time.perf_counter()
    conv = nn.SGConv(data.x.shape[1], data.num_classes, K=options["hops"], cached=True).to(device)
    adj, _ = adjacency("torch CSR", data.edges().to(device), (data.num_nodes, data.num_nodes))
    with torch.no_grad():
        conv(data.x.to(device), adj)
    facts = {"preparation_seconds": time.perf_counter() - started, "versions": VERSIONS}
    return {**train_regression(conv.lin, conv._cached_x, data, options), **facts}  # noqa: SLF001


def sign(data: TrainingData, options: Options) -> dict[str, Any]:
    """The transform SIGN, and a network on its rows."""
    device, started = options["device"], time.perf_counter()
    graph = torch_geometric.data.Data(x=data.x, edge_index=data.edges()).to(device)
    graph = transforms.SIGN(options["hops"])(graph)
    parts = [graph.x, *(graph[f"x{hop}"] for hop in range(1, options["hops"] + 1))]
    facts = {"preparation_seconds": time.perf_counter() - started, "versions": VERSIONS}
    return {**train_hops(parts, data, options), **facts}


def node2vec(data: TrainingData, options: Options) -> dict[str, Any]:
    """Node2Vec with sparse gradients and SparseAdam; its walks come from pyg-lib or torch-cluster."""
    walker = _provide_walks()
    model = nn.Node2Vec(
        data.edges(),
        embedding_dim=options["dim"],
        walk_length=options["length"],
        context_size=options["window"] + 1,
        walks_per_node=1,
        p=options["p"],
        q=options["q"],
        num_negative_samples=options["negatives"],
        num_nodes=data.num_nodes,
        sparse=True,
    )
    batches = model.loader(batch_size=options["walks_per_step"], shuffle=True)
    versions = {**VERSIONS, "walks": walker}
    return {**train_embedding(model, batches, model.loss, options), "versions": versions}


def _provide_walks() -> str:
    """The library that walks for Node2Vec; without pyg-lib, torch-cluster's walk takes the name of pyg-lib's."""
    if typing.WITH_PYG_LIB:
        return "pyg-lib"
    try:
        importlib.import_module("torch_cluster")
    except ImportError:
        raise ImportError("Node2Vec needs pyg-lib or torch-cluster") from None
    walk = torch.ops.torch_cluster.random_walk
    library = torch.library.Library("pyg", "FRAGMENT")  # type: ignore[no-untyped-call]
    library.define(_WALK)  # type: ignore[no-untyped-call]
    library.impl("random_walk", lambda *arguments: walk(*arguments)[0], "CPU")  # type: ignore[no-untyped-call]
    _KEPT.append(library)
    vars(importlib.import_module("torch_geometric.nn.models.node2vec"))["WITH_PYG_LIB"] = True
    return "torch-cluster"


_KEPT: list[Any] = []  # an operator exists as long as its library object


def _check_memory(needed: int) -> None:
    """Raise MemoryError if a step needs more memory than is available, before the system ends the process."""
    with open("/proc/meminfo") as lines:  # noqa: PTH123
        free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    if needed > free:
        raise MemoryError(f"edge_index: a step needs about {needed / 2**30:,.0f} GiB, {free / 2**30:,.0f} GiB are free")


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


RUNS = {
    "gcn": gcn,
    "sgc": sgc,
    "sign": sign,
    "node2vec": node2vec,
    "graphsage-mean": graphsage_mean,
    "cluster-gcn": cluster_gcn,
    "graphsaint": graphsaint,
}
