"""Times GraphSAGE training in PyTorch Geometric or DGL: a script that needs numpy, torch and the peer, but not mggcn.

``python worker.py PEER FOLDER OPTIONS``, where PEER is ``pyg``, ``pyg-cluster`` or ``dgl``, FOLDER holds the ``.npy``
files of a dataset folder, and OPTIONS is a JSON object with ``threads``, ``batch_size``, ``hidden``, ``fanout``,
``steps``, ``device``, ``num_parts`` and ``parts_a_step``. The last line of standard output is one JSON object: the
seconds of every step after the warm-up, or the reason of the failure.
"""

import importlib
import json
import os
import resource
import sys
import time
import types
from collections.abc import Callable
from functools import partial
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

WARMUP = 3


class TrainingData:
    """The graph, features, labels and training nodes of a dataset folder."""

    def __init__(self, folder: Path) -> None:
        self.indptr = torch.from_numpy(np.load(folder / "indptr.npy"))
        self.indices = torch.from_numpy(np.load(folder / "indices.npy").astype(np.int64))
        self.y = torch.from_numpy(np.load(folder / "y.npy"))
        self.train = torch.from_numpy(np.load(folder / "train.npy"))
        self.num_nodes, self.num_classes = self.y.numel(), int(self.y.max()) + 1
        self.x = torch.from_numpy(_features(folder, self.num_nodes))

    def edges(self) -> Tensor:
        """[2, num_stored]: from each neighbour to the node whose row lists it."""
        rows = torch.repeat_interleave(torch.arange(self.num_nodes), self.indptr.diff())
        return torch.stack([self.indices, rows])


def _features(folder: Path, num_nodes: int) -> Any:
    if (folder / "x.npy").is_file():
        return np.load(folder / "x.npy")
    indptr, columns, values = (np.load(folder / f"x_{part}.npy") for part in ("indptr", "indices", "data"))
    width = json.loads((folder / "meta.json").read_text())["num_features"]
    x = np.zeros((num_nodes, width), np.float32)
    x[np.repeat(np.arange(num_nodes), np.diff(indptr)), columns] = values
    return x


def timed(loader: Any, step: Callable[[Any], int], options: dict[str, Any]) -> dict[str, Any]:
    """Time steps, sampling and gathering included; ``step`` returns the number of nodes in its batch."""
    cuda = options["device"] == "cuda"
    seconds, nodes = [], []
    started = time.perf_counter()
    for batch in islice(chain.from_iterable(repeat(loader)), WARMUP + options["steps"]):
        nodes.append(step(batch))
        if cuda:
            torch.cuda.synchronize()
        finished = time.perf_counter()
        seconds.append(finished - started)
        started = finished
    kept = seconds[WARMUP:] or seconds
    return {"step_seconds": kept, "nodes": nodes[-len(kept) :], "steps_an_epoch": len(loader)}


def pyg(data: TrainingData, options: dict[str, Any]) -> dict[str, Any]:
    """NeighborLoader and SAGEConv; each layer computes only the nodes that the next one needs."""
    import torch_geometric
    from torch_geometric import loader, nn, typing

    if not (typing.WITH_PYG_LIB or typing.WITH_TORCH_SPARSE):
        raise ImportError("NeighborLoader needs pyg-lib or torch-sparse")
    graph = torch_geometric.data.Data(x=data.x, edge_index=data.edges(), y=data.y)
    batches = loader.NeighborLoader(
        graph, options["fanout"], data.train, batch_size=options["batch_size"], shuffle=True, is_sorted=True
    )
    first, second, optimizer = _model(nn.SAGEConv, data, options)

    def step(batch: Any) -> int:
        size, batch = batch.batch_size, batch.to(options["device"])
        last = batch.edge_index[:, batch.edge_index[1] < size]
        inner = max(size, int(last[0].max()) + 1 if last.numel() else 0)
        h = torch.relu(first((batch.x, batch.x[:inner]), batch.edge_index))
        _descend(optimizer, second((h, h[:size]), last), batch.y[:size])
        return int(batch.num_nodes)

    backend = "pyg-lib" if typing.WITH_PYG_LIB else "torch-sparse"
    versions = {"torch_geometric": torch_geometric.__version__, "sampler": backend}
    return timed(batches, step, options) | {"versions": versions}


