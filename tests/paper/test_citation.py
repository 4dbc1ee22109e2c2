"""MG-GCN on the paper's own data, where the files are at hand."""

import math
import statistics
from pathlib import Path

import pytest

import mggcn
from mggcn.experiments import read_records

RESULTS = Path(__file__).resolve().parents[2] / "results" / "accuracy.json"
SEEDS = 3


@pytest.mark.parametrize("layers", [1, 2, 3, 4])
def test_every_depth_trains_on_cora(data_root: Path, layers: int) -> None:
    run = mggcn.fit(
        mggcn.load("cora", root=data_root), settings={"layers": layers, "lr": 0.03, "epochs": 15}, preset="paper"
    )
    assert run.record.test_accuracy > 0.8


@pytest.mark.parametrize("name", ["cora", "citeseer", "pubmed"])
@pytest.mark.slow
def test_the_recorded_accuracy_is_reached(data_root: Path, name: str) -> None:
    """The mean of the first seeds is at most three standard errors of such a mean below the recorded mean of twenty.

    The seeds are among the twenty, so that on the machine of the records the difference is theirs; elsewhere rounding
    differs. The bounds are above every method that ignores the graph or the features, except on Pubmed.
    """
    [section] = [section for section in read_records([RESULTS]) if section.dataset == name]
    [row] = [row for row in section.rows if row.method == "mg-gcn"]
    recorded = [record.test_accuracy for record in row.records]
    assert len(recorded) == 20
    data = mggcn.load(name, root=data_root)
    reached = [
        mggcn.fit(data, settings=dict(row.settings), preset="paper", seed=seed, device="cpu").record.test_accuracy
        for seed in range(SEEDS)
    ]
    error = statistics.stdev(recorded) / math.sqrt(SEEDS)
    assert statistics.fmean(reached) >= statistics.fmean(recorded) - 3 * error
