"""``mggcn data``: list, fetch, describe and import data sets."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

if TYPE_CHECKING:
    from mggcn.dataset import Dataset

app = App(name="data", help="List, fetch, describe and import data sets.")


@app.command(name="list")
def list_names() -> None:
    """List the names of the data sets."""
    from mggcn import datasets

    print("\n".join(datasets.names()))  # noqa: T201


@app.command
def get(dataset: str, /, *, root: Path | None = None) -> None:
    """Fetch a data set if it is not there yet, verify it, and print its sizes, source and folder.

    Args:
        dataset: A known name or a dataset folder.
        root: Where data sets are searched and stored; else $MGGCN_DATA, else a per-user cache.
    """
    from mggcn import datasets

    data = datasets.load(dataset, root=root)
    folder = data.path or datasets.raw_folder(dataset, root)
    print(f"{_size(data)}, {data.num_features:,} features, {data.num_classes:,} classes")  # noqa: T201
    print(f"source      {data.source}")  # noqa: T201
    print(f"folder      {f'{folder} (checksums verified)' if folder else 'none; nothing to fetch'}")  # noqa: T201
    _print_notes(data)


@app.command
def info(dataset: str, /, *, root: Path | None = None) -> None:
    """Describe a data set.

    Args:
        dataset: A known name or a dataset folder.
        root: Where data sets are searched; else $MGGCN_DATA, else a per-user cache.
    """
    import numpy as np

    from mggcn import datasets

    data = datasets.load(dataset, root=root)
    degrees, labelled = data.graph.degrees, data.y[data.y >= 0]
    counts = np.bincount(labelled, minlength=data.num_classes)
    lines = [
        f"name        {data.name}",
        f"source      {data.source}",
        f"nodes       {data.num_nodes:,} ({int((degrees == 0).sum()):,} isolated, {labelled.size:,} labelled)",
        f"edges       {data.graph.num_edges:,} ({'undirected' if data.graph.direction == 'both' else 'directed'})",
        f"degree      mean {degrees.mean():.1f}, largest {degrees.max():,}",
        f"features    {data.num_features:,} ({'sparse' if data.is_sparse else 'dense'})",
        "classes     " + ", ".join(f"{name} {count:,}" for name, count in zip(data.classes, counts, strict=True)),
    ]
    if data.split is not None:
        lines.append("split       " + ", ".join(f"{nodes.size:,} {part}" for part, nodes in data.split.parts().items()))
    print("\n".join(lines))  # noqa: T201
    _print_notes(data)


@app.command(name="import")
def import_file(
    file: Path,
    /,
    *,
    out: Path,
    nodes: Path | None = None,
    name: str | None = None,
    seed: int = 0,
    direction: Literal["both", "in", "out"] = "both",
    overwrite: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Convert a file to a dataset folder.

    Args:
        file: A .npz with num_nodes, edge_index, x (or its CSR parts), y and optional train_idx, val_idx, test_idx; or,
            with --nodes, an edge list as .csv or .parquet with columns source and target.
        out: The dataset folder to write.
        nodes: The node table of an edge list: columns id, label, optional split, and numeric features.
        name: The name of the data set in runs; the name of the folder --out if left out.
        seed: Of the stratified 60/20/20 split that is drawn if the file contains none.
        direction: both makes edges symmetric; in and out keep one direction.
        overwrite: Replace an existing dataset folder.
    """
    from mggcn import datasets, storage

    storage.check_free(out, overwrite=overwrite)
    if nodes is None:
        data = datasets.read_npz(file, name=name or out.resolve().name, seed=seed, direction=direction)
    else:
        data = datasets.read_tables(file, nodes, name=name or out.resolve().name, seed=seed, direction=direction)
    storage.save(data, out, overwrite=overwrite)
    print(f"{_size(data)} in {out}")  # noqa: T201
    _print_notes(data)


def _print_notes(data: "Dataset") -> None:
    for text in data.warnings:
        print(f"note        {text}")  # noqa: T201


def _size(data: "Dataset") -> str:
    return f"{data.name}: {data.num_nodes:,} nodes, {data.graph.num_edges:,} edges"
