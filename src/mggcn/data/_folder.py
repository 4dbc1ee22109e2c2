"""Saving a data set as a folder, loading it, and checking every byte of it, which mapping it does not."""

import hashlib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mggcn._io.arrays import compact_text, locked, remember
from mggcn._io.files import check_npy, sha256
from mggcn._io.mapping import MappedFiles, is_too_large
from mggcn._io.regular import open_regular
from mggcn.data._checks import check_characters, check_labels
from mggcn.data._dataset import Dataset
from mggcn.data._features import csr_arrays, csr_parts
from mggcn.data._split import PARTS, Split
from mggcn.data._writer import EDGE, META, ArrayFile, Meta, checked_value, read_meta, writing
from mggcn.errors import ARRAY_ERRORS, InputError, first_line, prefix_errors
from mggcn.graph import Graph

_MAPPED = ("indptr.npy", "indices.npy", "x.npy", "x_indptr.npy", "x_indices.npy", "x_data.npy", "y.npy", "ids.npy")


def save(
    dataset: Dataset, folder: str | Path, *, overwrite: bool = False, tables: Mapping[str, Path] | None = None
) -> Dataset:
    """Write ``dataset`` as ``folder`` and return it as stored there; ``tables`` are files to keep beside the arrays."""
    target = Path(folder)
    with writing(target, overwrite=overwrite) as writer:
        arrays = _kept(dataset)
        if any(isinstance(array, np.memmap) for array in arrays.values()):
            dataset = replace(dataset, graph=replace(dataset.graph))  # runs the checks, which mapping a folder skips
        for array_name, array in arrays.items():
            if array_name not in PARTS:
                writer.write(array_name, compact_text(array) if array_name == "ids" else array)
        for table_name, path in (tables or {}).items():
            writer.add_table(table_name, path)
        meta = writer.finish(
            dataset.name,
            dataset.classes,
            split=dataset.split,
            source=dataset.source,
            direction=dataset.graph.direction,
            inductive=dataset.inductive,
            num_features=dataset.num_features,
            id_name=dataset.id_name,
            feature_names=dataset.feature_names,
            encoding=dataset.encoding,
            measures=dataset.measures,
            copies=dataset.copies,
            notes=dataset.notes,
        )
    for name, array in _kept(dataset).items():
        remember(array, meta.files[f"{name}.npy"].sha256)
    return replace(dataset, checked=True, stored_in=target.resolve())


def load_folder(folder: str | Path, *, mmap: bool | None = None) -> Dataset:
    """Read a dataset folder.

    Args:
        folder: the folder.
        mmap: map graph, features, labels and ids instead of reading and verifying them; None does so if they are larger
            than half of the free memory.
    """
    root = Path(folder)
    meta = read_meta(root)
    if mmap is None:
        mmap = is_too_large(sum((root / name).stat().st_size for name in meta.files if (root / name).is_file()))
    arrays = _read_arrays(root, meta.files, mmap)
    edge_files = [name for name in arrays if name.startswith(EDGE)]
    checked = mmap or meta.checked == checked_value(meta)
    with prefix_errors(root):
        try:
            graph = Graph(arrays["indptr.npy"], arrays["indices.npy"], meta.direction, checked=checked)
            if mmap:
                graph.check_bounds()
                check_labels(arrays["y.npy"], len(meta.classes))
            x = arrays.get("x.npy")
            if x is None:
                parts = (arrays["x_data.npy"], arrays["x_indices.npy"], arrays["x_indptr.npy"])
                x = csr_parts(*parts, (graph.num_nodes, meta.num_features))
            dataset = Dataset(
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
                measures=meta.measures,
                copies=meta.copies,
                notes=tuple(meta.notes),
                edge_attributes={Path(name).stem.removeprefix(EDGE): arrays[name] for name in edge_files},
                mapped=MappedFiles.of(arrays.values()) if mmap else None,
                checked=checked,
                stored_in=root.resolve(),
            )
        except KeyError as error:
            raise InputError(f"{META}: field files: {error} is missing") from None
    if checked:
        for name, array in _kept(dataset).items():
            remember(array, meta.files[f"{name}.npy"].sha256)
    return dataset


def _split(arrays: Mapping[str, NDArray[Any]], meta: Meta) -> Split:
    parts = (arrays[f"{part}.npy"] for part in PARTS)
    return Split(*parts, seed=meta.split_seed, shares=tuple(meta.split_shares))


