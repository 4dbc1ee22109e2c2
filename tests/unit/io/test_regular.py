"""Special files in place of ours: nothing waits for a pipe, and nothing is written through a link."""

import os
import shutil
import socket
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

import mggcn
from mggcn._io import regular
from mggcn._io.files import write_atomically
from mggcn._io.temporary import locked_name
from mggcn.cli import main
from mggcn.data import save
from mggcn.experiments._records import record_files
from mggcn.training._record import Epoch
from tests.conftest import small_dataset
from tests.records import ledger

pytestmark = pytest.mark.filterwarnings("ignore::mggcn.errors.InputWarning")


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))


SPECIAL: dict[str, Callable[[Path], object]] = {
    "a pipe": os.mkfifo,
    "a socket": _socket,
    "a folder": os.mkdir,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a dangling link": lambda path: path.symlink_to("elsewhere"),
    "a link to itself": lambda path: path.symlink_to(path.name),
}


@pytest.fixture(autouse=True)
def _short_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket has at most 107 characters


@pytest.mark.parametrize("kind", SPECIAL)
@pytest.mark.parametrize("opened", [regular.read, regular.open_to_append])
def test_only_regular_files_are_opened(kind: str, opened: Callable[[Path], object]) -> None:
    SPECIAL[kind](Path("file"))
    with pytest.raises(OSError, match="file"):
        opened(Path("file"))
    assert not Path("elsewhere").exists()


def test_a_link_to_a_regular_file_is_read_and_not_written(tmp_path: Path) -> None:
    Path("file").write_bytes(b"content")
    Path("link").symlink_to("file")
    assert regular.read(Path("link")) == b"content"
    with pytest.raises(OSError, match="not a regular file"):
        regular.open_to_append(Path("link"))


def test_a_report_beside_a_link_that_leads_to_itself(tmp_path: Path) -> None:
    ledger(tmp_path / "records.jsonl")
    Path("experiment.json").symlink_to("experiment.json")
    assert main(["report", ".", "--format", "md", "--out", "out.md"]) == 0
    assert record_files([tmp_path]) == {tmp_path / "records.jsonl", tmp_path / "experiment.json"}


def test_a_file_is_appended_to_and_read() -> None:
    for part in (b"one", b"two"):
        with regular.open_to_append(Path("file")) as file:
            file.write(part)
            file.seek(0)
            assert file.read().endswith(part)
    assert Path("file").read_bytes() == b"onetwo"


@pytest.mark.parametrize("kind", ["a pipe", "a dangling link"])
@pytest.mark.parametrize("name", [".out.mggcn-tmp", ".out.1234abcd.mggcn-tmp"])
def test_a_special_file_in_place_of_a_temporary_file_or_a_lock_neither_waits_nor_writes_elsewhere(
    kind: str, name: str
) -> None:
    SPECIAL[kind](Path(name))
    is_refused = (kind, name) == ("a dangling link", ".out.mggcn-tmp")
    problem = r"\.out\.mggcn-tmp is a link, .* not a regular file: .*/out'"
    expected = pytest.raises(OSError, match=problem) if is_refused else nullcontext()
    with expected, locked_name(Path("out")):
        write_atomically(Path("out"), b"content")
    assert Path("out").exists() != is_refused
    assert not Path("elsewhere").exists()


@pytest.mark.parametrize("kind", SPECIAL)
@pytest.mark.parametrize(
    ("file", "command"),
    [
        ("data/meta.json", "data info data"),
        ("data/x.npy", "data info data"),
        ("record.json", "report record.json --out out.html"),
        ("records.jsonl", "report records.jsonl --out out.html"),
        ("mine/records.jsonl", "report mine --out out.html"),
        ("one.toml", "experiment status one.toml"),
        ("one.toml", "train --config one.toml --quiet --out out"),
        ("run/config.toml", "train --resume run --quiet"),
        ("run/checkpoint/lock", "train --resume run --quiet"),
        ("run/checkpoint/000001.json", "train --resume run --quiet"),
        ("run/checkpoint/000001.safetensors", "train --resume run --quiet"),
        ("arrays.npz", "data import arrays.npz --out out"),
        ("labels.csv", "ethereum crawl --labels labels.csv --quiet --out out"),
        (
            "crawled/journal.log",
            "ethereum crawl --labels labels.csv --quiet --base-url http://127.0.0.1:9 --out crawled",
        ),
        ("out/trials.jsonl", "tune data --trials 1 --quiet --out out"),
    ],
)
def test_a_command_that_finds_a_special_file_prints_one_line(
    kind: str, file: str, command: str, tmp_path: Path, unfinished: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("ETHERSCAN_API_KEY", "key")
    shutil.copytree(unfinished, tmp_path, dirs_exist_ok=True)
    Path("labels.csv").write_text(f"address,label\n0x{1:040x},ICO\n")
    path = Path(file)
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    SPECIAL[kind](path)
    assert main(command.split()) == 2
    error = capsys.readouterr().err
    lines = [line for line in error.splitlines() if not line.startswith("mggcn: warning: ")]
    assert len(lines) == 1, error
    assert lines[0].startswith("mggcn: error: ")
    assert not list(tmp_path.rglob("elsewhere"))


class _Interrupt:
    def epoch(self, epoch: Epoch) -> None:  # noqa: ARG002
        """Raise what Ctrl-C raises."""
        raise KeyboardInterrupt


@pytest.fixture(scope="module")
def unfinished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a data set and a run that was interrupted after its first epoch."""
    folder = tmp_path_factory.mktemp("unfinished")
    data = save(small_dataset(), folder / "data")
    with pytest.raises(KeyboardInterrupt):
        mggcn.fit(data, "mlp", device="cpu", checkpoint=folder / "run", checkpoint_every=0, progress=_Interrupt())
    return folder
