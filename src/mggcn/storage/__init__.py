"""A dataset on disk: a folder of ``.npy`` files and a ``meta.json`` with their sizes, types and checksums.

A folder is written under a temporary name, flushed, and renamed, so that a killed write leaves nothing that loads. It
is read into memory (checksums verified) or memory-mapped (sizes and types verified; :func:`verify` checks every byte),
as the same :class:`Dataset`.
Edge attributes are mapped in both cases, because few readers use them.
"""

from mggcn.storage.cache import Cache, Draft
from mggcn.storage.csr import CsrWriter
from mggcn.storage.folder import load, save
from mggcn.storage.meta import META, Meta, is_dataset
from mggcn.storage.verification import Verified, verify
from mggcn.storage.writer import ArrayWriter, FolderWriter, check_free, writing

__all__ = [
    "META",
    "ArrayWriter",
    "Cache",
    "CsrWriter",
    "Draft",
    "FolderWriter",
    "Meta",
    "Verified",
    "check_free",
    "is_dataset",
    "load",
    "save",
    "verify",
    "writing",
]
