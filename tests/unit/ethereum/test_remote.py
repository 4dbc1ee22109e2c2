"""Files at addresses of object stores, for which a folder of this machine stands."""

from pathlib import Path

import pytest
from pyarrow import fs

from mggcn._io import locations
from mggcn.cli import main
from mggcn.data import load_folder
from tests.unit.ethereum.transactions import address, transaction, write


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that are opened; a bucket is a folder."""
    monkeypatch.chdir(tmp_path)
    rows = [transaction(number, address(number), address((number + 1) % 40)) for number in range(40)]
    (tmp_path / "bucket" / "days").mkdir(parents=True)
    for part in range(2):
        write(tmp_path / "bucket" / "days" / f"{part}.parquet", rows[20 * part : 20 * part + 20])
    labels = [f"{address(number)},{'ab'[number % 2]}" for number in range(40)]
    (tmp_path / "bucket" / "labels.csv").write_text("\n".join(labels))
    addresses: list[str] = []

    def open_folder(address: str) -> tuple[fs.FileSystem, str]:
        addresses.append(address)
        return fs.LocalFileSystem(), str(tmp_path / address.partition("://")[2])

    monkeypatch.setattr(locations, "open_address", open_folder)
    return addresses


@pytest.mark.parametrize("scheme", ["s3", "s3a", "gs", "hdfs"])
def test_files_in_an_object_store_give_the_same_data_set(opened: list[str], scheme: str) -> None:
    local = ["ethereum", "build", "bucket/days", "--labels", "bucket/labels.csv", "--name", "one", "--quiet"]
    remote = [part.replace("bucket/", f"{scheme}://bucket/") for part in local]
    assert main([*local, "--out", "here"]) == 0
    assert opened == []
    assert main([*remote, "--out", "there"]) == 0
    kept = "s3" if scheme == "s3a" else scheme
    assert opened == [f"{kept}://bucket/days", f"{kept}://bucket/labels.csv"]
    here, there = load_folder("here"), load_folder("there")
    assert (here.digest, here.source) == (there.digest, there.source)
    assert sorted(path.name for path in Path().iterdir()) == ["bucket", "here", "there"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("s3://bucket/none.parquet", "s3://bucket/none.parquet: no such file"),
        ("file:///no/such/folder", "file:///no/such/folder: no such file"),
        ("nowhere://bucket/t.parquet", "nowhere://bucket/t.parquet: cannot be read ("),
    ],
)
def test_errors_name_the_address(
    opened: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    message: str,
) -> None:
    if not name.startswith("s3"):
        monkeypatch.setattr(locations, "open_address", fs.FileSystem.from_uri)
    assert main(["ethereum", "build", name, "--out", "out", "--quiet"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"mggcn: error: {message}")
    assert error.count("\n") == 1
    assert [path.name for path in Path().iterdir()] == ["bucket"]
