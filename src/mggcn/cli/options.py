"""Options that several commands share."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from mggcn.mapping import Access

Switch = Annotated[bool, Parameter(negative=())]
Device = Literal["auto", "cpu", "cuda"]
Preset = Literal["default", "paper"]
Settings = Annotated[list[str] | None, Parameter(name="--set", consume_multiple=True, negative=())]


@Parameter(name="*")
@dataclass(frozen=True)
class RunOptions:
    """Options of all commands that train.

    Attributes:
        device: auto (the default) takes the GPU if there is one.
        root: The folder of data sets; default: $MGGCN_DATA, else a per-user cache.
        mmap: Map the dataset folder instead of reading it, as is done by itself if it is larger than half of the free
            memory; its checksums are then not verified (see `mggcn data verify`).
        cache: The folder for what is computed from a mapped data set before training; default: the folder prepared
            beside the data, or in the folder of data sets if that cannot be written.
        memory: How much memory computing that may take, such as 2GB (the default).
        quiet: Print only the results.
        as_json: End standard output with one line of JSON.
    """

    device: Device | None = None
    root: Path | None = None
    mmap: Switch = False
    cache: Path | None = None
    memory: str | None = None
    quiet: Switch = False
    as_json: Annotated[bool, Parameter(name="--json", negative=())] = False

    @property
    def access(self) -> "Access":
        """How dataset folders are read."""
        from mggcn.mapping import Access

        return Access.of(self.mmap or None, self.cache, self.memory)


DEFAULTS = RunOptions()
