"""A dataset on disk: a folder of ``.npy`` files beside a ``meta.json`` that names, sizes and checksums them.

A folder is written under a temporary name, flushed, and renamed, so that a killed write leaves nothing that loads. It
is read into memory (checksums verified) or memory-mapped (sizes and types verified), as the same :class:`Dataset`.
Attributes of edges are mapped in both cases, as few readers want them.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mggcn.dataset import Dataset, Split
from mggcn.errors import InputError
from mggcn.graph import Graph

FORMAT = "mggcn-dataset"
VERSION = 1
META = "meta.json"

_SPLIT = ("train", "val", "test")
_LARGE = ("indptr.npy", "indices.npy", "x.npy", "x_indptr.npy", "x_indices.npy", "x_data.npy", "ids.npy")
_EDGE = "edge_"
_READ_BYTES = 1 << 22


def save(
    dataset: Dataset, folder: str | Path, *, overwrite: bool = False, tables: Mapping[str, Path] | None = None
) -> Dataset:
    """Write ``dataset`` as ``folder`` and return it as stored there; ``tables`` are files to keep beside the arrays."""
    target = Path(folder)
    check_free(target, overwrite=overwrite)
    with replacing(target) as draft:
        files = {name: _write_array(draft / name, array) for name, array in _arrays(dataset).items()}
        for name, path in (tables or {}).items():
            shutil.copyfile(path, draft / name)
        meta = {
            "format": FORMAT,
            "version": VERSION,
            "name": dataset.name,
            "num_nodes": dataset.num_nodes,
            "num_edges": dataset.graph.num_edges,
            "num_features": dataset.num_features,
            "direction": dataset.graph.direction,
            "classes": list(dataset.classes),
            "inductive": dataset.inductive,
            "source": dataset.source,
            "id_name": dataset.id_name,
            "feature_names": list(dataset.feature_names),
            "tables": {name: sha256(draft / name) for name in tables or {}},
            "files": files,
        }
        write_durably(draft / META, json.dumps(meta, indent=2).encode() + b"\n")
    return replace(dataset, path=target.resolve(), digest=_digest(files), checked=True)


def check_free(target: Path, *, overwrite: bool) -> None:
    """Raise InputError where no dataset folder may be written: only another one is ever replaced, and if asked for."""
    if not target.exists():
        return
    if not overwrite:
        raise InputError(f"{target}: already exists")
    if not is_dataset(target):
        raise InputError(f"{target}: not a dataset folder, so it is not replaced")


def check_file_free(path: Path, *, overwrite: bool) -> None:
    """Raise InputError where no file may be written: a folder is there, or a file that is not to be replaced."""
    if path.is_dir():
        raise InputError(f"{path}: a folder, not a file to write")
    if path.exists() and not overwrite:
        raise InputError(f"{path}: already exists")


def load(folder: str | Path, *, mmap: bool = False) -> Dataset:
    """Read a dataset folder; ``mmap`` maps graph, features and ids instead of reading and verifying them."""
    root = Path(folder)
    meta = _read_meta(root)
    arrays = {name: _read_array(root / name, entry, mmap and _is_large(name)) for name, entry in meta["files"].items()}
    try:
        graph = Graph(arrays["indptr.npy"], arrays["indices.npy"], meta["direction"], checked=mmap)
        x = arrays["x.npy"] if "x.npy" in arrays else _sparse(arrays, graph.num_nodes, meta["num_features"])
        split = Split(*(arrays[f"{part}.npy"] for part in _SPLIT)) if "train.npy" in arrays else None
        return Dataset(
            name=meta["name"],
            graph=graph,
            x=x,
            y=arrays["y.npy"],
            classes=tuple(meta["classes"]),
            split=split,
            node_ids=arrays.get("ids.npy"),
            id_name=meta.get("id_name", "id"),
            inductive=meta["inductive"],
            source=meta["source"],
            feature_names=tuple(meta.get("feature_names", ())),
            edge_attributes={_edge_name(name): array for name, array in arrays.items() if name.startswith(_EDGE)},
            digest=_digest(meta["files"]),
            path=root.resolve(),
            checked=mmap,
        )
    except KeyError as error:
        raise InputError(f"{root / META}: field {error} is missing") from None
    except InputError as error:
        raise InputError(f"{root}: {error}") from None


def is_dataset(folder: str | Path) -> bool:
    """Whether ``folder`` looks like a dataset folder."""
    return (Path(folder) / META).is_file()


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Give a temporary folder that becomes ``target`` when the block ends well and vanishes when it does not."""
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        yield draft
        draft.chmod(0o755)
        _sync(draft)
        if target.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{target.name}.old.", dir=target.parent))
            target.rename(old / target.name)
            draft.rename(target)
            shutil.rmtree(old)
        else:
            draft.rename(target)
        _sync(target.parent)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def write_durably(path: Path, content: bytes) -> None:
    """Write a file and flush it to the disk."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file that is the old one or the new one, whenever the process is killed; others may write it too."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        write_durably(draft, content)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


T = TypeVar("T")


def read_toml(path: Path, kind: type[T]) -> T:
    """Read a TOML file into a type; InputError names the file and the field."""
    try:
        return msgspec.toml.decode(path.read_bytes(), type=kind)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except msgspec.MsgspecError as error:
        raise InputError(f"{path}: {error}") from None


def digest(dataset: Dataset) -> str:
    """What :attr:`Dataset.digest` is once stored; computed from the arrays where it has not been."""
    if dataset.digest:
        return dataset.digest
    return _digest({name: {"sha256": _sha256_stored(array)} for name, array in _arrays(dataset).items()})


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
        arrays |= {f"{part}.npy": getattr(dataset.split, part) for part in _SPLIT}
    if dataset.node_ids is not None:
        arrays["ids.npy"] = _storable_ids(dataset.node_ids)
    return arrays | {f"{_EDGE}{name}.npy": values for name, values in dataset.edge_attributes.items()}


def _is_large(file: str) -> bool:
    return file in _LARGE or file.startswith(_EDGE)


def _edge_name(file: str) -> str:
    return file.removeprefix(_EDGE).removesuffix(".npy")


def _storable_ids(ids: NDArray[Any]) -> NDArray[Any]:
    if ids.dtype.kind not in "US":
        return ids
    try:
        return ids.astype(np.bytes_)
    except UnicodeEncodeError:
        return ids


def _write_array(path: Path, array: NDArray[Any]) -> dict[str, Any]:
    with path.open("wb") as file:
        np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)
        file.flush()
        os.fsync(file.fileno())
    return {"dtype": array.dtype.str, "shape": list(array.shape), "sha256": sha256(path)}


def sha256(path: Path) -> str:
    """The sha256 of a file's bytes, in hex."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_READ_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


