"""GCN over the whole graph, SGC, SIGN and node2vec in DGL."""

import importlib
import sys
import time
import types
from functools import partial
from typing import Any

import torch
from torch import Tensor

from .data import TrainingData
from .row_models import train_hops, train_regression
from .skip_gram import WindowModel, train_embedding
from .training import Options, activate, descend, timed, two_layers


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


RUNS = {"gcn": gcn, "sgc": sgc, "sign": sign, "node2vec": node2vec}
