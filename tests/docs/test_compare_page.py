"""The page of comparisons is what its script makes of the kept results."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from mggcn.methods import METHODS

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def compare_page() -> ModuleType:
    spec = importlib.util.spec_from_file_location("compare_page", ROOT / "benchmarks" / "compare_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_generated_from_the_results(compare_page: ModuleType) -> None:
    assert (ROOT / "docs" / "compare.md").read_text() == compare_page.page()


@pytest.mark.parametrize("dataset", ["cora", "citeseer", "pubmed"])
def test_every_method_ran_to_the_end(compare_page: ModuleType, dataset: str) -> None:
    summaries = compare_page.summaries(compare_page.read("compare")[dataset])
    assert [one.method for one in summaries] == list(METHODS)
    assert all(one.done == one.seeds == 10 for one in summaries)