class _Hashing:
    """A file that only hashes what is written to it."""

    def __init__(self) -> None:
        self.sha256 = hashlib.sha256()

    def write(self, part: bytes) -> None:
        self.sha256.update(part)


def _sha256_stored(array: NDArray[Any]) -> str:
    """The sha256 of the file that :func:`_write_array` would write."""
    file = _Hashing()
    np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)
    return file.sha256.hexdigest()


def _read_meta(root: Path) -> dict[str, Any]:
    path = root / META
    if not path.is_file():
        raise InputError(f"{root}: not a dataset folder ({META} is missing)")
    try:
        meta = json.loads(path.read_text())
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not valid JSON ({error})") from None
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise InputError(f"{path}: field format is not {FORMAT!r}")
    if meta.get("version") != VERSION:
        raise InputError(f"{path}: version {meta.get('version')} cannot be read, only version {VERSION}")
    for name in ("name", "num_features", "direction", "classes", "inductive", "source", "files"):
        if name not in meta:
            raise InputError(f"{path}: field '{name}' is missing")
    for name in meta["files"]:
        if Path(name).name != name or not name.endswith(".npy"):
            raise InputError(f"{path}: files holds {name!r}, not the name of a .npy file")
    return meta


def _read_array(path: Path, entry: dict[str, Any], mmap: bool) -> NDArray[Any]:
    if not path.is_file():
        raise InputError(f"{path}: missing, though {META} lists it")
    if not mmap and sha256(path) != entry.get("sha256"):
        raise InputError(f"{path}: sha256 differs from {META}; the file is damaged or was changed")
    mapped = (mmap or path.name.startswith(_EDGE)) and 0 not in entry["shape"]
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise InputError(f"{path}: cannot be read ({str(error).splitlines()[0]})") from None
    if array.dtype.str != entry["dtype"] or list(array.shape) != entry["shape"]:
        raise InputError(
            f"{path}: holds {array.dtype.str} {list(array.shape)}, {META} says {entry['dtype']} {entry['shape']}"
        )
    return array


def _sparse(arrays: dict[str, NDArray[Any]], num_nodes: int, num_features: int) -> csr_array:
    parts = (arrays["x_data.npy"], arrays["x_indices.npy"], arrays["x_indptr.npy"])
    return csr_parts(*parts, (num_nodes, num_features))


def csr_parts(data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int]) -> csr_array:
    """Build CSR features from their parts, checked."""
    if indptr.shape != (shape[0] + 1,) or indptr[0] != 0 or indptr[-1] != data.size or np.any(np.diff(indptr) < 0):
        raise InputError(f"x_indptr: does not divide {data.size} values into {shape[0]} rows")
    if indices.shape != data.shape:
        raise InputError(f"x_indices: {indices.size} columns for {data.size} values")
    if indices.size and (indices.min() < 0 or indices.max() >= shape[1]):
        bad = indices[(indices < 0) | (indices >= shape[1])][0]
        raise InputError(f"x_indices: column {bad} is out of range for {shape[1]} features")
    return csr_array((data, indices, indptr), shape=shape)


def _digest(files: dict[str, dict[str, Any]]) -> str:
    return hashlib.sha256("".join(f"{name}:{files[name]['sha256']}\n" for name in sorted(files)).encode()).hexdigest()


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
