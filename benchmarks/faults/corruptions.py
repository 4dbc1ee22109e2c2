"""Corruptions of the files that we write and read again: none is silent, and none ends in a traceback."""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from benchmarks.faults.processes import Ended, run
from benchmarks.faults.stage import RUN, Stage

_BLOCK = 64
_RESUMED = "train --resume unfinished --epochs 40 --set patience=1 --no-report --quiet"


@dataclass(frozen=True)
class Kind:
    """Files of one kind.

    Attributes:
        files: the pattern of their names.
        command: reads them.
        result: the file that the command writes, besides what it prints.
    """

    files: str
    command: str
    result: str = ""


KINDS = (
    Kind("tiny/meta.json", "data info tiny"),
    Kind("tiny/*.npy", "data info tiny"),
    Kind("accounts/*.npy", "data verify accounts --quiet"),
    Kind("accounts/*.parquet", "data verify accounts --quiet"),
    Kind(f"{RUN}/record.json", f"predict {RUN} --out out.csv", "out.csv"),
    Kind(f"{RUN}/weights.safetensors", f"predict {RUN} --out out.csv", "out.csv"),
    Kind(f"{RUN}/split.npz", f"predict {RUN} --out out.csv", "out.csv"),
    Kind(f"{RUN}/record.json", "report made --format md --out out.md", "out.md"),
    Kind("compared/records.jsonl", "report compared --format md --out out.md", "out.md"),
    Kind("experimented/records.jsonl", "report experimented --format md --out out.md", "out.md"),
    Kind("experimented/experiment.json", "report experimented --format md --out out.md", "out.md"),
    Kind("packed.json", "report packed.json --format md --out out.md", "out.md"),
    Kind("prepared/*/meta.json", "train tiny --mmap --epochs 2 --no-report --quiet --out out", "weights"),
    Kind("unfinished/checkpoint/*", _RESUMED, "weights"),
    Kind("tuned/trials.jsonl", "tune tiny --trials 2 --set epochs=1 --quiet --out tuned", "tuned/best.toml"),
    Kind("tuned/records.jsonl", "report tuned --format md --out out.md", "out.md"),
)


def case(number: int, draw: Random, stage: Stage) -> tuple[str, str]:
    """Damage one file; return what was done, and the problem."""
    kind = KINDS[number % len(KINDS)]
    expected = _undamaged(stage, kind)
    with stage.copy() as folder:
        path = draw.choice(sorted(path for path in folder.glob(kind.files) if path.stat().st_size))
        change = draw.choice(list(DAMAGES))
        content = path.read_bytes()
        damaged = DAMAGES[change](content, draw)
        what = f"mggcn {kind.command}, {path.relative_to(folder)} ({len(content)} bytes): {change}"
        if damaged == content:
            return f"{what}, which changed nothing", ""
        path.write_bytes(damaged)
        ended = run(kind.command.split(), folder)
        if ended.one_line():
            return what, ""
        if ended.code:
            return what, str(ended)
        is_reported = "mggcn: warning: " in ended.error or _result(kind, ended, folder) == expected
        return what, "" if is_reported else f"accepted silently; it printed {ended.out.strip()[-200:]!r}"


@cache
def _undamaged(stage: Stage, kind: Kind) -> object:
    with stage.copy() as folder:
        ended = run(kind.command.split(), folder)
        if ended.code:
            raise SystemExit(f"mggcn {kind.command}: {ended}")
        return _result(kind, ended, folder)


def _result(kind: Kind, ended: Ended, folder: Path) -> object:
    """What a command computed, without times."""
    if kind.result == "weights":
        places = [*folder.glob("out/*/weights.safetensors"), *folder.glob("unfinished/weights.safetensors")]
        return [path.read_bytes() for path in places]
    if not kind.result:
        return ended.out
    path = folder / kind.result
    if path.suffix != ".csv":
        return path.read_text()
    with path.open(newline="") as file:
        return [{name: cell for name, cell in row.items() if name != "time"} for row in csv.DictReader(file)]


def _flip(content: bytes, draw: Random) -> bytes:
    position, bit = draw.randrange(len(content)), 1 << draw.randrange(8)
    return content[:position] + bytes([content[position] ^ bit]) + content[position + 1 :]


def _zero(content: bytes, draw: Random) -> bytes:
    start = draw.randrange(len(content))
    count = min(_BLOCK, len(content) - start)
    return content[:start] + bytes(count) + content[start + count :]


def _repeat(content: bytes, draw: Random) -> bytes:
    start = draw.randrange(len(content))
    return content[: start + _BLOCK] + content[start:]


def _remove(content: bytes, draw: Random) -> bytes:
    start = draw.randrange(len(content))
    return content[:start] + content[start + _BLOCK :]


def _digit(content: bytes, draw: Random) -> bytes:
    """Another digit, which is valid wherever one was."""
    places = [place for place, byte in enumerate(content) if byte in b"0123456789"]
    if not places:
        return _flip(content, draw)
    place = draw.choice(places)
    return content[:place] + str((int(chr(content[place])) + 1) % 10).encode() + content[place + 1 :]


DAMAGES: dict[str, Callable[[bytes, Random], bytes]] = {
    "one bit flipped": _flip,
    "one digit changed": _digit,
    "cut off": lambda content, draw: content[: draw.randrange(len(content))],
    "empty": lambda *_: b"",
    "a block of zeros": _zero,
    "a block repeated": _repeat,
    "a block removed": _remove,
    "bytes appended": lambda content, draw: content + draw.randbytes(1 + draw.randrange(_BLOCK)),
    "other bytes": lambda content, draw: draw.randbytes(len(content)),
}
