"""``benchmarks/recipes.py``: cross-validation without the test nodes."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import mggcn

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "benchmarks" / "recipes.py"
RECIPES = """
[common]
epochs = 1
[[recipe]]
picks = 2
[[recipe]]
hidden = 0
[space]
dropout = [0.1, 0.2]
"""


@pytest.fixture(scope="module")
def recipes() -> ModuleType:
    spec = importlib.util.spec_from_file_location("recipes", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_folds_cover_the_labelled_nodes_once_and_no_test_node(recipes: ModuleType) -> None:
    data = mggcn.load("digits")
    measured = []
    for fold in range(3):
        part = recipes.folded("digits", fold, 3)
        used = np.concatenate([part.split.train, part.split.val, part.split.test])
        assert np.unique(used).size == used.size
        assert not np.isin(used, data.split.test).any()
        assert (part.y[data.split.test] == -1).all()
        measured.append(part.split.test)
    assert np.array_equal(np.sort(np.concatenate(measured)), np.union1d(data.split.train, data.split.val))


def test_recipes_are_listed_and_drawn(recipes: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "recipes.toml"
    path.write_text(RECIPES)
    listed, drawn = recipes.candidates(path, 0, 0), recipes.candidates(path, 4, 0)[2:]
    assert listed == [{"epochs": 1, "picks": 2}, {"epochs": 1, "hidden": 0}]
    assert drawn == recipes.candidates(path, 4, 0)[2:]
    assert all(recipe["dropout"] in (0.1, 0.2) and recipe["epochs"] == 1 for recipe in drawn)


def test_it_measures_and_goes_on_when_a_recipe_fails(tmp_path: Path) -> None:
    (tmp_path / "recipes.toml").write_text(RECIPES)
    call = [sys.executable, SCRIPT, "recipes.toml", "digits", "--folds", "2", "--jobs", "1", "--preset", "paper"]
    out = subprocess.run(call, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    rows = [json.loads(line) for line in (tmp_path / "recipes.jsonl").read_text().splitlines()]
    assert [(row["fold"], row["settings"]["picks"], row["epochs"]) for row in rows] == [(0, 2, 1), (1, 2, 1)]
    assert out.count("failed: hidden: 0 is less than 1") == 2
    assert f"{np.mean([row['accuracy'] for row in rows]):7.2%}  2 runs" in out
