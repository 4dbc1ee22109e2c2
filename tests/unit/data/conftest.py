from collections.abc import Callable
from pathlib import Path

import pytest

from mggcn.data import _planetoid as planetoid_files
from mggcn.errors import InputError
from tests.skips import real_data


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A per-user cache of this test alone, with neither network nor pip behind it."""

    def no_pip(arguments: list[str]) -> None:
        raise InputError(f"pip download: not in tests ({len(arguments)} arguments)")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("MGGCN_DATA", raising=False)
    monkeypatch.setenv("MGGCN_PLANETOID_URL", "http://127.0.0.1:9/data")
    monkeypatch.setattr(planetoid_files, "pip_download", no_pip)
    return tmp_path / "cache" / "mggcn"


@pytest.fixture
def real() -> Callable[[str], Path]:
    """Give the path of a real data file, or skip the test."""
    return real_data
