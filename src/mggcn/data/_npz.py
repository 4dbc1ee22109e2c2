"""One ``.npz`` file as a data set.

Fields: ``num_nodes``; ``edge_index`` [2, E]; and optionally ``edge_weight`` [E] of 0 or more, ``edge_type`` [E]
integers and their ``edge_type_names``, ``x`` [num_nodes, features] or the CSR parts ``x_data``, ``x_indices``,
``x_indptr``, ``x_shape``, ``y`` [num_nodes] (-1 or NaN: no label), ``class_names``, ``feature_names``, and the parts of
the split as masks ``train_mask``, ``val_mask``, ``test_mask`` or as node numbers ``train_idx``, ``val_idx``,
``test_idx``; ``valid`` means ``val``. Without ``x`` the features are structural. Arrays of other names are ignored with
a note.
"""

from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mggcn._io import memory
from mggcn._io.regular import open_regular
from mggcn.data._checks import check_characters
from mggcn.data._dataset import Dataset
from mggcn.data._edge_columns import NO_WEIGHTS
from mggcn.data._features import csr_parts
from mggcn.data._from_arrays import from_arrays, unused_notes
from mggcn.data._split import PART_KEYS, named_parts
from mggcn.errors import ARRAY_ERRORS, InputError, first_line, prefix_errors
from mggcn.graph import Direction

Fields = dict[str, NDArray[Any]]

_CSR = ("x_data", "x_indices", "x_indptr", "x_shape")
_NAMES = ("class_names", "feature_names", "edge_type_names")
_WEIGHT = "edge_weight"
_OPTIONAL = ("x", *_CSR, "y", _WEIGHT, "edge_type", *_NAMES, *PART_KEYS)


def read_npz(
    path: str | Path,
    *,
    features: str = "all",
    name: str | None = None,
    seed: int = 0,
    direction: Direction | None = None,
    weight_column: str = _WEIGHT,
) -> Dataset:
    """Read a data set from an ``.npz`` file.

    Args:
        path: the file.
        features: ``all`` of ``x``, or structural ones if there is no ``x``; ``structural``; or ``none``.
        name: the name of the data set; the file's name without its ending if None.
        seed: of the split or validation part that is drawn if the file contains none.
        direction: which neighbours a node has, see :class:`mggcn.graph.Graph`; None is ``both``, with a note on the
            number of edges without a reverse. ``directed`` keeps which way each edge goes.
        weight_column: ``edge_weight``, which is used if it is there, with a note unless all weights are 1, or ``none``,
            which reads no weights.
    """
    file = Path(path)
    if weight_column not in (_WEIGHT, NO_WEIGHTS):
        raise InputError(f"weight_column: {weight_column!r} is not {_WEIGHT} or {NO_WEIGHTS}")
    fields = read_fields(file, ("num_nodes", "edge_index"), _OPTIONAL)
    with np.load(file, allow_pickle=False) as archive:
        unused = set(archive.files) - (fields.keys() - (_CSR if "x" in fields else ()))
    names = {field: fields[field].astype(str).ravel().tolist() for field in _NAMES if field in fields}
    with prefix_errors(file):
        num_nodes = read_count(fields["num_nodes"], "num_nodes")
        parts, several = named_parts(fields.get, num_nodes)
        return from_arrays(
            name or file.stem,
            num_nodes,
            fields["edge_index"],
            _features(fields, num_nodes, features),
            edge_weight=fields.get(weight_column),
            without_weights=f"weight_column='{NO_WEIGHTS}'",
            edge_type=fields.get("edge_type"),
            types=names.get("edge_type_names", ()),
            y=fields.get("y"),
            classes=names.get("class_names"),
            parts=parts,
            seed=seed,
            direction=direction,
            lists_edges_once=True,
            source=file.name,
            notes=[*unused_notes(unused, file.name), *several],
            feature_names=tuple(names.get("feature_names", ()) if features == "all" else ()),
        )


def read_fields(path: Path, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> Fields:
    """Read the named arrays of an ``.npz`` file, never a pickled one; other arrays in it are ignored."""
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    fields: Fields = {}
    problem = "not a readable .npz file"
    try:
        with open_regular(path) as file:
            sizes = {entry.filename.removesuffix(".npy"): entry.file_size for entry in ZipFile(file).infolist()}
            file.seek(0)
            archive = np.load(file, allow_pickle=False)
            content = ", ".join(archive.files) or "nothing"
            for field in archive.files:
                if field in (*required, *optional):
                    problem = field
                    memory.require(sizes[field], f"{path}: {field}")
                    fields[field] = np.asarray(archive[field])
                    with prefix_errors(f"{path}: {field}"):
                        check_characters(fields[field])
    except ARRAY_ERRORS as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: {problem}: {first_line(error)}") from None
    for field in required:
        if field not in fields:
            raise InputError(f"{path}: field {field} is missing (it holds {content})")
    return fields


def read_count(value: NDArray[Any], what: str) -> int:
    """The positive whole number in an array."""
    if value.size != 1 or value.dtype.kind not in "iu":
        raise InputError(f"{what}: must be one integer, not {value.dtype} of shape {value.shape}")
    if value.item() < 1:
        raise InputError(f"{what}: {value.item()} is not positive")
    return int(value.item())


def _features(fields: Fields, num_nodes: int, features: str) -> NDArray[Any] | csr_array | None:
    """The features, None for structural ones."""
    if features == "none":
        return np.empty((num_nodes, 0), np.float32)
    if features not in ("all", "structural"):
        raise InputError(f"features: {features!r} is not all, none or structural")
    if features == "structural" or not any(field in fields for field in ("x", *_CSR)):
        return None
    if "x" in fields:
        return fields["x"]
    missing = [part for part in _CSR if part not in fields]
    if missing:
        raise InputError(f"field x is missing, and so is {missing[0]} of its sparse form")
    for part, kinds in zip(_CSR, ("fiub", "iu", "iu", "iu"), strict=True):
        array = fields[part]
        if array.dtype.kind not in kinds or array.ndim != 1:
            expected = "numbers" if "f" in kinds else "integers"
            raise InputError(f"{part}: must be a vector of {expected}, not {array.dtype} of shape {array.shape}")
    data, indices, indptr, shape = (fields[part] for part in _CSR)
    if shape.size != 2 or shape[0] != num_nodes:
        raise InputError(f"x_shape: {shape.tolist()} does not begin with the {num_nodes} nodes")
    return csr_parts(data, indices, indptr, (num_nodes, int(shape[1])))
