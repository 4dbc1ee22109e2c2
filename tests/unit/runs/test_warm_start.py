"""Warm starts: a run begins where another one ended."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import mggcn
from mggcn.cli import main
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError, InputWarning
from mggcn.experiments._records import pack
from mggcn.experiments._records import read_records as read
from mggcn.keys import Key
from mggcn.methods.mg_gcn import MixGrained
from mggcn.nn.conv import MeanConv
from mggcn.runs import resolve
from mggcn.runs._matching import match_features
from mggcn.runs._plan import read_config
from mggcn.runs._run import Run
from mggcn.training import _environment as environment
from mggcn.training._inference import Inference
from tests.unit.runs.test_resume import Interrupt, result


def own_mean(in_channels: int, out_channels: int) -> MeanConv:
    return MeanConv(in_channels, out_channels)


SETTINGS = {"epochs": 5, "picks": 4, "hidden": 8, "portfolio": "none"}


@pytest.fixture(autouse=True)
def unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "reset_peak", lambda _: None)
    monkeypatch.setattr(environment, "describe", dict)


@pytest.fixture
def origin(small: Dataset, tmp_path: Path) -> Run:
    named = replace(small, feature_names=("a", "b", "c"))
    return mggcn.fit(named, settings=SETTINGS, device="cpu", checkpoint=tmp_path / "origin")


@pytest.fixture
def later(small: Dataset) -> Dataset:
    """The same kind of data with other values, and its columns in another order."""
    x = np.asarray(small.x)[:, [2, 0, 1]] * 1.2 + 0.1
    return replace(small, name="later", x=x.astype(np.float32), feature_names=("c", "a", "b"))


def test_before_the_first_step_scores_are_those_of_the_origin(origin: Run, later: Dataset) -> None:
    plan = resolve("mg-gcn", later, origin.record.settings, warm_start=origin.as_origin())
    compute = plan.compute(torch.device("cpu"))
    prepared = plan.prepare(
        match_features(later, origin.record.dataset), Key.of(0), compute, origin.model.state_dict(), origin.scaler
    )
    nodes = np.arange(later.num_nodes)
    scores = Inference(prepared.model, prepared.eval, Key.of(0), compute, plan.training.draws).predict(nodes)
    expected = origin.predict(later, calibrated=False, device="cpu").probabilities
    assert np.array_equal(scores.exp().numpy(), expected)


def test_a_warm_start_has_the_method_of_its_origin_and_names_it(origin: Run, later: Dataset, tmp_path: Path) -> None:
    run = mggcn.fit(later, warm_start=tmp_path / "origin", settings={"epochs": 2}, device="cpu")
    assert run.record.settings == {**origin.record.settings, "epochs": 2}
    assert run.record.warm_start == {
        "path": str((tmp_path / "origin").resolve()),
        "dataset": {"name": "small", "digest": origin.record.dataset["digest"]},
        "seed": 0,
        "weights": origin.as_origin()["weights"],
    }
    cold = mggcn.fit(later, settings={**SETTINGS, "epochs": 2}, device="cpu")
    assert run.record.curve[0].train_loss < cold.record.curve[0].train_loss
    run.save(tmp_path / "run")
    assert read_config(tmp_path / "run" / "config.toml").warm_start == str((tmp_path / "origin").resolve())
    again = mggcn.load_run(tmp_path / "run")
    assert np.array_equal(again.predict(later).probabilities, run.predict(later).probabilities)
    assert str(tmp_path) not in pack(read([tmp_path / "run"])), "packed records name no folders of this machine"


def test_a_warm_start_is_resumed(origin: Run, later: Dataset, tmp_path: Path) -> None:
    whole = mggcn.fit(later, warm_start=origin, settings={"epochs": 6}, device="cpu")
    for after in (1, 4):
        folder = tmp_path / f"run-{after}"
        with pytest.raises(KeyboardInterrupt):
            mggcn.fit(
                later,
                warm_start=origin,
                settings={"epochs": 6},
                device="cpu",
                checkpoint=folder,
                checkpoint_every=0,
                progress=Interrupt(after),
            )
        assert result(mggcn.resume(folder, later)) == result(whole)


def test_the_command_starts_from_a_run(small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mggcn.data import save

    monkeypatch.chdir(tmp_path)
    save(small, tmp_path / "data")
    train = ["train", "data", "--quiet", "--no-report", "--device", "cpu"]
    assert main([*train, "--set", "epochs=4", "picks=3", "--out", "first"]) == 0
    assert main([*train, "--warm-start", "first/small-mg-gcn-seed0", "--epochs", "2", "--out", "second"]) == 0
    second = mggcn.load_run("second/small-mg-gcn-seed0").record
    assert second.settings["picks"] == 3
    assert second.warm_start is not None
    config = ["train", "--config", "second/small-mg-gcn-seed0/config.toml", "--quiet", "--no-report", "--out", "third"]
    assert main(config) == 0
    weights = [path.read_bytes() for path in sorted(tmp_path.glob("*/small-mg-gcn-seed0/weights.safetensors"))]
    assert weights[1] == weights[2] != weights[0]


def test_what_does_not_fit_is_refused(origin: Run, small: Dataset, later: Dataset, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="later: classes x, y, z, but the run to start from has red, green, blue"):
        mggcn.fit(replace(later, classes=("x", "y", "z")), warm_start=origin)
    with pytest.raises(InputError, match="later: missing features that the run was trained on: 'a'"):
        mggcn.fit(replace(later, feature_names=("c", "d", "b")), warm_start=origin)
    with pytest.raises(InputError, match="weights: do not fit the model of mg-gcn"):
        mggcn.fit(later, warm_start=origin, settings={"hidden": 9})
    with pytest.raises(InputError, match="scaling: none, but the run to start from has standard"):
        mggcn.fit(later, warm_start=origin, settings={"scaling": "none"})
    with pytest.raises(InputError, match="mg-gcn was trained, so mlp cannot start from it"):
        mggcn.fit(later, "mlp", warm_start=origin)
    quick = {"epochs": 1}
    forest = mggcn.fit(small, "label-propagation", device="cpu")
    with pytest.raises(InputError, match="label-propagation has no weights to start from"):
        mggcn.fit(small, warm_start=forest)
    walks = mggcn.fit(small, "deepwalk", settings=quick, device="cpu")
    with pytest.raises(InputError, match="the weights of deepwalk fit only the graph"):
        mggcn.fit(small, warm_start=walks)
    unsaved = mggcn.fit(small, settings=quick, device="cpu")
    with pytest.raises(InputError, match="save the run first"):
        mggcn.fit(small, warm_start=unsaved)


def test_a_folder_that_names_code_is_loaded_by_the_user(small: Dataset, tmp_path: Path) -> None:
    own = MixGrained(conv=own_mean, picks=2)
    first = mggcn.fit(small, own, settings={"epochs": 1}, device="cpu", checkpoint=tmp_path / "own")
    advice = re.escape(f"give warm_start=mggcn.load_run({str(tmp_path / 'own')!r}, allow_import=True)")
    with pytest.raises(InputError, match=f"field conv names code to import .*; if you trust it, {advice}$"):
        mggcn.fit(small, warm_start=tmp_path / "own")
    loaded = mggcn.load_run(tmp_path / "own", allow_import=True)
    second = mggcn.fit(small, warm_start=loaded, settings={"epochs": 1}, device="cpu")
    assert second.record.warm_start["weights"] == first.as_origin()["weights"]


def test_columns_that_the_origin_does_not_have_are_ignored(origin: Run, later: Dataset) -> None:
    x = np.concatenate([np.asarray(later.x), np.ones((later.num_nodes, 1), np.float32)], axis=1)
    wider = replace(later, x=x, feature_names=(*later.feature_names, "d"))
    with pytest.warns(InputWarning, match="ignored features that the run was not trained on: 'd'"):
        run = mggcn.fit(wider, warm_start=origin, settings={"epochs": 1}, device="cpu")
    assert run.record.dataset["num_features"] == 3
