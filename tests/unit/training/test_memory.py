"""The peak memory of training leaves out preparing and evaluating, which the peak of the run includes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mggcn
from mggcn.data._dataset import Dataset
from mggcn.experiments import Ledger
from mggcn.experiments import _charts as charts
from mggcn.experiments._records import pack
from mggcn.experiments._records import read_records as read
from mggcn.experiments._report_tables import markdown
from mggcn.experiments._sections import Row, Section
from mggcn.training import _loop as loop
from mggcn.training._record import RunRecord
from tests import checksums
from tests.records import record

LARGE = 300 << 20


def test_evaluation_does_not_count_in_the_memory_of_training(small: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluate = loop.evaluate

    def with_a_large_array(*arguments: Any) -> Any:
        assert np.ones(LARGE, np.int8)[::4096].all()
        return evaluate(*arguments)

    before = mggcn.fit(small, "gcn", settings={"epochs": 2}, device="cpu").record
    monkeypatch.setattr(loop, "evaluate", with_a_large_array)
    after = mggcn.fit(small, "gcn", settings={"epochs": 2}, device="cpu").record
    assert before.training_memory_bytes is not None
    assert after.training_memory_bytes is not None
    assert after.peak_memory_bytes > before.peak_memory_bytes + LARGE // 2
    assert after.training_memory_bytes < before.training_memory_bytes + LARGE // 4
    assert 0 < before.training_memory_bytes <= before.peak_memory_bytes


def test_a_method_without_epochs_has_none(small: Dataset) -> None:
    assert mggcn.fit(small, "label-propagation", device="cpu").record.training_memory_bytes is None


def test_older_records_are_read_and_have_none(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    Ledger(path).add("s", record(training_memory_bytes=50 << 20))
    values = checksums.line_of(path.read_bytes().rstrip(b"\n"))
    del values["training_memory_bytes"]
    path.write_bytes(checksums.checksummed_line(values))
    assert Ledger(path).records["s"].training_memory_bytes is None


def test_tables_and_charts_show_it_where_it_is_known(tmp_path: Path) -> None:
    def section(*records: RunRecord) -> Section:
        return Section("cora", tuple(Row(each.method, each.method, "cpu", 1, (each,)) for each in records))

    known = section(record(training_memory_bytes=50 << 20), record("mlp", training_memory_bytes=40 << 20))
    mixed = section(record(training_memory_bytes=50 << 20), record("mlp"))
    unknown = section(record(), record("mlp"))
    assert "| 100 MiB | 50 MiB |" in markdown(known)
    assert "| 100 MiB | – |" in markdown(mixed)
    assert "memory in training" not in markdown(unknown)
    assert [row["memory"] for row in charts.rows_data(known)] == [50, 40]
    assert [row["memory"] for row in charts.rows_data(mixed)] == [100, 100]
    (tmp_path / "packed.json").write_text(pack([mixed]))
    [again] = read([tmp_path / "packed.json"])
    assert {row.method: row.figures.training_memory_bytes for row in again.rows} == {"gcn": 50 << 20, "mlp": None}
