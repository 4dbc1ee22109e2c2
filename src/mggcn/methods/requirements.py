"""The memory and the disk that a run on mapped data needs, before it starts."""

from dataclasses import dataclass
from pathlib import Path

from mggcn._io.memory import size
from mggcn.data import Cache, Dataset, prepared_folder
from mggcn.methods._strips import memory_for_rows
from mggcn.methods.plan import Plan
from mggcn.training import is_read_dense

_BYTES_PER_NODE = 24  # degrees, weights of picks and the membership of training nodes
_BYTES_OF_BATCHES = 512 << 20  # libraries, batches and scores in chunks


@dataclass(frozen=True)
class Requirements:
    """What preparing mapped data and training or scoring on them need; what the system caches of files is not counted.

    Attributes:
        memory: bytes.
        disk: bytes that are written, some of them for a while; 0 if the method computes in memory.
        folder: where they are written.
        kept: the bytes that are there already from this data set; the rest is computed again.
        free: the free bytes of that disk.
    """

    memory: int
    disk: int
    folder: Path
    kept: int
    free: int

    @classmethod
    def of(cls, plan: Plan, dataset: Dataset, *, trains: bool = True) -> "Requirements | None":
        """Of a mapped data set; None for others, and for methods that compute what they need in memory."""
        graph, width = dataset.graph, dataset.num_features
        disk = plan.method.on_disk(graph.num_nodes, width, graph.num_stored)
        if dataset.mapped is None or not is_read_dense(dataset) or not disk:
            return None
        if trains and plan.trains_on_part(dataset):
            disk += disk + graph.indptr.nbytes + graph.indices.nbytes
        cache = Cache(prepared_folder(dataset), dataset.access.memory)
        kept = sum(entry.num_bytes for entry in cache.entries() if entry.what.get("data") == dataset.digest)
        strips = memory_for_rows(graph.num_nodes, width, cache.memory)
        needed = strips + _BYTES_PER_NODE * graph.num_nodes + _BYTES_OF_BATCHES
        return cls(needed, disk, cache.folder, kept, cache.free())

    def __str__(self) -> str:
        disk = f"{size(self.disk)} of disk in {self.folder}, where {size(self.free)} are free"
        if self.kept:
            disk += f" and {size(self.kept)} of this data set are kept"
        return f"mapped: needs up to {size(self.memory)} of memory and {disk}"

    def check(self) -> None:
        """Raise InputError if the disk is too small."""
        if not self.kept:
            Cache(self.folder).require_disk(self.disk)
