"""What to measure: the options of the command line."""

import argparse
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mggcn.errors import InputError
from mggcn.methods import Preset
from mggcn.methods.settings import pairs

SECTIONS = ("pick", "prepare", "epoch", "wait", "baselines")
LIBRARIES = ("pyg", "dgl")
BASELINES = ("gcn", "graphsage-mean", "cluster-gcn", "graphsaint", "sgc", "sign", "node2vec")
"""The methods that other libraries have, too."""

PRESETS: tuple[Preset, ...] = ("paper", "default")

_ONLY_BY_NAME = ("wait", "baselines")  # they take long
_WITH_LIBRARIES = ("epoch", "baselines")
_WITH_PRESET = ("epoch", "wait")
_SCALED = ("reddit-like", "ethereum-like")


@dataclass(frozen=True)
class Options:
    """What to measure, and on which data and device; :func:`parse` says what each option means."""

    what: str = "all"
    dataset: str = "reddit-like"
    scale: float = 1.0
    device: str = "cpu"
    libraries: Sequence[str] = ()
    library_python: Mapping[str, str] = field(default_factory=dict)
    batch_size: int = 256
    repeats: int = 5
    runs: int = 1
    preset: Preset = "paper"
    steps: int | None = None
    library_steps: int = 24
    methods: Sequence[str] = ()
    settings: Mapping[str, object] = field(default_factory=dict)
    out: Path = Path("benchmarks/results")
    root: Path | None = None

    @property
    def sections(self) -> tuple[str, ...]:
        """The sections to run; ``wait`` and ``baselines``, which take long, only if they are named."""
        return tuple(name for name in SECTIONS if name not in _ONLY_BY_NAME) if self.what == "all" else (self.what,)

    @property
    def has_libraries(self) -> bool:
        """Whether a section also times other libraries."""
        return any(section in _WITH_LIBRARIES for section in self.sections)

    @property
    def variant(self) -> str:
        """The settings that are measured: ``paper``, ``default``, or ``recipe`` for the default without a portfolio."""
        if self.preset == "paper":
            return "paper"
        return "recipe" if self.what == "epoch" or self.settings.get("portfolio") == "none" else "default"

    @property
    def source(self) -> str:
        """The name that :func:`mggcn.data.load` takes."""
        return f"{self.dataset}:{self.scale:.12g}" if self.dataset in _SCALED else self.dataset

    @property
    def command(self) -> str:
        """The command line with these options, without folders and interpreters of this machine."""
        words = ["python", "-m", "benchmarks.speed", self.what, "--dataset", Path(self.dataset).name]
        words += ["--scale", f"{self.scale:g}"] if self.dataset in _SCALED else []
        words += ["--device", self.device]
        words += ["--libraries", *self.libraries] if self.libraries else []
        words += ["--methods", *self.methods] if self.methods else []
        words += ["--preset", self.preset] if self.preset != "paper" else []
        words += ["--batch-size", str(self.batch_size)] if self.has_libraries and self.preset == "paper" else []
        words += ["--repeats", str(self.repeats)]
        words += ["--runs", str(self.runs)] if self.runs > 1 else []
        words += ["--steps", str(self.steps)] if self.steps else []
        words += ["--library-steps", str(self.library_steps)] if self.libraries else []
        words += ["--set", *(f"{key}={value}" for key, value in self.settings.items())] if self.settings else []
        return shlex.join(words)


def parse(words: Sequence[str] | None = None) -> Options:
    """Read a command line; a wrong one ends the process with exit code 2 and a line on standard error."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed",
        description="Time picks, preparation, epochs and whole trainings, compare them with lower bounds and other "
        "libraries, and write JSON records.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add, default = parser.add_argument, Options()
    add("what", nargs="?", choices=(*SECTIONS, "all"), default=default.what, help="all leaves out what takes long: "
        "wait (where the time of a complete `mggcn train` goes) and baselines (epochs of the methods that PyTorch "
        "Geometric or DGL have, too, in this library and in theirs)")  # fmt: skip
    add("--dataset", default=default.dataset, help="a known name or a dataset folder")
    add("--scale", type=_positive(float), default=default.scale, help="the size of reddit-like or ethereum-like; 1 is "
        "the paper's")  # fmt: skip
    add("--device", choices=("cpu", "cuda"), default=default.device, help=" ")
    add("--libraries", nargs="+", choices=LIBRARIES, default=(), help="also time these: PyTorch Geometric, DGL")
    add("--library-python", nargs="+", default=(), metavar="[LIBRARY=]PATH", help="the interpreter that has them")
    add("--preset", choices=PRESETS, default=default.preset, help="the settings of epoch and wait: the paper's, "
        "or the default recipe with its own batches, in wait with a portfolio unless --set portfolio=none")  # fmt: skip
    add("--batch-size", type=_positive(int), default=default.batch_size, help="targets per step")
    add("--repeats", type=_positive(int), default=default.repeats, help="of each figure, after a warm-up")
    add("--runs", type=_positive(int), default=default.runs, help="measure all of it so many times; figures and ratios "
        "are then medians of the runs")  # fmt: skip
    add("--steps", type=_positive(int), help="measure only this many steps of an epoch and extrapolate")
    add("--library-steps", type=_positive(int), default=default.library_steps, help="the same in other libraries")
    add("--methods", nargs="+", choices=BASELINES, default=(), help="of the baselines only these")
    add("--set", nargs="+", default=(), dest="settings", metavar="KEY=VALUE", help="change settings of the method, or "
        "of every baseline that has them")  # fmt: skip
    add("--out", type=Path, default=default.out, help="the folder of the records")
    add("--root", type=Path, help="the folder of the data sets; else $MGGCN_DATA, else a per-user cache")
    found = vars(parser.parse_args(words))
    pythons = _interpreters(found.pop("library_python"), found["libraries"])
    try:
        found["settings"] = pairs(found["settings"])
    except InputError as error:
        parser.error(str(error).replace("settings", "--set", 1))
    options = Options(**{**found, "library_python": pythons})
    if options.libraries and not options.has_libraries:
        parser.error(f"--libraries: only the sections epoch and baselines time other libraries, not {options.what}")
    if options.methods and options.what != "baselines":
        parser.error(f"--methods: only the section baselines has methods, not {options.what}")
    if options.preset != "paper" and (options.what not in _WITH_PRESET or options.libraries):
        parser.error(f"--preset: only epoch, without --libraries, and wait have the preset {options.preset}")
    if options.scale != 1 and options.dataset not in _SCALED:
        parser.error(f"--scale: {options.dataset} has one size; only {' and '.join(_SCALED)} take a scale")
    for name, python in pythons.items():
        if name not in LIBRARIES or not Path(python).is_file():
            parser.error(f"--library-python: {python} is not a file or {name} not one of {', '.join(LIBRARIES)}")
    return options


def _positive(kind: type[int] | type[float]) -> Callable[[str], float]:
    """Reads a positive number, for argparse."""

    def positive(text: str) -> float:
        value = kind(text)
        if not 0 < value < float("inf"):
            raise argparse.ArgumentTypeError(f"{text} is not a positive number")
        return value

    return positive


def _interpreters(texts: Iterable[str], libraries: Sequence[str]) -> dict[str, str]:
    """Read ``PATH`` (for all libraries) or ``LIBRARY=PATH`` into an interpreter for each library."""
    paths: dict[str, str] = {}
    for text in texts:
        library, equals, path = text.partition("=")
        paths |= {library: path} if equals else dict.fromkeys(libraries or LIBRARIES, text)
    return paths