def pyg_cluster(data: TrainingData, options: dict[str, Any]) -> dict[str, Any]:
    """ClusterLoader and SAGEConv over METIS parts."""
    import torch_geometric
    from torch_geometric import loader, nn

    mask = torch.zeros(data.num_nodes, dtype=torch.bool)
    mask[data.train] = True
    graph = torch_geometric.data.Data(x=data.x, edge_index=data.edges(), y=data.y, train_mask=mask)
    parts = max(2, min(options["num_parts"], data.num_nodes // 20))
    started = time.perf_counter()
    kind, partitioner = _cluster_kind(loader.ClusterData)
    clusters = kind(graph, num_parts=parts, log=False)
    partition_seconds = time.perf_counter() - started
    batches = loader.ClusterLoader(clusters, batch_size=min(options["parts_a_step"], parts), shuffle=True)
    first, second, optimizer = _model(nn.SAGEConv, data, options)

    def step(batch: Any) -> int:
        batch = batch.to(options["device"])
        h = second(torch.relu(first(batch.x, batch.edge_index)), batch.edge_index)
        _descend(optimizer, h[batch.train_mask], batch.y[batch.train_mask])
        return int(batch.num_nodes)

    versions = {"torch_geometric": torch_geometric.__version__, "partitioner": partitioner}
    facts = {"versions": versions, "partition_seconds": partition_seconds, "parts": parts}
    return timed(batches, step, options) | facts


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
            graph = {"xadj": starts.numpy(), "adjncy": column[order].numpy()}
            return torch.tensor(pymetis.part_graph(self.num_parts, **graph)[1])

    return WithPymetis, "pymetis"


def dgl(data: TrainingData, options: dict[str, Any]) -> dict[str, Any]:
    """NeighborSampler and SAGEConv."""
    library, without = _import_dgl()
    graph = library.graph(("csc", (data.indptr, data.indices, torch.empty(0, dtype=torch.int64))))
    device = torch.device(options["device"])
    sampler = library.dataloading.NeighborSampler(options["fanout"][::-1])
    loader = library.dataloading.DataLoader(
        graph, data.train, sampler, batch_size=options["batch_size"], shuffle=True, device=device
    )
    first, second, optimizer = _model(partial(library.nn.SAGEConv, aggregator_type="mean"), data, options)
    x, y = data.x, data.y

    def step(batch: Any) -> int:
        nodes, targets, blocks = batch
        h = torch.relu(first(blocks[0], x[nodes.cpu()].to(device)))
        _descend(optimizer, second(blocks[1], h), y[targets.cpu()].to(device))
        return int(nodes.numel())

    versions = {"dgl": library.__version__, **({"left out": "graphbolt"} if without else {})}
    return timed(loader, step, options) | {"versions": versions}


def _import_dgl() -> tuple[Any, bool]:
    """DGL, without GraphBolt if that has no build for this torch, and whether it was left out."""
    try:
        return importlib.import_module("dgl"), False
    except (ImportError, OSError):
        for name in [name for name in sys.modules if name.partition(".")[0] == "dgl"]:
            del sys.modules[name]
        sys.modules["dgl.graphbolt"] = _Absent("dgl.graphbolt")
        return importlib.import_module("dgl"), True


class _Absent(types.ModuleType):
    """Replaces a module that cannot be loaded; when DGL is imported, it only names the classes in it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def _model(conv: Callable[..., Any], data: TrainingData, options: dict[str, Any]) -> tuple[Any, Any, torch.optim.Adam]:
    """Two convolutions and their optimiser."""
    first = conv(data.x.shape[1], options["hidden"]).to(options["device"])
    second = conv(options["hidden"], data.num_classes).to(options["device"])
    return first, second, torch.optim.Adam([*first.parameters(), *second.parameters()], lr=0.001)


def _descend(optimizer: torch.optim.Optimizer, scores: Tensor, labels: Tensor) -> None:
    loss = functional.cross_entropy(scores, labels)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()


def _peak_memory() -> int:
    """The largest resident size; ru_maxrss is a last resort, because it also counts the parent's memory at the fork."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


PEERS = {"pyg": pyg, "pyg-cluster": pyg_cluster, "dgl": dgl}


def main(peer: str, folder: str, text: str) -> None:
    """Run one peer and print the result."""
    options = json.loads(text)
    torch.set_num_threads(options["threads"])
    torch.manual_seed(0)
    try:
        result = PEERS[peer](TrainingData(Path(folder)), options)
    except (ImportError, OSError, RuntimeError) as error:
        result = {"absent": (str(error).strip().splitlines() or [type(error).__name__])[0]}
    result |= {"peer": peer, "torch": torch.__version__, "peak_memory_bytes": _peak_memory()}
    sys.stdout.write(json.dumps(result) + os.linesep)


if __name__ == "__main__":
    main(*sys.argv[1:4])
