"""The disk that a build needs is known before it starts."""

import gzip
import shutil
from collections import namedtuple
from pathlib import Path

import pytest

from mggcn._io.locations import Location
from mggcn.cli import main
from mggcn.errors import InputError
from mggcn.ethereum import _assembly
from mggcn.ethereum._assembly import num_rows, require_space
from tests.unit.ethereum.test_formats import write_csv
from tests.unit.ethereum.transactions import A, B, transaction, write

ROWS = [transaction(number, A, B) for number in range(300)]
Usage = namedtuple("Usage", "total used free")


def test_rows_are_counted_in_parquet_and_estimated_in_text(tmp_path: Path) -> None:
    text = write_csv(tmp_path / "t.csv", ROWS)
    packed = tmp_path / "t.csv.gz"
    packed.write_bytes(gzip.compress(text.read_bytes()))
    assert num_rows(Location.of(write(tmp_path / "t.parquet", ROWS))) == 300
    assert num_rows(Location.of(text)) == pytest.approx(300, rel=0.5)
    assert num_rows(Location.of(packed)) == packed.stat().st_size // 100
    (tmp_path / "bad.parquet").write_text("no table")
    assert num_rows(Location.of(tmp_path / "bad.parquet")) == 0


def test_a_disk_that_is_too_small_is_refused_with_both_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "t.parquet", ROWS)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**6, 10**6 - 2048, 2048))
    assert main(["ethereum", "build", "t.parquet", "--out", "o/d", "--stages", "s"]) == 2
    needed = (_assembly._STAGE_BYTES["duckdb"] + _assembly._FOLDER_BYTES) * 300 / 1024
    message = f"o/d: 300 rows need about {needed:.1f} KiB of disk, and 2 KiB are free"
    assert capsys.readouterr().err == f"mggcn: error: {message}\n"
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]


def test_stages_elsewhere_do_not_count_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = Location.of(write(tmp_path / "t.parquet", ROWS[:1]))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**6, 0, 320))
    require_space([file], "duckdb", 1, tmp_path / "out", None)
    with pytest.raises(InputError, match="out: 1 rows need about 350 bytes of disk, and 320 bytes are free"):
        require_space([file], "duckdb", 1, tmp_path / "out", tmp_path / "stages")
