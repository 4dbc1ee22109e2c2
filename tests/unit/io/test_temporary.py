"""Temporary files and locks: exclusive while their writer lives, not read, removed when the writer is gone."""

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from mggcn._io import temporary
from mggcn._io.files import check_file, check_writable, replacing, write_atomically
from mggcn.errors import InputError

WAITS = """
import sys, time
from pathlib import Path
from mggcn._io.files import {imported}
with {block}:
    print("ready", flush=True)
    time.sleep(600)
"""


def killed_writer(imported: str, block: str) -> None:
    """Start a process that writes, and kill it in the middle."""
    script = WAITS.format(imported=imported, block=block)
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()


def test_what_a_killed_writer_leaves_is_removed_by_the_next_one(tmp_path: Path) -> None:
    for block, left in (("replacing", 2), ("temporary_file", 1)):
        killed_writer(block, f"{block}(Path({str(tmp_path / 'data')!r}))")
        assert len(list(tmp_path.iterdir())) == left
    write_atomically(tmp_path / "new", b"content")
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_temporary_files_of_living_writers_stay(tmp_path: Path) -> None:
    with temporary.temporary_file(tmp_path / "a") as file, temporary.temporary_folder(tmp_path / "b") as folder:
        temporary.remove_abandoned(tmp_path)
        assert file.exists()
        assert folder.is_dir()
    assert list(tmp_path.iterdir()) == []


def test_a_locked_name_is_refused_to_other_writers(tmp_path: Path) -> None:
    with replacing(tmp_path / "data"), ThreadPoolExecutor(1) as pool:
        refused = pool.submit(replacing(tmp_path / "data").__enter__).exception()
    assert isinstance(refused, InputError)
    assert str(refused) == f"{tmp_path / 'data'}: another command is writing it"
    assert (tmp_path / "data").is_dir()


def test_of_many_writers_of_one_name_one_succeeds_and_the_others_say_so(tmp_path: Path) -> None:
    def write(number: int) -> str:
        try:
            with replacing(tmp_path / "data") as folder:
                (folder / "number").write_text(str(number))
        except InputError as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(4) as pool:
        problems = list(pool.map(write, range(40)))
    assert [number for number, problem in enumerate(problems) if not problem] == [
        int((tmp_path / "data" / "number").read_text())
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_a_failed_writer_leaves_no_folder_that_it_created(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no"), replacing(tmp_path / "a" / "b" / "data"):
        raise InputError("no")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("can_exchange", [True, False])
def test_a_replaced_folder_is_one_or_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_exchange: bool
) -> None:
    if not can_exchange:
        monkeypatch.setattr(temporary, "_exchange", lambda *_: False)
    for content in ("one", "two"):
        with replacing(tmp_path / "data", lambda _: None) as folder:
            (folder / "file").write_text(content)
    assert (tmp_path / "data" / "file").read_text() == "two"
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_a_replacement_that_was_killed_half_way_is_undone(tmp_path: Path) -> None:
    (tmp_path / ".data.old.mggcn-tmp").mkdir()
    (tmp_path / ".data.old.mggcn-tmp" / "file").write_text("one")
    temporary.recover(tmp_path / "data")
    assert (tmp_path / "data" / "file").read_text() == "one"


def test_one_that_was_killed_after_it_is_finished(tmp_path: Path) -> None:
    for name in ("data", ".data.old.mggcn-tmp"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    write_atomically(tmp_path / "other", b"")
    assert (tmp_path / "data" / "file").read_text() == "data"
    assert not (tmp_path / ".data.old.mggcn-tmp").exists()


def test_a_full_disk_names_the_file(tmp_path: Path) -> None:
    limited = f"""
import resource
from pathlib import Path
from mggcn._io.files import write_atomically
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    write_atomically(Path({str(tmp_path / "big")!r}), bytes(1000))
except OSError as error:
    print(error.filename, error.strerror)
"""
    done = subprocess.run([sys.executable, "-c", limited], capture_output=True, text=True, check=True)
    assert done.stdout == f"{tmp_path / 'big'} File too large\n"
    assert list(tmp_path.iterdir()) == []


def test_outputs_are_tested_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file is not a folder"):
        check_writable(tmp_path / "file" / "deep")
    with pytest.raises(InputError, match=r"p\.csv: .*file is not a folder"):
        check_file(tmp_path / "file" / "p.csv")
    monkeypatch.setattr(os, "open", lambda *_, **__: (_ for _ in ()).throw(PermissionError(13, "Permission denied")))
    with pytest.raises(InputError, match=r"p\.csv: .* cannot be written \(Permission denied\)"):
        check_file(tmp_path / "p.csv")


def test_a_folder_in_which_nothing_can_be_created_is_named() -> None:
    with (
        pytest.raises(OSError, match="No such file or directory: '/proc/out'"),
        temporary.locked_name(Path("/proc/out")),
    ):
        pass


@pytest.mark.parametrize("function", ["open", "flock"])
@pytest.mark.parametrize("writer", [temporary.temporary_file, temporary.temporary_folder, temporary.locked_name])
def test_a_signal_right_after_a_temporary_file_is_created_leaves_nothing(
    writer: Callable[[Path], AbstractContextManager[object]],
    function: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = temporary.os if function == "open" else temporary.fcntl  # type: ignore[attr-defined]
    real = getattr(module, function)

    def interrupted(*arguments: object) -> None:
        real(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(module, function, interrupted)
        with pytest.raises(KeyboardInterrupt):
            writer(tmp_path / "data").__enter__()
    assert len(list(tmp_path.iterdir())) == 1
    temporary.remove_own()
    assert list(tmp_path.iterdir()) == []


def test_the_lock_of_another_writer_is_not_ones_own(tmp_path: Path) -> None:
    with temporary.locked_name(tmp_path / "data"):
        script = f"""
import pathlib
from mggcn._io import temporary
from mggcn.errors import InputError
try:
    temporary.locked_name(pathlib.Path({str(tmp_path / "data")!r})).__enter__()
except InputError:
    temporary.remove_own()
    print("refused")
"""
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert done.stdout == "refused\n"
        assert len(list(tmp_path.iterdir())) == 1


def test_a_lock_that_is_made_while_an_abandoned_one_is_removed_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock_file = tmp_path / ".data.mggcn-tmp"
    lock_file.write_text("old")
    flock = fcntl.flock

    def locked_again(handle: int, how: int) -> None:
        lock_file.unlink()
        lock_file.write_text("new")
        flock(handle, how)

    monkeypatch.setattr(fcntl, "flock", locked_again)
    temporary.remove_abandoned(tmp_path)
    assert lock_file.read_text() == "new"
