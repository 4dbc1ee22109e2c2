"""What a GPU adds to the epoch section; the code runs on any device, here on the CPU."""

from pathlib import Path

import pytest
import torch

from benchmarks.speed import epoch, timing
from benchmarks.speed.options import Options
from benchmarks.speed.timing import Measurements
from mggcn.data import save
from mggcn.data._dataset import Dataset


@pytest.fixture
def measured(small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Measurements:
    monkeypatch.setattr(timing, "SIDE", 64)
    monkeypatch.setattr(timing, "BYTES", 1 << 12)
    stored = save(small, tmp_path / "data")
    measured = Measurements(facts={"rows": 30, "gathered_bytes": 1000, "operations": 5000})
    measured.add("epoch", "training epoch", [1.0])
    options = Options("epoch", str(tmp_path / "data"), repeats=2, settings={"epochs": 3, "picks": 2})
    epoch.measure_on_gpu(measured, options, stored, torch.device("cpu"))
    return measured


def test_the_floor_by_hand_is_the_longer_of_bytes_and_operations(measured: Measurements) -> None:
    reading, products = (measured.figures[name]["median"] for name in ("hand_reading", "hand_products"))
    assert reading == pytest.approx(1000 / measured.figures["copy"]["median"])
    assert products == pytest.approx(5000 / measured.figures["tf32"]["median"])
    assert measured.figures["hand"]["median"] == max(reading, products)
    assert measured.ratios["hand"]["value"] == pytest.approx(1.0 / max(reading, products))


def test_complete_trainings_are_timed_cold_and_warm(measured: Measurements) -> None:
    cold, warm = measured.facts["fits"]
    assert cold["epochs"] == warm["epochs"] == 3
    assert cold["test_accuracy"] == warm["test_accuracy"]
    assert measured.figures["fit"]["median"] == warm["total_seconds"] > 0
    assert measured.figures["fit_cold"]["median"] >= cold["total_seconds"]


def test_epochs_and_accuracy_are_measured_in_bf16_too(measured: Measurements) -> None:
    names = ("epoch_large", "epoch_bf16", "epoch_large_bf16")
    assert all(measured.figures[name]["median"] > 0 for name in names)
    assert [note.split(",")[0] for note in measured.notes] == ["test accuracy in tf32", "test accuracy in bf16"]
    assert all(note.endswith("%") for note in measured.notes)


def test_the_precision_of_products_is_left_as_it_was(measured: Measurements) -> None:
    assert torch.get_float32_matmul_precision() == "highest"


def test_a_profile_names_what_takes_the_time() -> None:
    x = torch.ones(300, 300)
    rows = timing.profile(lambda: x @ x, torch.device("cpu"))
    assert "mm" in rows[0]["name"]
    assert [row["ms"] for row in rows] == sorted((row["ms"] for row in rows), reverse=True)
    assert rows[0]["calls"] == 1
