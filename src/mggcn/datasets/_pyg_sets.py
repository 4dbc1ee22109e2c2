"""PyG's raw files: found below the data root (``pyg/<Name>/raw``) or fetched by PyG's own download.

Only raw files are read. PyG's cached ``processed/*.pt`` are pickles that may run code when loaded.
"""

import shutil
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mggcn.datasets.blame import reason
from mggcn.datasets.fetch import notice
from mggcn.datasets.root import places, writable
from mggcn.errors import InputError, unknown
from mggcn.storage import replacing

INSTALL = "pip install 'mggcn[pyg]'"


def raw_folder(name: str, files: Sequence[str], root: Path | None) -> Path:
    """The folder that holds the raw ``files`` of PyG's data set ``name``."""
    for place in places(root):
        folder = place / "pyg" / name / "raw"
        if all((folder / file).is_file() for file in files):
            return folder
    return _download(name, files, writable(root) / "pyg" / name / "raw")


def torch_geometric(what: str) -> Any:
    """The module torch_geometric with its data sets, or an error that says how to install it for ``what``."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # PyG compiles old-style scripts when imported
            import torch_geometric
            import torch_geometric.datasets
    except ImportError:
        raise InputError(f"{what} needs PyG: {INSTALL}") from None
    return torch_geometric


def dataset_class(name: str) -> Any:
    """PyG's class of data sets called ``name``."""
    catalogue = torch_geometric(f"pyg:{name}").datasets
    if name not in catalogue.__all__:
        raise unknown("PyG data set", name, catalogue.__all__)
    return getattr(catalogue, name)


def _download(name: str, files: Sequence[str], folder: Path) -> Path:
    kind = dataset_class(name)
    notice(f"fetching {name} through PyG into {folder}")
    source = kind.__new__(kind)  # without __init__, which would process the files and load its own pickle
    try:
        with replacing(folder) as draft:
            source.root, raw = str(draft), draft / "raw"
            raw.mkdir()
            source.download()
            for file in files:
                (raw / file).rename(draft / file)
            shutil.rmtree(raw)
    except Exception as error:  # noqa: BLE001 - PyG's downloads fail in any way their hosts do
        raise InputError(
            f"{name}: PyG's download failed ({reason(error)}); put {', '.join(files)} into {folder}"
        ) from None
    return folder
