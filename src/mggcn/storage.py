"""A dataset on disk: a folder of ``.npy`` files and a ``meta.json`` with their sizes, types and checksums.

A folder is written under a temporary name, flushed, and renamed, so that a killed write leaves nothing that loads. Its
``meta.json`` begins with its own checksum since version 2. A folder is read into memory (checksums verified) or
memory-mapped (sizes and types verified), as the same :class:`Dataset`. Edge attributes are mapped in both cases,
because few readers use them.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from mggcn.dataset import PARTS, Column, Dataset, Split, csr_parts
from mggcn.dataset.checks import check_name
from mggcn.drafts import name_errors, recover
from mggcn.errors import InputError, first_line, prefix_errors
from mggcn.files import is_sealed, read_json, replacing, sealed, sha256, write_durably
from mggcn.graph import Direction, Graph

FORMAT = "mggcn-dataset"
VERSION = 2
"""Of ``meta.json``; in version 1, which is still read, it has no checksum of its own."""
META = "meta.json"

_MAPPED = ("indptr.npy", "indices.npy", "x.npy", "x_indptr.npy", "x_indices.npy", "x_data.npy", "ids.npy")
_EDGE = "edge_"


class _ArrayFile(msgspec.Struct, frozen=True):
    dtype: str
    shape: list[int]
    sha256: str


class _Meta(msgspec.Struct, frozen=True, kw_only=True):
    """The content of ``meta.json``; ``checked`` is the value of :func:`_checked` when the folder was written."""

    format: str = FORMAT
    version: int = VERSION
    name: str
    num_nodes: int = 0
    num_edges: int = 0
    num_features: int
    direction: Direction
    classes: list[str]
    inductive: bool
    source: str
    split_seed: int | None = None
    split_shares: list[float] = []
    id_name: str = "id"
    feature_names: list[str] = []
    encoding: list[Column] = []
    notes: list[str] = []
    tables: dict[str, str] = {}
    files: dict[str, _ArrayFile]
    checked: str = ""


def save(
    dataset: Dataset, folder: str | Path, *, overwrite: bool = False, tables: Mapping[str, Path] | None = None
) -> Dataset:
    """Write ``dataset`` as ``folder`` and return it as stored there; ``tables`` are files to keep beside the arrays."""
    target = Path(folder)
    check_free(target, overwrite=overwrite)
    arrays = _arrays(dataset)
    if any(isinstance(array, np.memmap) for array in arrays.values()):
        dataset = replace(dataset, graph=replace(dataset.graph))  # runs the checks, which mapping a folder skips
    with replacing(target, partial(check_free, overwrite=overwrite)) as draft:
        for name, array in arrays.items():
            _write_array(draft / name, array)
        for name, path in (tables or {}).items():
            shutil.copyfile(path, draft / name)
        meta = _Meta(
            name=dataset.name,
            num_nodes=dataset.num_nodes,
            num_edges=dataset.graph.num_edges,
            num_features=dataset.num_features,
            direction=dataset.graph.direction,
            classes=list(dataset.classes),
            inductive=dataset.inductive,
            source=dataset.source,
            split_seed=dataset.split.seed if dataset.split else None,
            split_shares=list(dataset.split.shares) if dataset.split else [],
            id_name=dataset.id_name,
            feature_names=list(dataset.feature_names),
            encoding=list(dataset.encoding),
            notes=list(dataset.notes),
            tables={name: sha256(draft / name) for name in tables or {}},
            files=_describe(arrays),
        )
        fields = msgspec.to_builtins(meta) | {"checked": _checked(meta)}
        write_durably(draft / META, sealed(json.dumps(fields, indent=2) + "\n"))
    return replace(dataset, path=target.resolve(), digest=_digest(meta.files), checked=True)


def check_free(target: Path, *, overwrite: bool) -> None:
    """Raise InputError unless a dataset folder may be written.

    ``overwrite`` replaces only another dataset folder in which there is nothing else.
    """
    recover(target)
    if not target.exists():
        return
    if not overwrite:
        raise InputError(f"{target}: already exists")
    if not is_dataset(target):
        raise InputError(f"{target}: not a dataset folder, so it is not replaced")
    with prefix_errors("--overwrite"):
        meta = _read_meta(target)
    listed = {META, *meta.files, *meta.tables}
    others = sorted(path.name for path in target.iterdir() if path.name not in listed or path.is_dir())
    if others:
        raise InputError(f"{target}: holds {others[0]}, which is not of the data set, so it is not replaced")


def load(folder: str | Path, *, mmap: bool = False) -> Dataset:
    """Read a dataset folder; ``mmap`` maps graph, features and ids instead of reading and verifying them."""
    root = Path(folder)
    meta = _read_meta(root)
    arrays = {name: _read_array(root / name, file, mmap) for name, file in meta.files.items()}
    edge_files = [name for name in arrays if name.startswith(_EDGE)]
    checked = mmap or meta.checked == _checked(meta)
    with prefix_errors(root):
        try:
            graph = Graph(arrays["indptr.npy"], arrays["indices.npy"], meta.direction, checked=checked)
            x = arrays.get("x.npy")
            if x is None:
                parts = (arrays["x_data.npy"], arrays["x_indices.npy"], arrays["x_indptr.npy"])
                x = csr_parts(*parts, (graph.num_nodes, meta.num_features))
            return Dataset(
                name=meta.name,
                graph=graph,
                x=x,
                y=arrays["y.npy"],
                classes=tuple(meta.classes),
                split=_split(arrays, meta) if "train.npy" in arrays else None,
                node_ids=arrays.get("ids.npy"),
                id_name=meta.id_name,
                inductive=meta.inductive,
                source=meta.source,
                feature_names=tuple(meta.feature_names),
                encoding=tuple(meta.encoding),
                notes=tuple(meta.notes),
                edge_attributes={Path(name).stem.removeprefix(_EDGE): arrays[name] for name in edge_files},
                digest=_digest(meta.files),
                path=root.resolve(),
                checked=checked,
            )
        except KeyError as error:
            raise InputError(f"{META}: field files: {error} is missing") from None


def _split(arrays: Mapping[str, NDArray[Any]], meta: _Meta) -> Split:
    parts = (arrays[f"{part}.npy"] for part in PARTS)
    return Split(*parts, seed=meta.split_seed, shares=tuple(meta.split_shares))


def is_dataset(folder: str | Path) -> bool:
    """Whether ``folder`` looks like a dataset folder."""
    return (Path(folder) / META).is_file()


def digest(dataset: Dataset) -> str:
    """Return :attr:`Dataset.digest`, computed from the arrays if the data set has not been stored."""
    return dataset.digest or _digest(_describe(_arrays(dataset)))


def _arrays(dataset: Dataset) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {
        "indptr.npy": dataset.graph.indptr,
        "indices.npy": dataset.graph.indices,
        "y.npy": dataset.y,
    }
    if isinstance(dataset.x, np.ndarray):
        arrays["x.npy"] = dataset.x
    else:
        arrays |= {"x_indptr.npy": dataset.x.indptr, "x_indices.npy": dataset.x.indices, "x_data.npy": dataset.x.data}
    if dataset.split is not None:
        arrays |= {f"{part}.npy": nodes for part, nodes in dataset.split.parts().items()}
    if dataset.node_ids is not None:
        arrays["ids.npy"] = _storable_ids(dataset.node_ids)
    return arrays | {f"{_EDGE}{name}.npy": values for name, values in dataset.edge_attributes.items()}


def _storable_ids(ids: NDArray[Any]) -> NDArray[Any]:
    """Text as bytes if it is ASCII, which needs a quarter of the space."""
    if ids.dtype.kind not in "US":
        return ids
    try:
        return ids.astype(np.bytes_)
    except UnicodeEncodeError:
        return ids


def _write_array(path: Path, array: NDArray[Any]) -> None:
    with name_errors(path), path.open("wb") as file:
        np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)
        file.flush()
        os.fsync(file.fileno())


def _describe(arrays: Mapping[str, NDArray[Any]]) -> dict[str, _ArrayFile]:
    """Return the type, shape and checksum of each array's ``.npy`` file, without writing it."""
    files = {}
    for name, array in arrays.items():
        content = hashlib.sha256()
        sink: Any = SimpleNamespace(write=content.update)
        np.lib.format.write_array(sink, np.ascontiguousarray(array), allow_pickle=False)
        files[name] = _ArrayFile(array.dtype.str, list(array.shape), content.hexdigest())
    return files


