"""Whether every file below a folder is whole: what has its final name was written to its end."""

import csv
import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet
from safetensors import safe_open

from mggcn._io.files import sha256, without_checksum
from mggcn._io.temporary import is_temporary
from mggcn.data import verify
from mggcn.errors import InputError
from mggcn.experiments import Ledger
from mggcn.training._record import read_record


def torn(folder: Path) -> str:
    """The first file that is not whole, and why; empty if all are. Drafts do not count."""
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if not path.is_file() or inside.parts[0] == "tmp" or any(is_temporary(part) for part in inside.parts):
            continue
        try:
            _CHECKS.get(path.name, _CHECKS.get(path.suffix, _anything))(path)
        except (InputError, ValueError, OSError, EOFError, AssertionError, pyarrow.ArrowException) as error:
            return f"{inside} is torn: {error}"
    return ""


def _anything(path: Path) -> None:
    path.read_bytes()


def _record(path: Path) -> None:
    _, checksums = read_record(path)
    for name, checksum in checksums.items():
        if sha256(path.with_name(name)) != checksum:
            raise ValueError(f"{name} is another one")


def _meta(path: Path) -> None:
    if json.loads(path.read_bytes())["format"] == "mggcn-prepared":
        without_checksum(path.read_bytes())
    else:
        verify(path.parent)


def _json(path: Path) -> None:
    content = path.read_bytes()
    json.loads(without_checksum(content) if content.startswith(b'{"checksum"') else content)


def _table(path: Path) -> None:
    with path.open(newline="") as file:
        widths = {len(row) for row in csv.reader(file)}
    if len(widths) != 1 or not path.read_bytes().endswith(b"\n"):
        raise ValueError("rows of different lengths, or no end of the last")


def _lines(path: Path) -> None:
    for line in path.read_text().splitlines():
        json.loads(line)


def _page(path: Path) -> None:
    if not path.read_text().rstrip().endswith("</html>"):
        raise ValueError("no end of the page")


def _tensors(path: Path) -> None:
    with safe_open(path, "numpy") as file:
        for name in file.keys():  # noqa: SIM118
            file.get_tensor(name)


_CHECKS: dict[str, Callable[[Path], object]] = {
    "record.json": _record,
    "records.jsonl": Ledger,
    "meta.json": _meta,
    "transactions.jsonl": _anything,  # appended to; its journal says how far it counts
    ".json": _json,
    ".jsonl": _lines,
    ".toml": lambda path: tomllib.loads(path.read_text()),
    ".csv": _table,
    ".html": _page,
    ".npy": lambda path: np.load(path, mmap_mode="r" if path.stat().st_size > 128 else None),
    ".npz": lambda path: dict(np.load(path)),
    ".parquet": pyarrow.parquet.read_metadata,
    ".safetensors": _tensors,
}
