"""GCN over the whole graph, SGC, SIGN and node2vec in PyTorch Geometric."""

import importlib
import time
from functools import partial
from typing import Any

import torch
import torch_geometric
from torch import Tensor
from torch_geometric import nn, transforms, typing, utils

from .data import TrainingData
from .row_models import train_hops, train_regression
from .skip_gram import train_embedding
from .training import Options, activate, descend, timed, two_layers

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
    loader = model.loader(batch_size=options["walks_per_step"], shuffle=True)
    versions = {**VERSIONS, "walks": walker}
    return {**train_embedding(model, loader, model.loss, options), "versions": versions}


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


RUNS = {"gcn": gcn, "sgc": sgc, "sign": sign, "node2vec": node2vec}
