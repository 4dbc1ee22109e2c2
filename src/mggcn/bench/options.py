"""The options of a bench, checked when they are created."""

import math
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mggcn.errors import InputError, unknown

SECTIONS = ("pick", "prepare", "epoch", "wait", "baselines")
DEVICES = ("cpu", "cuda")
PEERS = ("pyg", "dgl")
BASELINES = ("gcn", "graphsage-mean", "cluster-gcn", "graphsaint", "sgc", "sign", "node2vec")
"""The methods that peers have, too."""

_ONLY_BY_NAME = ("wait", "baselines")  # they take long
_WITH_PEERS = ("epoch", "baselines")
_SCALED = ("reddit-like", "ethereum-like")


@dataclass(frozen=True)
class Options:
    """What to measure, and on which data and device: the options of :func:`mggcn.cli.bench.bench`, parsed."""

    what: str = "all"
    dataset: str = "reddit-like"
    scale: float = 1.0
    device: str = "cpu"
    peers: tuple[str, ...] = ()
    peer_python: Mapping[str, str] = field(default_factory=dict)
    batch_size: int = 256
    repeats: int = 5
    steps: int | None = None
    peer_steps: int = 24
    methods: tuple[str, ...] = ()
    settings: Mapping[str, object] = field(default_factory=dict)
    out: Path = Path("benchmarks/results")
    root: Path | None = None

    def __post_init__(self) -> None:
        if self.what != "all" and self.what not in SECTIONS:
            raise unknown("section", self.what, (*SECTIONS, "all"))
        if self.device not in DEVICES:
            raise unknown("device", self.device, DEVICES)
        for peer in (*self.peers, *self.peer_python):
            if peer not in PEERS:
                raise unknown("peer", peer, PEERS)
        for method in self.methods:
            if method not in BASELINES:
                raise unknown("baseline", method, BASELINES)
        if self.peers and not self._has_peers:
            raise InputError(f"peers: only the sections epoch and baselines have peers, not {self.what}")
        if self.methods and self.what != "baselines":
            raise InputError(f"methods: only the section baselines has methods, not {self.what}")
        for name in ("batch_size", "repeats", "peer_steps", "steps"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name}: {value} is less than 1")
        if not (math.isfinite(self.scale) and self.scale > 0):
            raise InputError(f"scale: {self.scale:g} is not a positive number")
        if self.scale != 1 and self.dataset not in _SCALED:
            raise InputError(f"scale: {self.dataset} has one size; only {' and '.join(_SCALED)} take a scale")

    @property
    def sections(self) -> tuple[str, ...]:
        """The sections to run; ``wait`` and ``baselines``, which take long, only if they are named."""
        return tuple(name for name in SECTIONS if name not in _ONLY_BY_NAME) if self.what == "all" else (self.what,)

    @property
    def _has_peers(self) -> bool:
        return any(section in _WITH_PEERS for section in self.sections)

    @property
    def source(self) -> str:
        """The name that :func:`mggcn.datasets.load` takes."""
        return f"{self.dataset}:{self.scale:.12g}" if self.dataset in _SCALED else self.dataset

    @property
    def command(self) -> str:
        """The command line with these options, without folders and interpreters of this machine."""
        words = ["mggcn", "bench", self.what, "--dataset", Path(self.dataset).name]
        words += ["--scale", f"{self.scale:g}"] if self.dataset in _SCALED else []
        words += ["--device", self.device]
        words += ["--peers", ",".join(self.peers)] if self.peers else []
        words += ["--methods", ",".join(self.methods)] if self.methods else []
        words += ["--batch-size", str(self.batch_size)] if self._has_peers else []
        words += ["--repeats", str(self.repeats)]
        words += ["--steps", str(self.steps)] if self.steps else []
        words += ["--peer-steps", str(self.peer_steps)] if self.peers else []
        words += ["--set", *(f"{key}={value}" for key, value in self.settings.items())] if self.settings else []
        return shlex.join(words)


def interpreters(texts: Iterable[str], peers: Iterable[str]) -> dict[str, str]:
    """Read ``PATH`` (for all peers) or ``PEER=PATH`` into an interpreter for each peer."""
    paths: dict[str, str] = {}
    for text in texts:
        peer, equals, path = text.partition("=")
        if not Path(path if equals else text).is_file():
            raise InputError(f"peer_python: {path if equals else text} is not a file")
        paths |= {peer: path} if equals else dict.fromkeys(peers, text)
    return paths
