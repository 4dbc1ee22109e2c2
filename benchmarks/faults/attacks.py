"""Attacks: files and servers made by somebody who knows the program. None runs code, waits, or ends in a traceback."""

import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import SimpleNamespace

from benchmarks.faults.processes import Ended, run
from benchmarks.faults.stage import RUN, Stage
from mggcn._io import answers
from mggcn.data import _planetoid
from mggcn.ethereum import _etherscan as etherscan
from tests import checksums, hostile, tampering

_RESUMED = "train --resume unfinished --epochs 40 --set patience=1 --no-report --quiet"
_SECONDS = 60.0  # that a command may take
_MIB = 1 << 20
_MEMORY = 700 * _MIB  # that it may take for an answer of at most 64 MiB
_CRAWL = "ethereum crawl --labels chain.labels.csv --max-accounts 1 --rate 1e6 --quiet --out out"
_EVIL = """
from pathlib import Path
(Path(__file__).parent / "imported").touch()
def make(*_, **__): raise SystemExit(0)
"""
_NAMES = ('"evil:make"', '"evil:Make"', '"evil:make.more"', '"./evil.py:make"', '"evil.py:make"')
_EXPERIMENT = '\nname = "small"\ntitle = "Two"\nreproduces = "nothing"\ndatasets = ["tiny"]\nseeds = 1\n'


def case(number: int, draw: Random, stage: Stage) -> tuple[str, str]:
    """Make one attack; return what was done, and the problem."""
    with stage.copy() as folder:
        return _ATTACKS[number % len(_ATTACKS)](draw, folder)


def _tampered(draw: Random, folder: Path) -> tuple[str, str]:
    """A checkpoint that was changed, with its checksums computed again; the one before it is gone or changed, too."""
    *older, newest = sorted((folder / "unfinished" / "checkpoint").glob("*.json"))
    changes = tampering.tamper(newest, draw)
    for path in older:
        if draw.random() < 0.5:
            path.unlink()
        else:
            changes += f", in the older one {tampering.tamper(path, draw)}"
    return _judged(_RESUMED, changes, run(_RESUMED.split(), folder, seconds=_SECONDS), folder)


def _special(draw: Random, folder: Path) -> tuple[str, str]:
    """A pipe, a socket, a device, a folder or a link in place of a file, a lock or a temporary file."""
    pattern, command = draw.choice(_FILES)
    path = draw.choice(sorted(folder.glob(pattern)) or [folder / pattern])
    kind = draw.choice(list(_SPECIAL))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    _SPECIAL[kind](path)
    what = f"{path.relative_to(folder)} is {kind}"
    return _judged(command, what, run(command.split(), folder, seconds=_SECONDS), folder)


def _hostile(draw: Random, folder: Path) -> tuple[str, str]:
    """A server that answers as it likes."""
    answer, command = draw.choice(list(hostile.ANSWERS)), draw.choice([_CRAWL, "data get cora --root out"])
    with hostile.answering(answer) as url:
        line = f"{command} --base-url {url}" if command == _CRAWL else command
        ended = run(line.split(), folder, lambda: _with_little_patience(url), seconds=_SECONDS)
    what, problem = _judged(command, f"the server sends {answer}", ended, folder)
    return what, problem or ("" if ended.code else f"accepted: {ended.out[-200:]!r}")


def _with_code(draw: Random, folder: Path) -> tuple[str, str]:
    """A file that names code to import."""
    (folder / "evil.py").write_text(_EVIL)
    name, (file, change, command) = draw.choice(_NAMES), draw.choice(_NAMING)
    path = folder / file
    change(path, name)
    ended = run(command.split(), folder, lambda: sys.path.insert(0, str(folder)), seconds=_SECONDS)
    return _judged(command, f"{file} names {name}", ended, folder)


def _judged(command: str, change: str, ended: Ended, folder: Path) -> tuple[str, str]:
    """What was done, and the problem: one line or success are none."""
    what = f"mggcn {command}: {change}"
    if ended.code < 0:
        return what, f"killed after {_SECONDS:g} s: {ended}"
    if "Traceback" in ended.error or (ended.code and not ended.one_line()):
        return what, str(ended)
    if "not enough memory" in ended.error:
        return what, f"took more than {_MEMORY // _MIB} MiB: {ended}"
    if any(not character.isprintable() for character in ended.error.replace("\n", "")):
        return what, f"control characters: {ended.error!r}"
    written = [name for name in ("imported", "elsewhere") for _ in folder.rglob(name)]
    return what, f"{written[0]} was created" if written else ""


def _with_little_patience(url: str) -> None:
    """In a new process: a second for each answer, no pauses between tries, no package index, and little memory."""
    os.environ |= {"MGGCN_PLANETOID_URL": url, "PIP_NO_INDEX": "1", "no_proxy": "127.0.0.1"}
    etherscan._SECONDS = _planetoid._SECONDS = 1.0  # noqa: SLF001
    sys.modules["tenacity.nap"].time = SimpleNamespace(sleep=lambda _: None)  # type: ignore[attr-defined]
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + _MEMORY, used + _MEMORY))
    assert answers.MOST_BYTES * 4 < _MEMORY  # noqa: S101


