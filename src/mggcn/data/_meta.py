"""``meta.json``: what a dataset folder contains, with the type, shape and checksum of each array."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from mggcn._io.files import is_sealed, read_json
from mggcn._io.temporary import recover
from mggcn.data._checks import check_name
from mggcn.data._columns import Column
from mggcn.data._measures import Measure
from mggcn.errors import InputError, prefix_errors
from mggcn.graph import Direction

FORMAT = "mggcn-dataset"
VERSION = 2
META = "meta.json"
EDGE = "edge_"


class ArrayFile(msgspec.Struct, frozen=True):
    """The type, shape and checksum of a ``.npy`` file."""

    dtype: str
    shape: list[int]
    sha256: str


class Meta(msgspec.Struct, frozen=True, kw_only=True):
    """The content of ``meta.json``; ``checked`` is the value of :func:`checked_value` when the folder was written."""

    format: str = FORMAT
    version: int = VERSION
    name: str
    num_nodes: int
    num_edges: int
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
    measures: dict[str, Measure] = {}
    copies: int = 0
    notes: list[str] = []
    tables: dict[str, str] = {}
    files: dict[str, ArrayFile] = {}
    checked: str = ""


def is_dataset(folder: str | Path) -> bool:
    """Whether ``folder`` looks like a dataset folder."""
    return (Path(folder) / META).is_file()


def read_meta(root: Path) -> Meta:
    """Read ``meta.json`` of a dataset folder."""
    path = root / META
    recover(root)
    if not path.is_file():
        raise InputError(f"{root}: not a dataset folder ({META} is missing)")
    fields = read_json(path, dict[str, Any])
    if fields.get("format") != FORMAT:
        raise InputError(f"{path}: field format is not {FORMAT!r}")
    version = fields.get("version", 0)
    if version != VERSION:
        raise InputError(f"{path}: version {version} cannot be read, only version {VERSION}")
    if not is_sealed(path):
        raise InputError(f"{path}: its checksum is missing")
    meta = read_json(path, Meta)
    with prefix_errors(path):
        check_name(meta.name)
    for name in meta.files:
        if Path(name).name != name or not name.endswith(".npy"):
            raise InputError(f"{path}: files holds {name!r}, not the name of a .npy file")
    return meta


def digest_of(files: Mapping[str, ArrayFile]) -> str:
    """Return the sha256 of the checksums of all arrays."""
    lines = "".join(f"{name}:{files[name].sha256}\n" for name in sorted(files))
    return hashlib.sha256(lines.encode()).hexdigest()


def checked_value(meta: Meta) -> str:
    """Return the sha256 of everything that the checks of Graph and Dataset read.

    A folder that stores this value was checked when it was written and has not been changed since.
    """
    fields = [digest_of(meta.files), meta.direction, len(meta.classes), meta.num_features, meta.num_nodes]
    return hashlib.sha256(json.dumps(fields).encode()).hexdigest()
