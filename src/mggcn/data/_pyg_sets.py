"""PyTorch Geometric's data sets by name.

The raw files of a data set are searched below the data root (``pyg/<Name>/raw``), else fetched by PyG. Reddit, Flickr
and Reddit2 are read from them. Any other data set is processed anew by PyG's own class (``force_reload``). PyG's cached
``processed/*.pt`` are pickles that may run code when loaded, so they are never read.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from mggcn._io.temporary import draft_folder
from mggcn.data._dataset import Dataset
from mggcn.data._pyg import torch_geometric
from mggcn.data._raw_layouts import REDDIT_FILES, SAINT_FILES, read_reddit, read_saint
from mggcn.data._root import find_folder, load_or_build, notice, writable_root
from mggcn.data._split import NO_SPLIT, complete_split
from mggcn.errors import InputError, first_line, unknown

_RAW: dict[str, tuple[Callable[[Path, str], Dataset], Sequence[str]]] = {
    "Reddit": (read_reddit, REDDIT_FILES),
    "Flickr": (read_saint, SAINT_FILES),
    "Reddit2": (read_saint, SAINT_FILES),
}
_MULTILABEL = ("Yelp", "AmazonProducts", "PPI")


def load(name: str, root: Path | None, seed: int, mmap: bool | None) -> Dataset:
    """Load PyG's data set ``name``, or ``name/part`` if its class takes a name, for example ``Coauthor/CS``."""
    if not all(word.isidentifier() for word in name.split("/")) or name.count("/") > 1:
        raise InputError(f"pyg:{name}: not the name of a PyG data set, such as Flickr or Coauthor/CS")
    if name in _MULTILABEL:
        raise InputError(f"pyg:{name}: its nodes have several labels each, which is not supported")
    folder = "reddit" if name == "Reddit" else f"pyg-{name.replace('/', '-')}"
    dataset = load_or_build(f"converted/{folder}", partial(_build, name, root), root=root, mmap=mmap)
    if dataset.split is not None or not dataset.classes:
        return dataset
    split, note = complete_split(dataset.y, NO_SPLIT, seed)
    return replace(dataset, split=split, source=f"{dataset.source}; {note}", checked=True)


def dataset_class(name: str) -> Any:
    """Return PyG's data set class called ``name``."""
    classes = torch_geometric(f"pyg:{name}").datasets
    if name not in classes.__all__:
        raise unknown("PyG data set", name, classes.__all__)
    return getattr(classes, name)


def _build(name: str, root: Path | None) -> Dataset:
    if name in _RAW:
        read, files = _RAW[name]
        location = f"pyg/{name}/raw"
        folder = find_folder(location, files, root) or _download(name, files, writable_root(root) / location)
        return read(folder, "reddit" if name == "Reddit" else f"pyg:{name}")
    class_name, _, part = name.partition("/")
    pyg_class = dataset_class(class_name)
    options: dict[str, Any] = {"name": part} if part else {}
    if "force_reload" in inspect.signature(pyg_class).parameters:
        options["force_reload"] = True
    try:
        graphs = pyg_class(root=str(writable_root(root) / "pyg" / class_name), **options)
        count, data = len(graphs), graphs[0]
    except Exception as error:  # noqa: BLE001 - PyG's classes raise whatever their hosts and files cause
        raise InputError(f"pyg:{name}: PyG could not load it ({first_line(error)})") from None
    if count != 1 or "edge_index" not in data:
        raise InputError(f"pyg:{name}: {count} graphs or several kinds of nodes; one plain graph is needed")
    return Dataset.from_pyg(
        data, f"pyg:{name}", seed=None, direction="both", source=f"torch_geometric.datasets.{class_name}"
    )


def _download(name: str, files: Sequence[str], folder: Path) -> Path:
    pyg_class = dataset_class(name)
    notice(f"fetching {name} through PyG into {folder}")
    source = pyg_class.__new__(pyg_class)  # without __init__, which would process the files and load its own pickle
    try:
        with draft_folder(folder) as draft:
            source.root, raw = str(draft), draft / "raw"
            raw.mkdir()
            source.download()
            folder.mkdir(parents=True, exist_ok=True)
            for file in files:
                (raw / file).replace(folder / file)
    except Exception as error:  # noqa: BLE001 - PyG's downloads raise whatever their hosts cause
        raise InputError(
            f"{name}: PyG's download failed ({first_line(error)}); put {', '.join(files)} into {folder}"
        ) from None
    return folder
