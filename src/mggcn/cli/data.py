"""``mggcn data``: list, fetch, describe, import and verify data sets, and what was computed from them."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from mggcn.cli.options import Switch, with_flags

if TYPE_CHECKING:
    from mggcn.data import Cache, Dataset
    from mggcn.graph import Graph

app = App(name="data", help="List, fetch, describe, import and verify data sets.")
_cache_app = App(name="cache", help="List or clear what was computed from data sets before training.")
app.command(_cache_app)
_HASHES = ("data", "scaling", "train")
_DIRECTIONS = {
    "both": "undirected",
    "directed": "directed",
    "in": "directed, only those into a node",
    "out": "directed, only those out of a node",
}


@app.command(name="list")
def list_names() -> None:
    """List the names of the data sets."""
    from mggcn.data import names

    print("\n".join(names()))


@app.command(name=["get", "info"])
def get(dataset: str, /, *, root: Path | None = None) -> None:
    """Describe a data set; fetch it first if it is not there yet, and verify it.

    `mggcn data get` and `mggcn data info` are the same command.

    Args:
        dataset: A known name or a dataset folder.
        root: Where data sets are searched and stored; else $MGGCN_DATA, else a per-user cache.
    """
    import numpy as np

    from mggcn.data import load, raw_folder

    data = load(dataset, root=root)
    folder = data.path or raw_folder(dataset, root)
    degrees, labelled = data.graph.degrees, data.y[data.y >= 0]
    counts = np.bincount(labelled, minlength=data.num_classes)
    lines = [
        f"name        {data.name}",
        f"source      {data.source}",
        f"nodes       {data.num_nodes:,} ({int((degrees == 0).sum()):,} isolated, {labelled.size:,} labelled)",
        f"edges       {data.graph.num_edges:,} ({_DIRECTIONS[data.graph.direction]})",
        *_relation_lines(data.graph),
        f"degree      mean {degrees.mean():.1f}, largest {degrees.max():,}",
        f"features    {data.num_features:,} ({'sparse' if data.is_sparse else 'dense'})",
        "classes     " + ", ".join(f"{name} {count:,}" for name, count in zip(data.classes, counts, strict=True)),
    ]
    if data.split is not None:
        lines.append("split       " + ", ".join(f"{nodes.size:,} {part}" for part, nodes in data.split.parts().items()))
    lines.append(f"folder      {f'{folder} (checksums verified)' if folder else 'none; nothing to fetch'}")
    print("\n".join(lines))
    _print_notes(data)


@app.command
def verify(folder: Path, /, *, quiet: Switch = False) -> None:
    """Check every byte of a dataset folder by its checksums.

    Loading a folder does so, too, unless it is mapped: then only sizes and types are checked.

    Args:
        folder: A dataset folder.
        quiet: Do not show the progress.
    """
    from mggcn import data as storage
    from mggcn.cli.display import StageDisplay

    with StageDisplay(quiet=quiet) as display:
        verified = storage.verify(folder, display.update)
    print(f"{_size(verified.dataset)}: {verified.num_files} files, {verified.num_bytes:,} bytes verified")


@Parameter(name="*")
@dataclass(frozen=True)
class ColumnOptions:
    """Which columns of the tables to read.

    Attributes:
        id_column: The ids in the node table.
        source_column: The start of an edge, an id.
        target_column: The end of an edge, an id.
        label_column: The classes in the node table, empty if unknown.
        split_column: train, val, test or empty in the node table.
        weight_column: The weights of edges in the edge list, 0 or more; a column called weight is used by default, and
            none uses no weights, also of an .npz. Weights of parallel edges are added.
        type_column: The types of edges in the edge list, at most 255.
        categories: A column whose values are categories even if they are numbers, dates, or many; can be repeated.
    """

    id_column: str = "id"
    source_column: str = "source"
    target_column: str = "target"
    label_column: str = "label"
    split_column: str = "split"
    weight_column: str = "weight"
    type_column: str | None = None
    categories: Annotated[list[str], Parameter(name="--category", negative=())] = field(default_factory=list)


@app.command(name="import")
def import_file(
    files: list[Path],
    /,
    *,
    out: Path,
    nodes: Annotated[list[Path] | None, Parameter(consume_multiple=True, negative=())] = None,
    features: str = "all",
    name: str | None = None,
    seed: int = 0,
    direction: Literal["both", "directed", "in", "out"] | None = None,
    directed: Switch = False,
    memory: str | None = None,
    overwrite: Switch = False,
    quiet: Switch = False,
    columns: ColumnOptions | None = None,
) -> None:
    """Convert files to a dataset folder.

    Tables are CSV or TSV files, also as .gz; with `pip install 'mggcn[tables]'` also Parquet, JSON, and .zst.

    Args:
        files: A .npz with num_nodes, edge_index, x (or its CSR parts), y and optional train_mask, val_mask, test_mask
            or train_idx, val_idx, test_idx; or an edge list: one or more tables, or a quoted pattern such as
            'edges-*.csv'; or a folder with the raw files of an OGB node data set, csv.gz or binary .npz.
        out: The dataset folder to write.
        nodes: The node table of an edge list, in one or more files. Without it the nodes are the ends of the edges.
        features: all other columns of the node table; structural, made of the edges, as for tables without such
            columns; none, for methods that need none; or a list such as age,city.
        name: The name of the data set in runs; the name of the folder --out if left out.
        seed: Of the stratified 60/20/20 split that is drawn if the file contains none.
        direction: both makes edges symmetric, as without this option, but then a note counts edges without a reverse;
            directed keeps which way each edge goes; in and out give a node only the neighbours on one side.
        directed: Short for --direction directed.
        memory: Read tables of any size with this much memory, such as 2GB, and the disk beside --out; the folder is the
            same. Needs `pip install 'mggcn[tables]'`. OGB's binary files are always read so, with 4GB if left out.
        overwrite: Replace an existing dataset folder.
        quiet: Do not show the progress of an import with --memory.
        columns: Which columns of the tables to read.
    """
    from mggcn import data as storage
    from mggcn._io.temporary import locked_name
    from mggcn.cli.display import StageDisplay
    from mggcn.data import import_ogb, read_npz, read_tables
    from mggcn.errors import InputError

    if directed and direction not in (None, "directed"):
        raise InputError(f"directed: not with direction={direction}")
    direction = "directed" if directed else direction
    storage.check_free(out, overwrite=overwrite)
    with locked_name(out):
        name, is_only = name or out.resolve().name, len(files) == 1 and not nodes
        with StageDisplay(quiet=quiet) as display:
            if files[0].is_dir():
                if not is_only or columns or features != "all" or direction not in (None, "both"):
                    raise InputError(f"{files[0]}: a folder of OGB is a whole data set; other options are for tables")
                limit = {} if memory is None else {"memory": memory}
                data = import_ogb(files[0], out, name=name, overwrite=overwrite, on_rows=display.update, **limit)
            elif files[0].suffix.lower() == ".npz":
                weight_column = "edge_weight" if columns is None else columns.weight_column
                if not is_only or memory or columns not in (None, ColumnOptions(weight_column=weight_column)):
                    raise InputError(f"{files[0]}: an .npz file is a whole data set; other options are for tables")
                data = read_npz(
                    files[0],
                    features=features,
                    name=name,
                    seed=seed,
                    direction=direction,
                    weight_column=weight_column,
                )
            else:
                data = read_tables(
                    files,
                    nodes,
                    features=features if features in ("all", "none", "structural") else features.split(","),
                    name=name,
                    seed=seed,
                    direction=direction,
                    out=out,
                    memory=memory,
                    overwrite=overwrite,
                    on_rows=display.update,
                    **asdict(columns or ColumnOptions()),
                )
        if data.path is None:
            storage.save(data, out, overwrite=overwrite)
    print(f"{_size(data)} in {out}")
    _print_notes(data)


@_cache_app.command(name="list")
def list_cache(folder: Path | None = None, /) -> None:
    """List what is kept: the folder, its size, the data set, and what was computed.

    Args:
        folder: A dataset folder, beside which it is kept; by default the data root's.
    """
    total = 0
    for entry in _cache_of(folder).entries():
        what = ", ".join(f"{name} {value}" for name, value in entry.what.items() if name not in _HASHES)
        print(f"{entry.path}  {entry.num_bytes:,} bytes  {what}")
        total += entry.num_bytes
    print(f"{total:,} bytes in all")


@_cache_app.command(name="clear")
def clear_cache(folder: Path | None = None, /) -> None:
    """Remove what is kept; it is computed again when it is needed.

    Args:
        folder: A dataset folder, beside which it is kept; by default the data root's.
    """
    print(f"{_cache_of(folder).clear():,} bytes removed")


def _cache_of(folder: Path | None) -> "Cache":
    from mggcn.data import META, PREPARED, Cache, is_dataset, writable_root
    from mggcn.errors import InputError

    if folder is not None and not is_dataset(folder):
        raise InputError(f"{folder}: not a dataset folder ({META} is missing)")
    return Cache((folder.resolve().parent if folder else writable_root()) / PREPARED)


def _relation_lines(graph: "Graph") -> list[str]:
    """Lines on the weights and the types of edges, if there are any."""
    lines, weights = [], graph.weight_range
    if weights is not None:
        total, least, largest = weights
        lines.append(f"weights     sum {total:,.6g}, least {least:,.6g}, largest {largest:,.6g}")
    if graph.types:
        counts = zip(graph.types, graph.type_counts, strict=True)
        lines.append("types       " + ", ".join(f"{name} {count:,}" for name, count in counts))
    return lines


def _print_notes(data: "Dataset") -> None:
    for text in data.warnings:
        print(f"note        {with_flags(text)}")


def _size(data: "Dataset") -> str:
    from mggcn.data import edges_in_words

    return f"{data.name}: {data.num_nodes:,} nodes, {edges_in_words(data.graph)}"