def _toml(text: str) -> Callable[[Path, str], object]:
    return lambda path, name: path.write_text(_EXPERIMENT + text.replace("NAME", name))


def _config(path: Path, name: str) -> None:
    path.write_text(f'dataset = "tiny"\nmethod = {name}\nseed = 0\ndevice = "cpu"\n[settings]\nepochs = 1\n')


def _setting(path: Path, name: str) -> None:
    path.write_text(f'dataset = "tiny"\nmethod = "mg-gcn"\n[settings]\nepochs = 1\nconv = {name}\n')


def _record(field: tuple[str, ...]) -> Callable[[Path, str], object]:
    return lambda path, name: tampering.change_field(path, field, name.strip('"'))


def _ledger(path: Path, name: str) -> None:
    lines = [checksums.line_of(line) for line in path.read_bytes().splitlines()]
    path.write_bytes(b"".join(checksums.checksummed_line({**values, "method": name.strip('"')}) for values in lines))


_METHODS = "methods = [NAME]\nsettings = { epochs = 1 }"
_SETTINGS = 'methods = ["mg-gcn"]\nsettings = { epochs = 1, conv = NAME }'
_VARIANT = '[[variant]]\nlabel = "a"\nmethod = NAME'
_ROW = '[[variant]]\nlabel = "a"\nmethod = "mg-gcn"\nsettings = { epochs = 1, conv = NAME }'
_ON = '[[variant]]\nlabel = "a"\nmethod = "mg-gcn"\non = { tiny = { epochs = 1, conv = NAME } }'
_NAMING: tuple[tuple[str, Callable[[Path, str], object], str], ...] = (
    *(
        ("small.toml", _toml(text), command)
        for text in (_METHODS, _SETTINGS, _VARIANT, _ROW, _ON)
        for command in (
            "experiment list .",
            "experiment status small.toml --out experimented",
            "experiment run small.toml --quiet --out out",
        )
    ),
    *(("new.toml", change, "train --config new.toml --quiet --out out") for change in (_config, _setting)),
    *(("unfinished/config.toml", change, "train --resume unfinished --quiet") for change in (_config, _setting)),
    *(
        (f"{RUN}/record.json", _record(field), command)
        for field in (("method",), ("settings", "conv"))
        for command in (
            f"predict {RUN} --out out.csv",
            f"explore {RUN} --port 99999",
            "report made --format md --out out.md",
            f"train tiny --warm-start {RUN} --epochs 1 --quiet --no-report --out out",
        )
    ),
    ("compared/records.jsonl", _ledger, "report compared --format md --out out.md"),
    ("tuned/records.jsonl", _ledger, "tune tiny --trials 3 --set epochs=1 --quiet --out tuned"),
)
_FILES = (
    ("tiny/meta.json", "data info tiny"),
    ("tiny/*.npy", "data verify tiny"),
    ("tiny/*.npy", "train tiny --epochs 1 --mmap --no-report --quiet --out out"),
    ("prepared/*/*", "train tiny --mmap --epochs 1 --no-report --quiet --out out"),
    (f"{RUN}/*.*", f"predict {RUN} --out out.csv"),
    (f"{RUN}/record.json", "report made --format md --out out.md"),
    ("compared/records.jsonl", "report compared --format md --out out.md"),
    ("compared/records.jsonl", "compare tiny --methods sgc --seeds 1 --set epochs=1 --quiet --out compared"),
    ("experimented/*.json*", "report experimented --format md --out out.md"),
    ("packed.json", "report packed.json --format md --out out.md"),
    ("small.toml", "experiment status small.toml --out experimented"),
    ("new.toml", "train --config new.toml --quiet --out out"),
    ("unfinished/checkpoint/*", _RESUMED),
    ("unfinished/checkpoint/lock", _RESUMED),
    ("unfinished/checkpoint/.000009.json.0a1b2c3d.mggcn-tmp", _RESUMED),
    ("unfinished/config.toml", _RESUMED),
    ("tuned/*.j*", "tune tiny --trials 3 --set epochs=1 --quiet --out tuned"),
    ("out/.tiny-mg-gcn-seed0.mggcn-tmp", "train tiny --epochs 1 --no-report --quiet --out out"),
    (".out.csv.0a1b2c3d.mggcn-tmp", f"predict {RUN} --out out.csv"),
    (".out.mggcn-tmp", "data import tiny.npz --out out"),
    (".out.0a1b2c3d.mggcn-tmp", "data import tiny.npz --out out"),
    ("out/journal.log", f"{_CRAWL} --base-url http://127.0.0.1:9"),
    ("list.json", "ethereum labels list.json --out out.csv"),
)
_SPECIAL: dict[str, Callable[[Path], object]] = {
    "a pipe": os.mkfifo,
    "a socket": lambda path: os.mknod(path, 0o140600),
    "a folder": os.mkdir,
    "an endless device": lambda path: path.symlink_to("/dev/zero"),
    "a terminal": lambda path: path.symlink_to("/dev/tty"),
    "a link to nothing": lambda path: path.symlink_to("elsewhere"),
    "a link to itself": lambda path: path.symlink_to(path.name),
}
_ATTACKS = (_tampered, _special, _hostile, _with_code)
