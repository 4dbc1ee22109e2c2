from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from mggcn.cli import main
from mggcn.data import load_folder, save, verify
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.graph import Graph
from tests import checksums


@pytest.fixture
def folder(small: Dataset, tmp_path: Path) -> Path:
    (tmp_path / "rows").write_bytes(b"rows of a table")
    data = replace(small, edge_attributes={"count": np.arange(small.graph.num_stored)})
    save(data, tmp_path / "d", tables={"rows.parquet": tmp_path / "rows"})
    return tmp_path / "d"


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def test_an_unchanged_folder(folder: Path) -> None:
    steps: list[tuple[str, int, int]] = []
    verified = verify(folder, lambda *step: steps.append(step))
    files = [path for path in folder.iterdir() if path.name != "meta.json"]
    assert verified.num_files == len(files)
    assert verified.num_bytes == sum(path.stat().st_size for path in files) == steps[-1][1] == steps[-1][2]
    assert verified.dataset.num_nodes == 60


@pytest.mark.parametrize("name", ["x.npy", "indices.npy", "indptr.npy", "y.npy", "edge_count.npy", "rows.parquet"])
def test_one_changed_bit_in_any_file(folder: Path, name: str) -> None:
    flip(folder / name)
    with pytest.raises(InputError, match=f"{folder}: sha256 of {name} differs from meta.json"):
        verify(folder)


@pytest.mark.parametrize("name", ["relation_indptr", "relation_indices", "relation_number", "relation_weight"])
def test_one_changed_bit_in_relations(small: Dataset, tmp_path: Path, name: str) -> None:
    source, target = small.graph.edges()
    kinds = np.arange(source.size) % 2
    weights = np.arange(1, source.size + 1)
    related = Graph.from_edges(source, target, 60, direction="directed", weight=weights, edge_type=kinds)
    save(replace(small, graph=related), tmp_path / "d")
    assert verify(tmp_path / "d").dataset.graph.schema == related.schema
    flip(tmp_path / "d" / f"{name}.npy")
    with pytest.raises(InputError, match=rf"sha256 of {name}\.npy differs from meta\.json"):
        verify(tmp_path / "d")


def test_all_damaged_files_are_named(folder: Path) -> None:
    for name in ("x.npy", "indices.npy"):
        flip(folder / name)
    with pytest.raises(InputError, match=r"sha256 of indices\.npy, x\.npy differs"):
        verify(folder)


def test_a_missing_table(folder: Path) -> None:
    (folder / "rows.parquet").unlink()
    with pytest.raises(InputError, match=r"rows\.parquet: missing"):
        verify(folder)


@pytest.mark.parametrize("change", [lambda content: content + b"more", lambda content: content[:-4]])
def test_mapping_checks_sizes(folder: Path, change: object) -> None:
    (folder / "x.npy").write_bytes(change((folder / "x.npy").read_bytes()))
    with pytest.raises(InputError, match=r"x\.npy: (cannot be read|\d+ bytes, but its header says \d+)"):
        load_folder(folder, mmap=True)
    with pytest.raises(InputError, match=r"x\.npy"):
        verify(folder)


def test_values_are_checked_if_the_description_was_edited(folder: Path) -> None:
    checksums.write(folder / "meta.json", checksums.values_of(folder / "meta.json") | {"classes": ["red"]})
    for read in (verify, partial(load_folder, mmap=True)):
        with pytest.raises(InputError, match="outside the 1 classes"):
            read(folder)


def test_the_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "verify", str(folder)]) == 0
    printed = capsys.readouterr()
    assert " files, " in printed.out
    assert printed.out.endswith(" bytes verified\n")
    assert "bytes: " in printed.err
    flip(folder / "x.npy")
    assert main(["data", "verify", str(folder), "--quiet"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"mggcn: error: {folder}: sha256 of x.npy differs")
    assert main(["data", "verify", str(folder.parent)]) == 2
    assert "not a dataset folder" in capsys.readouterr().err
