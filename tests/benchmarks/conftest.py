"""Fixtures that keep the measurements small."""

from pathlib import Path

import pytest

from benchmarks.speed import timing


@pytest.fixture(scope="session")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root for generated graphs, shared by the tests."""
    return tmp_path_factory.mktemp("generated")


@pytest.fixture(autouse=True)
def _light(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "BYTES", 1 << 22)
