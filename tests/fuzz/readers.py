"""Every reader of files, with files that it accepts and how they are damaged."""

import hashlib
import io
import json
import pickle
import tomllib
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

import mggcn
from mggcn._io.files import checksummed, without_checksum
from mggcn.data import load_folder, save
from mggcn.data._npz import read_npz
from mggcn.data._planetoid import unpickle
from mggcn.data._tables import read_tables
from mggcn.errors import InputError
from mggcn.experiments import Ledger
from mggcn.experiments import read as read_experiment
from mggcn.experiments._records import pack
from mggcn.experiments._records import read_records as read
from mggcn.experiments._sections import group
from mggcn.runs import read_config
from tests.conftest import small_dataset
from tests.fuzz.damage import changed_array, changed_bytes, changed_json, changed_value
from tests.records import RECORDS, ledger

EXPERIMENT = Path(__file__).resolve().parents[2] / "experiments" / "compare.toml"
EDGES = b"source,target,weight\na,b,1\nb,c,2.5\nc,d,0\nd,a,1e3\n"
NODES = b"""id,label,split,height,town,born
a,x,train,1,"P, Q",2020-01-01
b,y,train,2,R,
c,x,val,,R,2021-02-03
d,y,test,4,S,
"""


@dataclass(frozen=True)
class Reader:
    """A kind of file.

    Attributes:
        content: of a file that is accepted.
        damaged: other content for it.
        read: reads a file with given content, in an empty folder or among the other files it needs.
    """

    content: bytes
    damaged: st.SearchStrategy[bytes]
    read: Callable[[bytes], object]


