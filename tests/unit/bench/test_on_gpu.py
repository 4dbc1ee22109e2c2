"""What a GPU adds to the epoch section: its code runs on any device, so here on the CPU."""

from pathlib import Path

import pytest
import torch

from mggcn import storage
from mggcn.bench import Options, bandwidth, on_gpu, profile
from mggcn.bench.sheet import Sheet
from mggcn.dataset import Dataset


@pytest.fixture
def sheet(small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sheet:
    monkeypatch.setattr(bandwidth, "_SIDE", 64)
    monkeypatch.setattr(bandwidth, "_BYTES", 1 << 12)
    stored = storage.save(small, tmp_path / "data")
    sheet = Sheet(facts={"rows": 30, "gathered_bytes": 1000, "operations": 5000})
    sheet.put("epoch", "training epoch", [1.0])
    options = Options("epoch", str(tmp_path / "data"), repeats=2, settings={"epochs": 3, "picks": 2})
    on_gpu.measure(sheet, options, stored, torch.device("cpu"))
    return sheet


def test_the_floor_by_hand_is_the_longer_of_bytes_and_operations(sheet: Sheet) -> None:
    reading, products = (sheet.figures[name]["median"] for name in ("hand_reading", "hand_products"))
    assert reading == pytest.approx(1000 / sheet.figures["copy"]["median"])
    assert products == pytest.approx(5000 / sheet.figures["tf32"]["median"])
    assert sheet.figures["hand"]["median"] == max(reading, products)
    assert sheet.ratios["hand"]["value"] == pytest.approx(1.0 / max(reading, products))


def test_training_to_the_end_is_told_cold_and_warm(sheet: Sheet) -> None:
    cold, warm = sheet.facts["fits"]
    assert cold["epochs"] == warm["epochs"] == 3
    assert cold["test_accuracy"] == warm["test_accuracy"]
    assert sheet.figures["fit"]["median"] == warm["total_seconds"] > 0
    assert sheet.figures["fit_cold"]["median"] >= cold["total_seconds"]


def test_the_precision_of_products_is_left_as_it_was(sheet: Sheet) -> None:
    assert torch.get_float32_matmul_precision() == "highest"


def test_a_profile_names_what_takes_the_time() -> None:
    x = torch.ones(300, 300)
    rows = profile.of(lambda: x @ x, torch.device("cpu"))
    assert "mm" in rows[0]["name"]
    assert [row["ms"] for row in rows] == sorted((row["ms"] for row in rows), reverse=True)
    assert rows[0]["calls"] == 1