def _kept(dataset: Dataset) -> dict[str, NDArray[Any]]:
    """The arrays of a data set by the name of their file."""
    arrays: dict[str, NDArray[Any]] = {
        "indptr": dataset.graph.indptr,
        "indices": dataset.graph.indices,
        "y": dataset.y,
    }
    arrays |= {"x": dataset.x} if isinstance(dataset.x, np.ndarray) else csr_arrays(dataset.x)
    if dataset.split is not None:
        arrays |= dataset.split.parts()
    if dataset.node_ids is not None:
        arrays["ids"] = dataset.node_ids
    return arrays | {f"{EDGE}{name}": values for name, values in dataset.edge_attributes.items()}


def _read_arrays(root: Path, files: Mapping[str, ArrayFile], mmap: bool) -> dict[str, NDArray[Any]]:
    """Read or map arrays; what is read is verified on other threads, which takes longer than to read it."""
    for name in files:
        if not (root / name).is_file():
            raise InputError(f"{root / name}: missing, though {META} lists it")
    verified = [name for name in files if not (mmap and (name.startswith(EDGE) or name in _MAPPED))]
    with ThreadPoolExecutor() as pool:
        checksums = pool.map(lambda name: sha256(root / name), verified)
        problem: InputError | None = None
        try:
            arrays = {name: _read_array(root / name, file, mapped=name not in verified) for name, file in files.items()}
        except InputError as error:
            problem = error  # a wrong checksum says more
        for name, checksum in zip(verified, checksums, strict=True):
            if checksum != files[name].sha256:
                raise InputError(f"{root / name}: sha256 differs from {META}; the file is damaged or was changed")
    if problem is not None:
        raise problem
    return arrays


def _read_array(path: Path, file: ArrayFile, *, mapped: bool) -> NDArray[Any]:
    mapped = (path.name.startswith(EDGE) or mapped) and 0 not in file.shape
    try:
        check_npy(path)
        array: NDArray[Any] = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
    except ARRAY_ERRORS as error:
        raise InputError(f"{path}: cannot be read ({first_line(error)})") from None
    if array.dtype.str != file.dtype or list(array.shape) != file.shape:
        raise InputError(f"{path}: holds {array.dtype.str} {list(array.shape)}, {META} says {file.dtype} {file.shape}")
    size = path.stat().st_size
    if isinstance(array, np.memmap) and array.offset + array.nbytes != size:
        raise InputError(f"{path}: {size:,} bytes, but its header says {array.offset + array.nbytes:,}")
    if not isinstance(array, np.memmap):
        with prefix_errors(path):
            check_characters(array)
    return locked(array)


_BLOCK = 1 << 24

OnBytes = Callable[[str, int, int], None]
"""Called with the name of a stage, the bytes that are done, and all of them."""


@dataclass(frozen=True)
class Verified:
    """A folder in which every checksum is right.

    Attributes:
        dataset: mapped, unless its values had to be checked.
        num_files: arrays and tables.
        num_bytes: their size.
    """

    dataset: Dataset
    num_files: int
    num_bytes: int


def verify(folder: str | Path, on_bytes: OnBytes = lambda *_: None) -> Verified:
    """Read every file of a dataset folder and compare its checksum; InputError names the files that differ.

    The values of a folder whose ``meta.json`` was edited are checked, too, as when it is loaded.
    """
    root = Path(folder)
    meta = read_meta(root)
    expected = {name: file.sha256 for name, file in meta.files.items()} | meta.tables
    missing = [name for name in expected if not (root / name).is_file()]
    if missing:
        raise InputError(f"{root / missing[0]}: missing, though {META} lists it")
    total, done, damaged = sum((root / name).stat().st_size for name in expected), 0, []
    for name, checksum in expected.items():
        content = hashlib.sha256()
        with open_regular(root / name) as file:
            while block := file.read(_BLOCK):
                content.update(block)
                done += len(block)
                on_bytes("bytes", done, total)
        if content.hexdigest() != checksum:
            damaged.append(name)
    if damaged:
        raise InputError(
            f"{root}: sha256 of {', '.join(damaged)} differs from {META}; the files are damaged or were changed"
        )
    is_checked = meta.checked == checked_value(meta)
    return Verified(load_folder(root, mmap=is_checked), len(expected), total)