def readers(folder: Path) -> dict[str, Reader]:
    """All readers by name; ``folder`` is for their files."""
    data, run = folder / "data", folder / "run"
    dataset = small_dataset()
    save(dataset, data)
    mggcn.fit(dataset, settings={"epochs": 2}, device="cpu").save(run)
    meta, record = (without_checksum((path).read_bytes()) for path in (data / "meta.json", run / "record.json"))
    weights, split = ((run / name).read_bytes() for name in ("weights.safetensors", "split.npz"))
    ledger(folder / "records.jsonl")
    lines = (folder / "records.jsonl").read_bytes()
    config = {**mggcn.load_run(run).plan.config(None), "dataset": "digits"}

    def at(name: str, read_path: Callable[[Path], object]) -> Callable[[bytes], object]:
        def write_and_read(content: bytes) -> object:
            (folder / name).write_bytes(content)
            return read_path(folder / name)

        return write_and_read

    def read_meta(content: bytes) -> object:
        (data / "meta.json").write_bytes(_with_checksum(content))
        return load_folder(data)

    def read_npy(name: str) -> Callable[[bytes], object]:
        def write_and_read(content: bytes) -> object:
            original = (data / name).read_bytes()
            try:
                (data / name).write_bytes(content)
                (data / "meta.json").write_bytes(_with_checksum(_describe(meta, name, content)))
                return load_folder(data)
            finally:
                (data / name).write_bytes(original)

        return write_and_read

    def read_run(**files: bytes) -> object:
        """Read a run with other files and a record that has their checksums."""
        names = {"weights": "weights.safetensors", "split": "split.npz"}
        checksums = {}
        for kind, content in {"weights": weights, "split": split, **files}.items():
            if kind != "record":
                (run / names[kind]).write_bytes(content)
                checksums[names[kind]] = hashlib.sha256(content).hexdigest()
        text = files.get("record") or json.dumps({**json.loads(record), "files": checksums}).encode()
        (run / "record.json").write_bytes(_with_checksum(text))
        return mggcn.load_run(run)

    def read_edges(content: bytes) -> object:
        (folder / "nodes.csv").write_bytes(NODES)
        return at("edges.csv", lambda path: read_tables(path, folder / "nodes.csv"))(content)

    def read_nodes(content: bytes) -> object:
        (folder / "edges.csv").write_bytes(EDGES)
        return at("nodes.csv", lambda path: read_tables(folder / "edges.csv", path))(content)

    packed = pack(group(RECORDS)).encode()
    npz = _npz({"num_nodes": np.array(4), "edge_index": np.array([[0, 1, 2], [1, 2, 3]]), "x": np.eye(4), **_LABELS})
    sparse = _npz({"num_nodes": np.array(4), "edge_index": np.array([[0, 1], [1, 2]]), **_SPARSE, **_LABELS})
    toml = tomli_w.dumps(config).encode()
    npy = {
        name: (data / name).read_bytes()
        for name in ("indptr.npy", "indices.npy", "y.npy", "x.npy", "ids.npy", "train.npy")
    }
    result = {
        "npz": Reader(npz, _changed_npz(npz), at("some.npz", read_npz)),
        "npz with sparse features": Reader(sparse, _changed_npz(sparse), at("some.npz", read_npz)),
        "csv of edges": Reader(EDGES, changed_bytes(EDGES), read_edges),
        "csv of nodes": Reader(NODES, changed_bytes(NODES), read_nodes),
        "meta.json": Reader(meta, changed_json(meta), read_meta),
        "record.json": Reader(record, changed_json(record), lambda content: read_run(record=content)),
        "safetensors": Reader(weights, _changed_tensors(weights), lambda content: read_run(weights=content)),
        "split.npz": Reader(split, _changed_npz(split), lambda content: read_run(split=content)),
        "ledger": Reader(lines, _changed_lines(lines), at("some.jsonl", Ledger)),
        "packed records": Reader(
            packed,
            changed_json(without_checksum(packed)).map(_with_checksum),
            at("some.json", lambda path: read([path])),
        ),
        "config.toml": Reader(toml, _changed_toml(toml), at("config.toml", read_config)),
        "experiment.toml": Reader(
            EXPERIMENT.read_bytes(), _changed_toml(EXPERIMENT.read_bytes()), at("some.toml", read_experiment)
        ),
    }
    result |= {name: Reader(content, _changed_npy(content), read_npy(name)) for name, content in npy.items()}
    pickles = {"array": _pickled(np.eye(3, dtype=np.int32)) + b".", "graph": _GRAPH}
    pickles["matrix"] = _pickled_matrix(csr_array(np.eye(3, dtype=np.float32)))
    for kind, content in pickles.items():
        result[f"planetoid {kind}"] = Reader(content, changed_bytes(content), at("ind.cora.x", unpickle))
    return result


def check(reader: Reader, content: bytes) -> None:
    """Raise an error unless a reader accepts the content or refuses it with an InputError of one line."""
    try:
        reader.read(content)
    except InputError as error:
        message = str(error)
        if not message or "\n" in message:
            raise AssertionError(f"the message is not one line: {message!r}") from None


_LABELS = {
    "y": np.array([0, 1, 0, 1]),
    "class_names": np.array(["a", "b"]),
    "train_idx": np.array([0, 1]),
    "val_idx": np.array([2]),
    "test_idx": np.array([3]),
}
_SPARSE = {
    "x_data": np.ones(3, np.float32),
    "x_indices": np.array([0, 1, 1]),
    "x_indptr": np.array([0, 1, 2, 3, 3]),
    "x_shape": np.array([4, 2]),
}
_GRAPH = pickle.dumps({0: [1, 2], 1: [0], 2: [0]}, protocol=2)


def _pickled(array: NDArray[Any]) -> bytes:
    """An array as Python 2 pickled it, which Planetoid's authors used; without the end of the pickle."""
    shape, data = "".join(f"I{length}\n" for length in array.shape), array.tobytes()
    head = f"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntS'b'\ntR(I1\n({shape}tcnumpy\ndtype\n"
    head += f"(S'{array.dtype.str[1:]}'\nI0\nI1\ntR(I3\nS'<'\nNNNI-1\nI-1\nI0\ntbI00\n"
    return head.encode() + b"T" + len(data).to_bytes(4, "little") + data + b"tb"


