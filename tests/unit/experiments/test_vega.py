"""The script of the charting library is bundled once and then read from the user's cache."""

from collections.abc import Iterator
from pathlib import Path

import pytest

vl_convert = pytest.importorskip("vl_convert")

from mggcn.experiments import _page as module  # noqa: E402


@pytest.fixture
def bundled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The bundles that are made, with an empty cache."""
    made: list[str] = []

    def bundle(exports: str, vl_version: str) -> str:
        made.append(vl_version)
        return f"{exports} // </script>"

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(vl_convert, "javascript_bundle", bundle)
    module.vega.cache_clear()
    yield made
    module.vega.cache_clear()


def fresh() -> str:
    """The script as another process gets it."""
    module.vega.cache_clear()
    return module.vega()


def test_is_bundled_once(bundled: list[str]) -> None:
    scripts = {fresh() for _ in range(3)}
    assert scripts == {"window.vegaEmbed = vegaEmbed; // <\\/script>"}
    assert len(bundled) == 1


@pytest.mark.parametrize("damage", [b"", b"{}", b'{"script": "alert(1)"}', b'{"checksum": "00",\n"script": ""}'])
def test_a_damaged_file_is_made_again(bundled: list[str], tmp_path: Path, damage: bytes) -> None:
    script = fresh()
    (file,) = (tmp_path / "mggcn").glob("vega-*.json")
    file.write_bytes(damage)
    assert fresh() == script
    assert len(bundled) == 2
    assert fresh() == script
    assert len(bundled) == 2


def test_a_cache_that_cannot_be_written_is_no_error(
    bundled: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert "vegaEmbed" in fresh()
    assert len(bundled) == 1
