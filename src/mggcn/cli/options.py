"""Options that several commands share, and the flags of a command in messages of the library."""

import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Argument, Parameter

if TYPE_CHECKING:
    from mggcn._io.mapping import Access

Switch = Annotated[bool, Parameter(negative=())]
JsonSwitch = Annotated[bool, Parameter(name="--json", negative=())]
Device = Literal["auto", "cpu", "cuda"]
Preset = Literal["default", "paper"]
Settings = Annotated[list[str] | None, Parameter(name="--set", consume_multiple=True, negative=())]


@Parameter(name="*")
@dataclass(frozen=True)
class DataOptions:
    """Options of all commands that train or score.

    Attributes:
        device: auto (the default) takes the GPU if there is one.
        root: The folder of data sets; default: $MGGCN_DATA, else a per-user cache.
        mmap: Map the dataset folder instead of reading it, as is done by itself if it is larger than half of the free
            memory; its checksums are then not verified (see `mggcn data verify`).
        cache: The folder for what is computed from a mapped data set before training or scoring; default: the folder
            prepared beside the data, or in the folder of data sets if that cannot be written.
        memory: How much memory computing that may take, such as 2GB (the default).
    """

    device: Device | None = None
    root: Path | None = None
    mmap: Switch = False
    cache: Path | None = None
    memory: str | None = None

    @property
    def access(self) -> "Access":
        """How dataset folders are read."""
        from mggcn._io.mapping import Access

        return Access.of(self.mmap or None, self.cache, self.memory)


@Parameter(name="*")
@dataclass(frozen=True)
class RunOptions(DataOptions):
    """Options of all commands that train.

    Attributes:
        quiet: Print only the results.
        as_json: End standard output with one line of JSON.
    """

    quiet: Switch = False
    as_json: JsonSwitch = False

    def note(self, text: str) -> None:
        """Print a line about the command on standard error, unless it is quiet."""
        if not self.quiet:
            print(text, file=sys.stderr, flush=True)


@Parameter(name="*")
@dataclass(frozen=True)
class TrainOptions(RunOptions):
    """Options of how runs are trained and what is shown of them.

    Attributes:
        allow_import: Allow the file of --config, --resume or --warm-start to import the Python code that it names.
        report: Write a page with charts into each run folder; needs `pip install 'mggcn[report]'`.
        per_class: Also print precision, recall and F1 of every class, and how well its probability ranks test nodes.
        checkpoint_every: Seconds between two checkpoints, at least; 0 writes one after every epoch.
    """

    allow_import: Switch = False
    report: bool = True
    per_class: Switch = False
    checkpoint_every: float = 10.0


DEFAULTS = RunOptions()

_SUBJECT = re.compile(r"((?:rank \d+: |(?:split \d+ )?seed \d+: )?)([a-z_]+)(?=: )")
_VALUE = re.compile(r"(?<![^\s(])([a-z_]+)=(…|'[^']*'|[^\s,;:)]+)")
_NAME = re.compile(r"(?<![^\s(])[a-z]+(?:_[a-z]+)+(?![\w=(.])")
_RESUME = re.compile(r"mggcn\.resume\(('.*?'|\".*?\")\)")
_arguments: dict[str, Argument] = {}


def use_flags(app: App, tokens: Sequence[str]) -> None:
    """Take the flags of the command that ``tokens`` start for :func:`with_flags`."""
    _arguments.clear()
    command = app.parse_commands(list(tokens))[1][-1]
    if command.default_command is not None:
        options = (one for one in command.assemble_argument_collection() if one.name.startswith("--"))
        _arguments.update((option.field_info.name, option) for option in options)


def with_flags(message: str) -> str:
    """A message of the library, in which parameters of Python have become the flags of the running command.

    The library names a parameter at the start of a message (``jobs: 0 is less than 1``), with its value
    (``allow_import=True``, ``labels=…`` for any) or alone if nothing else is written so (``as_of``).
    """
    if (subject := _SUBJECT.match(message)) and subject[2] in _arguments:
        message = f"{subject[1]}{_arguments[subject[2]].name}{message[subject.end() :]}"
    message = _VALUE.sub(_with_value, message)
    message = _NAME.sub(lambda name: _arguments[name[0]].name if name[0] in _arguments else name[0], message)
    return _RESUME.sub(lambda match: f"mggcn train --resume {shlex.quote(match[1][1:-1])}", message)


def _with_value(match: re.Match[str]) -> str:
    argument, value = _arguments.get(match[1]), match[2]
    if argument is None:
        return match[0]
    if argument.hint is bool:
        wanted = {"True": argument.name, "False": f"--no-{argument.name[2:]}"}.get(value)
        return wanted if wanted in argument.names else match[0]
    return argument.name if value == "…" else f"{argument.name} {value.strip(chr(39))}"


def setting_words(settings: Mapping[str, object]) -> str:
    """Settings as ``--set`` takes them, numbers with four digits."""
    return " ".join(
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}" for name, value in settings.items()
    )