def _pickled_matrix(matrix: csr_array) -> bytes:
    rows, columns = matrix.shape
    fields = {name: _pickled(getattr(matrix, name)) for name in ("data", "indices", "indptr")}
    fields["_shape"] = f"(I{rows}\nI{columns}\nt".encode()
    items = b"".join(f"S'{name}'\n".encode() + value + b"s" for name, value in fields.items())
    return b"cscipy.sparse.csr\ncsr_matrix\n)\x81}" + items + b"b."


def _with_checksum(content: bytes) -> bytes:
    """JSON with the right checksum; other content as it is."""
    try:
        text = content.decode()
    except ValueError:
        return content
    with suppress(ValueError):
        text = without_checksum(content).decode()
    return checksummed(text) if text.startswith("{") else content


def _describe(meta: bytes, name: str, content: bytes) -> bytes:
    """A ``meta.json`` that lists an array file with its true type, shape and checksum."""
    values = json.loads(meta)
    entry = values["files"][name]
    entry["sha256"] = hashlib.sha256(content).hexdigest()
    try:
        array = np.load(io.BytesIO(content), allow_pickle=False)
        entry |= {"dtype": array.dtype.str, "shape": list(array.shape)}
    except Exception:  # noqa: BLE001, S110 - not a readable array: the entry stays as it was
        pass
    return json.dumps(values).encode()


def _npz(arrays: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def _npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def _changed_npy(content: bytes) -> st.SearchStrategy[bytes]:
    return changed_array(np.load(io.BytesIO(content))).map(_npy) | changed_bytes(content)


@st.composite
def _changed_npz(draw: st.DrawFn, content: bytes) -> bytes:
    """An archive with one or two arrays changed, missing or damaged inside it, or itself damaged."""
    if draw(st.integers(0, 3)) == 0:
        return draw(changed_bytes(content))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for name in draw(st.lists(st.sampled_from(sorted(members)), min_size=1, max_size=2, unique=True)):
        members[name] = draw(_changed_npy(members[name]))
    if draw(st.integers(0, 5)) == 0:
        del members[draw(st.sampled_from(sorted(members)))]
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return file.getvalue()


@st.composite
def _changed_tensors(draw: st.DrawFn, content: bytes) -> bytes:
    """Weights with a changed header, other numbers, or damaged."""
    if draw(st.booleans()):
        return draw(changed_bytes(content))
    length = int.from_bytes(content[:8], "little")
    header = json.dumps(draw(changed_value(json.loads(content[8 : 8 + length])))).encode()
    return len(header).to_bytes(8, "little") + header + content[8 + length :]


@st.composite
def _changed_lines(draw: st.DrawFn, content: bytes) -> bytes:
    """A ledger in which one line is changed, with its checksum, or which is damaged."""
    if draw(st.booleans()):
        return draw(changed_bytes(content))
    lines = content.splitlines()
    number = draw(st.integers(0, len(lines) - 1))
    changed = draw(changed_json(without_checksum(lines[number]))).replace(b"\n", b" ").decode(errors="surrogateescape")
    lines[number] = (
        checksummed(changed, " ")
        if changed.startswith("{") and changed.isprintable()
        else changed.encode(errors="surrogateescape")
    )
    return b"\n".join(lines) + b"\n"


@st.composite
def _changed_toml(draw: st.DrawFn, content: bytes) -> bytes:
    """TOML with changed values as far as TOML can hold them, or damaged as text."""
    if draw(st.booleans()):
        return draw(changed_bytes(content))
    try:
        return tomli_w.dumps(draw(changed_value(tomllib.loads(content.decode())))).encode()
    except (TypeError, AttributeError, UnicodeEncodeError):
        return draw(changed_bytes(content))
