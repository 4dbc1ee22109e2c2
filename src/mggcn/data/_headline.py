"""The sizes of a data set as text, with its source and what may mislead."""

from mggcn.data._dataset import Dataset


def headline(dataset: Dataset) -> str:
    """The sizes of a data set, and on further lines its source and what may mislead."""
    split = dataset.split
    sizes = f"{split.train.size:,}/{split.val.size:,}/{split.test.size:,}" if split else "no split"
    counts = f"{dataset.num_nodes:,} nodes, {dataset.graph.num_edges:,} edges, {dataset.num_features:,} features"
    first = f"{dataset.name}: {counts}, {dataset.num_classes} classes, split {sizes}"
    return "\n".join(filter(None, [first, dataset.source, *(f"note: {text}" for text in dataset.warnings)]))
