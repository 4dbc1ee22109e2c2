"""Saving a data set as a folder, loading it, and checking every byte of it, which mapping it does not."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any, Literal

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
from mggcn.data._writer import EDGE, META, RELATIONS, ArrayFile, checked_value, described, read_meta, writing
from mggcn.errors import ARRAY_ERRORS, InputError, first_line, prefix_errors
from mggcn.graph import Graph

_GRAPH = ("indptr", "indices", *RELATIONS)
_MAPPED = [f"{name}.npy" for name in (*_GRAPH, "x", "x_indptr", "x_indices", "x_data", "y", "ids")]


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
            **described(dataset),
            split=dataset.split,
            direction=dataset.graph.direction,
            edge_types=dataset.graph.types,
            num_features=dataset.num_features,
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
    num_bytes = sum(_sizes(root, meta.files).values())
    mmap = is_too_large(num_bytes) if mmap is None else mmap
    arrays = _read_arrays(root, meta.files, mmap)
    edge_files = [name for name in arrays if name.startswith(EDGE)]
    checked = mmap or meta.checked == checked_value(meta)
    with prefix_errors(root):
        try:
            there = [name for name in _GRAPH if name not in RELATIONS or f"{name}.npy" in arrays]
            parts = {name: arrays[f"{name}.npy"] for name in there}
            graph = Graph.from_arrays(parts, meta.direction, meta.edge_types or (), checked=checked)
            if mmap:
                graph.check_bounds()
                check_labels(arrays["y.npy"], len(meta.classes))
            x = arrays.get("x.npy")
            if x is None:
                csr = (arrays["x_data.npy"], arrays["x_indices.npy"], arrays["x_indptr.npy"])
                x = csr_parts(*csr, (graph.num_nodes, meta.num_features))
            split = None
            if "train.npy" in arrays:
                nodes = (arrays[f"{part}.npy"] for part in PARTS)
                split = Split(*nodes, seed=meta.split_seed, shares=meta.split_shares)
            dataset = Dataset(
                graph=graph,
                x=x,
                y=arrays["y.npy"],
                split=split,
                node_ids=arrays.get("ids.npy"),
                edge_attributes={Path(name).stem.removeprefix(EDGE): arrays[name] for name in edge_files},
                mapped=MappedFiles.of(arrays.values()) if mmap else None,
                checked=checked,
                stored_in=root.resolve(),
                **described(meta),
            )
        except KeyError as error:
            raise InputError(f"{META}: field files: {error} is missing") from None
    if checked:
        for name, array in _kept(dataset).items():
            remember(array, meta.files[f"{name}.npy"].sha256)
    return dataset


def _kept(dataset: Dataset) -> dict[str, NDArray[Any]]:
    """The arrays of a data set by the name of their file."""
    arrays = dataset.graph.arrays() | {"y": dataset.y}
    arrays |= {"x": dataset.x} if isinstance(dataset.x, np.ndarray) else csr_arrays(dataset.x)
    if dataset.split is not None:
        arrays |= dataset.split.parts()
    if dataset.node_ids is not None:
        arrays["ids"] = dataset.node_ids
    return arrays | {f"{EDGE}{name}": values for name, values in dataset.edge_attributes.items()}


def _sizes(root: Path, names: Iterable[str]) -> dict[str, int]:
    """The bytes of the files of a folder; InputError if one is missing."""
    for name in names:
        if not (root / name).is_file():
            raise InputError(f"{root / name}: missing, though {META} lists it")
    return {name: (root / name).stat().st_size for name in names}


def _read_arrays(root: Path, files: Mapping[str, ArrayFile], mmap: bool) -> dict[str, NDArray[Any]]:
    """Read or map arrays; what is read is verified, and takes several threads because that takes longer."""

    def read(name: str) -> NDArray[Any]:
        is_attribute = name.startswith(EDGE)
        may_be_mapped = mmap and (is_attribute or name in _MAPPED)
        if not may_be_mapped and sha256(root / name) != files[name].sha256:
            raise InputError(f"{root / name}: sha256 differs from {META}; the file is damaged or was changed")
        return locked(read_array(root / name, files[name], "r" if may_be_mapped or is_attribute else None))

    with ThreadPoolExecutor() as pool:
        return dict(zip(files, pool.map(read, files), strict=True))


_PARSING = Lock()  # of headers, which are literals: threads that parse some at once fail at times in Python 3.11


def read_array(path: Path, file: ArrayFile, mode: Literal["r", "c"] | None) -> NDArray[Any]:
    """Read an array, or map it in a ``mode`` of NumPy; InputError unless the file is as described."""
    try:
        check_npy(path)
        mapped = None if 0 in file.shape else mode or "r"
        with _PARSING:
            array: NDArray[Any] = np.load(path, mmap_mode=mapped, allow_pickle=False)
        if mode is None and isinstance(array, np.memmap):
            order: Literal["C", "F"] = "C" if array.flags.c_contiguous else "F"
            values = np.fromfile(path, array.dtype, array.size, offset=array.offset)
            array = values.reshape(array.shape, order=order)
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
    return array


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
    total, done, damaged = sum(_sizes(root, expected).values()), 0, []
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
