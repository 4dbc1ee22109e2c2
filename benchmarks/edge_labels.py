"""Accuracy on three graphs in which only directions, only weights or only types of edges tell the class.

    python -m benchmarks.edge_labels

MG-GCN with and without what is known of edges, GraphSAGE's mean aggregators, and PyG's R-GCN (two layers, full batch)
with a relation for each type and direction. Each cell is the median of the test accuracies of several seeds; data,
split and weights change with the seed. The model of an epoch is chosen by the accuracy on the validation nodes.
"""

import argparse
import statistics
import sys
import warnings
from dataclasses import replace

import torch
from torch.nn import functional

import mggcn
from mggcn.data import Dataset
from mggcn.errors import DataWarning, InputWarning
from mggcn.graph import Graph

NAMES = ("direction-labels", "weight-labels", "type-labels")
METHODS = {
    "mg-gcn": ("mg-gcn", False),
    "mg-gcn, nothing known of edges": ("mg-gcn", True),
    "graphsage-mean": ("graphsage-mean", False),
}
_EPOCHS, _PATIENCE, _HIDDEN = 300, 60, 64


class RGCN(torch.nn.Module):
    """Two layers of PyG's R-GCN."""

    def __init__(self, in_channels: int, out_channels: int, num_relations: int) -> None:
        from torch_geometric.nn import RGCNConv

        super().__init__()
        self.first = RGCNConv(in_channels, _HIDDEN, num_relations)
        self.last = RGCNConv(_HIDDEN, out_channels, num_relations)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor, edge_type: torch.Tensor) -> torch.Tensor:
        """[num_nodes, out_channels] scores."""
        hidden = functional.dropout(self.first(x, edge_index, edge_type).relu(), 0.5, self.training)
        scores: torch.Tensor = self.last(hidden, edge_index, edge_type)
        return scores


def accuracy_of_rgcn(data: Dataset, seed: int) -> float:
    """The test accuracy of PyG's R-GCN."""
    torch.manual_seed(seed)
    train, val, test = (torch.tensor(part) for part in data.require_split().parts().values())
    graph = data.graph
    entries = graph.relations
    if entries is None:
        raise ValueError(f"{data.name}: nothing is known of its edges")
    receivers = torch.tensor(entries.row_numbers())
    edge_index = torch.stack([torch.tensor(entries.indices.astype("int64")), receivers])
    number = torch.zeros(receivers.numel()) if entries.number is None else torch.tensor(entries.number.astype("int64"))
    x, y = torch.tensor(data.x), torch.tensor(data.y)
    model = RGCN(data.num_features, data.num_classes, len(graph.schema.relations))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    best, tested, since = -1.0, 0.0, 0
    for _ in range(_EPOCHS):
        model.train()
        optimizer.zero_grad()
        functional.cross_entropy(model(x, edge_index, number.long())[train], y[train]).backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            is_right = (model(x, edge_index, number.long()).argmax(dim=1) == y).double()
        on_val, since = float(is_right[val].mean()), since + 1
        if on_val > best:
            best, tested, since = on_val, float(is_right[test].mean()), 0
        if since > _PATIENCE:
            break
    return tested


def _plain(data: Dataset) -> Dataset:
    """The same data with edges of which nothing is known."""
    return replace(data, graph=Graph.from_edges(*data.graph.edges(), data.num_nodes))


def _show(label: str, cells: list[str]) -> None:
    sys.stdout.write(f"| {label} | {' | '.join(cells)} |\n")
    sys.stdout.flush()


def main() -> int:
    """Print a line for each method."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore", InputWarning)
    warnings.simplefilter("ignore", DataWarning)
    seeds = range(options.seeds)
    _show("test accuracy, %", [f"`{name}`" for name in NAMES])
    _show("---", ["---:"] * len(NAMES))
    for label, (method, is_plain) in METHODS.items():
        cells = []
        for name in NAMES:
            data = [_plain(mggcn.load(name, seed=s)) if is_plain else mggcn.load(name, seed=s) for s in seeds]
            runs = [mggcn.fit(one, method, seed=s, device="cpu") for s, one in zip(seeds, data, strict=True)]
            cells.append(statistics.median(run.test_accuracy for run in runs))
        _show(label, [f"{100 * cell:.1f}" for cell in cells])
    cells = [statistics.median(accuracy_of_rgcn(mggcn.load(name, seed=s), s) for s in seeds) for name in NAMES]
    _show("PyG's R-GCN", [f"{100 * cell:.1f}" for cell in cells])
    return 0


if __name__ == "__main__":
    sys.exit(main())
