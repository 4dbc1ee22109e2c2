"""``docs/speed.md`` is what its script makes of the committed records."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def speed_page() -> ModuleType:
    spec = importlib.util.spec_from_file_location("speed_page", ROOT / "benchmarks" / "speed_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_generated_from_the_records(speed_page: ModuleType) -> None:
    records = speed_page.read()
    assert {record["what"] for record in records} >= {"pick", "prepare", "epoch"}
    assert (ROOT / "docs" / "speed.md").read_text() == speed_page.page(records)


def test_every_command_and_machine_is_on_the_page(speed_page: ModuleType) -> None:
    text = (ROOT / "docs" / "speed.md").read_text()
    for record in speed_page.read():
        assert record["command"] in text
        assert record["machine"].get("gpu", record["machine"]["processor"]) in text
        for note in record["notes"]:
            assert note in text
