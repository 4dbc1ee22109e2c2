import os
from importlib import metadata
from pathlib import Path

import pytest

from mggcn.cli import doctor

LINES = [
    "numpy>=2.0",
    'pyarrow>=17; extra == "parquet"',
    "ibis-framework[duckdb]>=10; extra == 'ethereum'",
    'mggcn[parquet]; extra == "ethereum"',
    'mggcn[ethereum,parquet]; extra == "test"',
    "triton>=3.0; (sys_platform == 'linux') and extra == 'test'",
    "nothing>=1; (sys_platform == 'plan9') and extra == 'test'",
]


def test_requirements_by_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.sys, "platform", "linux")
    assert doctor._requirements(LINES) == {
        "": ["numpy"],
        "parquet": ["pyarrow"],
        "ethereum": ["ibis-framework"],
        "test": ["triton"],
    }


def test_missing_packages() -> None:
    state = doctor._examine(None) | {"extras": {"x": {"numpy": "2.0", "nowhere": None}, "y": {"numpy": "2.0"}}}
    lines = doctor._lines(state)
    assert "  x                   missing nowhere: pip install 'mggcn[x]'" in lines
    assert "  y                   numpy 2.0" in lines


def test_folders_are_writable_or_not(tmp_path: Path) -> None:
    assert doctor._folder(tmp_path / "new" / "folder")["writable"]
    (tmp_path / "file").write_text("")
    assert not doctor._folder(tmp_path / "file")["writable"]
    if os.geteuid() != 0:
        tmp_path.chmod(0o500)
        assert not doctor._folder(tmp_path)["writable"]


def test_it_runs_from_a_source_tree_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = metadata.distribution

    def distribution(name: str) -> metadata.Distribution:
        if name == "mggcn":
            raise metadata.PackageNotFoundError(name)
        return installed(name)

    monkeypatch.setattr(metadata, "distribution", distribution)
    assert doctor.version().startswith("mggcn not installed, run from its source\n")
    state = doctor._examine(None)
    assert (state["packages"], state["extras"]) == ({}, {})
