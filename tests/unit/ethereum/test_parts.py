"""The rows of stages in their order, and tables whose bytes depend on their rows only."""

import threading
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from mggcn._io.locations import Location
from mggcn.ethereum import _assembly
from mggcn.ethereum._assembly import in_order, over_rows, write_table

TYPES = {"number": "int64", "text": "string"}
SCHEMA = pa.schema({"number": pa.int64(), "text": pa.string()})


def columns(start: int, stop: int) -> list[Any]:
    numbers = np.arange(start, stop)
    return [pa.array(numbers), pa.array([f"{number % 7}" if number % 3 else None for number in numbers])]


@pytest.mark.parametrize("threads", [1, 3])
def test_rows_of_many_files_come_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    monkeypatch.setattr(_assembly, "available", lambda: threads)
    monkeypatch.setattr(_assembly, "_ROWS", 8)
    bounds = [0, 5, 5, 40, 41, 100]
    files = []
    for number, (start, stop) in enumerate(pairwise(bounds)):
        files.append(Location.of(tmp_path / f"{number}.parquet"))
        parquet.write_table(pa.table(columns(start, stop), schema=SCHEMA), files[-1].path, row_group_size=8)
    numbers = []
    for first_row, part in over_rows(files, lambda batch, first: (first, batch["number"].to_pylist()), ["number"]):
        assert first_row == part[0] == len(numbers)
        assert len(part) <= 8
        numbers += part
    assert numbers == list(range(100))


def test_few_results_wait_and_an_error_ends_all() -> None:
    started: list[int] = []
    lock = threading.Lock()

    def call(number: int) -> int:
        with lock:
            started.append(number)
        if number == 9:
            raise ValueError("nine")
        return -number

    results = in_order(call, range(1000), threads=2)
    assert [next(results), next(results)] == [0, -1]
    assert len(started) <= 4
    with pytest.raises(ValueError, match="nine"):
        list(results)
    assert len(started) <= 12


@pytest.mark.parametrize("size", [1, 10, 37, 200])
def test_the_bytes_of_a_table_depend_on_its_rows_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(_assembly, "_ROWS", 20)
    for name, step in (("parts", size), ("whole", 95)):
        parts = (columns(start, min(start + step, 95)) for start in range(0, 95, step))
        write_table(tmp_path / name, TYPES, parts)
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()
    assert parquet.read_table(tmp_path / "parts").equals(pa.table(columns(0, 95), schema=SCHEMA))
    groups = parquet.read_metadata(tmp_path / "parts")
    assert [groups.row_group(number).num_rows for number in range(groups.num_row_groups)] == [20, 20, 20, 20, 15]
