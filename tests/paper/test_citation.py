"""MG-GCN on the paper's own data, where the files are at hand."""

from pathlib import Path

import pytest

import mggcn


@pytest.mark.parametrize("layers", [1, 2, 3, 4])
def test_every_depth_trains_on_cora(data_root: Path, layers: int) -> None:
    run = mggcn.fit(mggcn.load("cora", root=data_root), settings={"layers": layers, "lr": 0.03, "epochs": 15})
    assert run.record.test_accuracy > 0.8


@pytest.mark.parametrize(("name", "least"), [("cora", 0.835), ("citeseer", 0.76)])
def test_the_papers_accuracy_is_in_reach(data_root: Path, name: str, least: float) -> None:
    """One seed, so the bound is three deviations under the mean of twenty."""
    assert mggcn.fit(mggcn.load(name, root=data_root), seed=1).record.test_accuracy >= least
