"""``mggcn data``: list, describe and import data sets."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

app = App(name="data", help="List, describe and import data sets.")


@app.command(name="list")
def list_names() -> None:
    """List the data sets that have a name."""
    from mggcn import datasets

    print("\n".join(datasets.names()))  # noqa: T201


@app.command
def info(dataset: str, /, *, root: Path | None = None) -> None:
    """Describe a data set.

    Args:
        dataset: A known name or a dataset folder.
        root: Where data sets are looked for; else $MGGCN_DATA, else a per-user cache.
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
        split = data.split
        lines.append(f"split       {split.train.size:,} train, {split.val.size:,} val, {split.test.size:,} test")
    print("\n".join(lines))  # noqa: T201


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
    """Turn a file into a dataset folder.

    Args:
        file: A .npz with num_nodes, edge_index, x (or its CSR parts), y and optional train_idx, val_idx, test_idx; or,
            with --nodes, an edge list as .csv or .parquet with columns source and target.
        out: The dataset folder to make.
        nodes: The node table of an edge list: columns id, label, optional split, and numeric features.
        name: What runs call it; the file's name when left out.
        seed: Of the stratified 60/20/20 split that is drawn where the file gives none.
        direction: both makes edges symmetric; in and out keep one direction.
        overwrite: Replace an existing dataset folder.
    """
    from mggcn import storage
    from mggcn.datasets import npz, table

    storage.check_free(out, overwrite=overwrite)
    if nodes is None:
        data = npz.read_npz(file, name=name, seed=seed, direction=direction)
    else:
        data = table.read_tables(file, nodes, name=name, seed=seed, direction=direction)
    storage.save(data, out, overwrite=overwrite)
    print(f"{data.name}: {data.num_nodes:,} nodes, {data.graph.num_edges:,} edges in {out}")  # noqa: T201
