"""Exported models: loaded with torch.export alone, they give the log-probabilities of the run."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

import mggcn
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError

NODES = [5, 58, 7, 59]  # node 59 has no neighbours


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("method", "settings", "shape"),
    [
        ("mg-gcn", {"picks": 4}, (5, 6)),
        ("mg-gcn", {"picks": 4, "skip_self": False, "bias": True}, (5, 6)),
        ("mg-gcn", {"conv": "gcn"}, (6, 6)),
        ("mg-gcn", {"conv": "pool"}, (6, 6)),
        ("mg-gcn", {"conv": "gat"}, (6, 6)),
        ("mg-gcn", {"padding": "none"}, (6, 6)),
        ("mg-gcn", {"padding": "none", "skip_self": False, "conv": "pool"}, (6, 6)),
        ("mg-gcn", {"padding": "none", "skip_self": False, "explore": "breadth"}, (6, 6)),
        ("mg-gcn", {"layers": 1}, (6,)),
        ("mg-gcn", {"picks": 4, "hops": 3, "fine_norm": "half", "explore": "breadth"}, (5, 12)),
        ("mg-gcn", {"layers": 1, "hops": 2}, (9,)),
        ("mlp", {}, (3,)),
        ("sgc", {}, (3,)),
        ("sign", {"hops": 3}, (12,)),
        ("sagn", {"heads": 2}, (12,)),
        ("gamlp", {"hops": 2}, (9,)),
        ("gamlp", {"hops": 2, "attention": "recursive"}, (9,)),
    ],
)
def test_exported_models_score_as_the_run(
    small: Dataset, tmp_path: Path, method: str, settings: dict[str, object], shape: tuple[int, ...], sparse: bool
) -> None:
    data = replace(small, x=csr_array(np.where(small.x > 1, small.x, 0))) if sparse else small
    trained = mggcn.fit(data, method, device="cpu", settings={"epochs": 5, "lr": 0.05, **settings}, preset="paper")
    run = replace(trained, record=replace(trained.record, temperature=1.7))
    run.export(tmp_path / "model.pt2", batch_size=4)
    model = torch.export.load(tmp_path / "model.pt2").module()
    (rows,) = run.rows(nodes=NODES)
    assert rows.shape == (4, *shape)
    expected = run.predict(nodes=NODES, device="cpu").probabilities
    np.testing.assert_allclose(model(rows).detach().numpy(), np.log(expected), rtol=1e-4, atol=1e-6)
    assert np.ptp(expected, axis=0).max() > 0.01, "scores differ between nodes"


def test_a_run_from_disk_is_exported_without_its_data(small: Dataset, tmp_path: Path) -> None:
    run = mggcn.fit(small, device="cpu", settings={"epochs": 2}, preset="paper")
    mggcn.load_run(run.save(tmp_path / "run").path).export(tmp_path / "model.pt2")
    model = torch.export.load(tmp_path / "model.pt2").module()
    expected = run.predict(ids=["node-5"], device="cpu").probabilities
    np.testing.assert_allclose(model(*run.rows(ids=["node-5"])).exp().detach().numpy(), expected, rtol=1e-5)


def test_an_exported_model_of_our_recipe_scores_one_draw(small: Dataset, tmp_path: Path) -> None:
    run = mggcn.fit(small, device="cpu", settings={"epochs": 2})
    assert run.record.settings["draws"] > 1
    run.export(tmp_path / "model.pt2", batch_size=4)
    scores = torch.export.load(tmp_path / "model.pt2").module()(*run.rows(nodes=NODES))
    powers = run.predict(nodes=NODES, draws=1, calibrated=False, device="cpu").probabilities ** (
        1 / run.record.temperature
    )
    np.testing.assert_allclose(scores.exp().detach().numpy(), powers / powers.sum(axis=1, keepdims=True), rtol=1e-4)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"layers": 3}, "mg-gcn: cannot be exported with fine and coarse and skip layers, only with fine and skip"),
        ({"skip": False}, "mg-gcn: cannot be exported with fine and near layers"),
        ({"fine": False}, "mg-gcn: cannot be exported with coarse and skip layers"),
        (
            {"weigh_picks": True},
            "mg-gcn: cannot be exported with weigh_picks, because weights differ from batch to batch",
        ),
        ({"conv": "lstm"}, "mg-gcn: cannot be exported with this convolution"),
    ],
)
def test_settings_without_fixed_shapes(
    small: Dataset, tmp_path: Path, settings: dict[str, object], message: str
) -> None:
    run = mggcn.fit(small, device="cpu", settings={"epochs": 1, **settings})
    with pytest.raises(InputError, match=message):
        run.export(tmp_path / "model.pt2")
    assert not (tmp_path / "model.pt2").exists()


def test_bad_arguments(small: Dataset, tmp_path: Path) -> None:
    run = mggcn.fit(small, device="cpu", settings={"epochs": 1})
    with pytest.raises(InputError, match=r"model\.pt: an exported model is written as \.pt2, not \.pt"):
        run.export(tmp_path / "model.pt")
    with pytest.raises(InputError, match="batch_size: 0 is less than 1"):
        run.export(tmp_path / "model.pt2", batch_size=0)