def _read_meta(root: Path) -> _Meta:
    path = root / META
    recover(root)
    if not path.is_file():
        raise InputError(f"{root}: not a dataset folder ({META} is missing)")
    fields = read_json(path, dict[str, Any])
    if fields.get("format") != FORMAT:
        raise InputError(f"{path}: field format is not {FORMAT!r}")
    version = fields.get("version", 0)
    if version not in (1, VERSION):
        raise InputError(f"{path}: version {version} cannot be read, only versions up to {VERSION}")
    if version == VERSION and not is_sealed(path):
        raise InputError(f"{path}: its checksum is missing")
    meta = read_json(path, _Meta)
    with prefix_errors(path):
        check_name(meta.name)
    for name in meta.files:
        if Path(name).name != name or not name.endswith(".npy"):
            raise InputError(f"{path}: files holds {name!r}, not the name of a .npy file")
    return meta


def _read_array(path: Path, file: _ArrayFile, mmap: bool) -> NDArray[Any]:
    if not path.is_file():
        raise InputError(f"{path}: missing, though {META} lists it")
    edge = path.name.startswith(_EDGE)
    verified = not (mmap and (edge or path.name in _MAPPED))
    if verified and sha256(path) != file.sha256:
        raise InputError(f"{path}: sha256 differs from {META}; the file is damaged or was changed")
    mapped = (edge or not verified) and 0 not in file.shape
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise InputError(f"{path}: cannot be read ({first_line(error)})") from None
    if array.dtype.str != file.dtype or list(array.shape) != file.shape:
        raise InputError(f"{path}: holds {array.dtype.str} {list(array.shape)}, {META} says {file.dtype} {file.shape}")
    return array


def _digest(files: Mapping[str, _ArrayFile]) -> str:
    lines = "".join(f"{name}:{files[name].sha256}\n" for name in sorted(files))
    return hashlib.sha256(lines.encode()).hexdigest()


def _checked(meta: _Meta) -> str:
    """Return the sha256 of everything that the checks of Graph and Dataset read.

    A folder that stores this value was checked when it was written and has not been changed since.
    """
    fields = [_digest(meta.files), meta.direction, len(meta.classes), meta.num_features, meta.num_nodes]
    return hashlib.sha256(json.dumps(fields).encode()).hexdigest()
