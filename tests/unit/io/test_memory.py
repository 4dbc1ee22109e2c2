"""Too little memory is one line that says what was requested, before it is allocated."""

import io
import resource
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from mggcn._io import memory
from mggcn.cli import main
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.kernels.pick import PickTable
from mggcn.keys import Key

EDGES = np.array([[0, 1, 2], [1, 2, 3]])
FIELDS = {"num_nodes": np.array(6), "edge_index": EDGES, "x": np.ones((6, 2), np.float32), "y": np.arange(6) % 2}


def test_what_does_not_fit_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available", lambda: 1 << 30)
    memory.require(1 << 30, "a graph")
    with pytest.raises(InputError, match="a graph: needs 2 GiB of memory, and 1 GiB are available"):
        memory.require(1 << 31, "a graph")
    monkeypatch.setattr(memory, "available", lambda: None)
    memory.require(1 << 60, "where the system does not say")


def test_the_available_memory_is_a_number_of_bytes() -> None:
    free = memory.available()
    assert free is None or 0 <= free < 1 << 60


@pytest.mark.parametrize(
    ("num_bytes", "text"), [(0, "0 bytes"), (1023, "1,023 bytes"), (1536, "1.5 KiB"), (1 << 50, "1,024 TiB")]
)
def test_sizes_are_readable(num_bytes: int, text: str) -> None:
    assert memory.size(num_bytes) == text


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (MemoryError(), "an allocation failed"),
        (MemoryError("Unable to allocate 8.00 TiB"), "Unable to allocate 8.00 TiB"),
        (ImportError("x.so: failed to map segment from shared object"), "a library cannot be loaded (x.so: failed"),
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), "CUDA out of memory. Tried to allocate 2 GiB"),
        (RuntimeError("another one"), ""),
        (ImportError("No module named x"), ""),
    ],
)
def test_errors_that_are_a_lack_of_memory(error: BaseException, text: str) -> None:
    shown = memory.shortage(error)
    assert shown.startswith(text)
    assert bool(shown) == bool(text)


def test_a_graph_is_refused_for_what_building_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available", lambda: 23 * 10**8)
    with pytest.raises(InputError, match=r"a graph of 100,000,000 nodes: needs 3 GiB of memory, and 2\.1 GiB are"):
        Graph.from_edges([0], [1], 10**8)


def test_torch_says_what_it_could_not_allocate() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(1 << 50)
    assert memory.shortage(caught.value) == "Unable to allocate 4,096 TiB"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_nodes": np.array(2**40)}, "edge_index: num_nodes: a graph of 1,099,511,627,776 nodes: needs 32 TiB"),
        ({"num_nodes": np.array(2**64 - 1, np.uint64)}, "edge_index: num_nodes: a graph of 18,446,744,073,709,551,615"),
        ({"y": np.array([0, 1, 0, 1, 0, 10**9])}, "y of node 5 is 1000000000, and a data set has at most 10,000"),
        ({"y": np.array([0, 1, 0, 1, 0, 10**7])}, "y of node 5 is 10000000, and a data set has at most 10,000 classes"),
    ],
)
def test_an_import_of_what_is_too_large_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, np.ndarray], message: str
) -> None:
    np.savez(tmp_path / "d.npz", **(FIELDS | changes))
    assert main(["data", "import", str(tmp_path / "d.npz"), "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"mggcn: error: {tmp_path / 'd.npz'}: {message}")
    assert error.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["d.npz"]


def test_an_array_that_the_file_cannot_hold_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    header = io.BytesIO()
    shape = (6, 600_000_000)
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": shape})
    with zipfile.ZipFile(tmp_path / "d.npz", "w") as archive:
        for name, array in FIELDS.items():
            content = io.BytesIO()
            np.save(content, array)
            archive.writestr(f"{name}.npy", header.getvalue() + bytes(4000) if name == "x" else content.getvalue())
    assert main(["data", "import", str(tmp_path / "d.npz"), "--out", str(tmp_path / "out")]) == 2
    assert "d.npz: x: EOF: reading array data" in capsys.readouterr().err


def test_more_picks_than_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available", lambda: 1 << 30)
    table = PickTable.of(Graph.from_edges([0], [1], 2))
    with pytest.raises(InputError, match="2 targets with 1,000,000,000 picks each: needs 7"):
        table.draw(np.array([0, 1]), 10**9, Key.of(0))


def test_a_data_set_has_a_bounded_number_of_classes(small: Dataset) -> None:
    with pytest.raises(InputError, match="classes: 10,001 are more than 10,000"):
        Dataset("many", small.graph, small.x, small.y, tuple(map(str, range(10_001))))


@pytest.mark.slow
def test_a_small_address_space_ends_with_one_line_and_does_not_spin(tmp_path: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (1_350_000 << 10,) * 2)

    done = subprocess.run(
        [sys.executable, "-m", "mggcn", "train", "digits", "--out", str(tmp_path / "runs")],
        preexec_fn=limit,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("mggcn: error: ")
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
