"""Ensembles: the mean probabilities of runs, and which runs cannot be averaged."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mggcn
from mggcn.data import save
from mggcn.data._dataset import Dataset
from mggcn.data._split import Split
from mggcn.errors import InputError
from mggcn.methods import _fine as fine
from mggcn.methods.mlp import FeatureMLP
from mggcn.runs import _run
from mggcn.runs._run import Ensemble


def fit(data: Dataset, seed: int = 0, method: str = "mlp", **settings: object) -> mggcn.Run:
    return mggcn.fit(data, method, settings={"epochs": 2, "lr": 0.1, **settings}, seed=seed, device="cpu")


def test_the_mean_of_calibrated_probabilities(small: Dataset) -> None:
    runs = [fit(small), fit(small, 1), fit(small, 2, "mg-gcn")]
    each = [run.predict(device="cpu").probabilities for run in runs]
    together = Ensemble(runs).predict(device="cpu")
    np.testing.assert_allclose(together.probabilities, np.mean(each, axis=0), rtol=1e-12)
    assert together.classes == small.classes
    some = Ensemble(runs).predict(ids=iter(["node-7", "node-3"]), device="cpu")
    assert some.ids.tolist() == ["node-7", "node-3"]
    np.testing.assert_allclose(some.probabilities, together.probabilities[[7, 3]], rtol=1e-6)
    raw = [run.predict(calibrated=False, device="cpu").probabilities for run in runs]
    np.testing.assert_allclose(
        Ensemble(runs).predict(calibrated=False, device="cpu").probabilities, np.mean(raw, axis=0)
    )


def test_of_one_run_and_of_another_graph(small: Dataset) -> None:
    runs = [fit(small), fit(small, 1)]
    alone = Ensemble(runs[:1]).predict(device="cpu").probabilities
    assert np.array_equal(alone, runs[0].predict(device="cpu").probabilities)
    new = replace(small, name="new", x=small.x * 2, split=None)
    each = [run.predict(new, device="cpu").probabilities for run in runs]
    np.testing.assert_allclose(Ensemble(runs).predict(new, device="cpu").probabilities, np.mean(each, axis=0))


def test_runs_that_read_a_graph_alike_prepare_it_together(small: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [fit(small, seed, "mg-gcn", portfolio="none") for seed in range(3)]
    other = fit(replace(small, x=small.x * 3 + 1), 0, "mg-gcn", portfolio="none", scaling="standard")
    new, calls, compute = replace(small, name="new"), [], fine.neighbour_mean
    each = [run.predict(new, device="cpu").probabilities for run in (*runs, other)]
    monkeypatch.setattr(fine, "neighbour_mean", lambda *args, **names: calls.append(args) or compute(*args, **names))
    for run in (*runs, other):
        run.prepared.clear()
    together = Ensemble([*runs, other]).predict(new, device="cpu").probabilities
    np.testing.assert_allclose(together, np.mean(each, axis=0), rtol=1e-12)
    assert len(calls) == 2, "the last run has another scaling"


def test_an_explanation_is_the_mean_of_those_of_the_runs(small: Dataset) -> None:
    runs = [fit(small), fit(small, 1), fit(small, 2, "mg-gcn", picks=3)]
    each = [run.explain(node=5, label="green") for run in runs]
    together = Ensemble(runs).explain(node=5, label="green")
    for name in ("target", "others", "probabilities", "value", "baseline"):
        expected = np.mean([getattr(one, name) for one in each], axis=0)
        np.testing.assert_allclose(getattr(together, name), expected, rtol=1e-9)
    assert together.pick_ids == each[2].pick_ids, "only one of the runs has picks"
    np.testing.assert_allclose([pick.changes for pick in together.picks], [pick.changes for pick in each[2].picks])
    unlabelled = Ensemble(runs).explain(node=5)
    assert unlabelled.label == Ensemble(runs).predict(nodes=[5], device="cpu").class_index[0]


def test_representations_of_several_models_have_no_mean(small: Dataset) -> None:
    runs = [fit(small), fit(small, 1)]
    with pytest.raises(InputError, match=r"^embed: the representations of 2 models have no mean; name one run$"):
        Ensemble(runs).embed(nodes=[5])
    alone = Ensemble(runs[:1]).embed(nodes=[5], device="cpu")
    assert np.array_equal(alone.values, runs[0].embed(nodes=[5], device="cpu").values)


def test_a_graph_is_prepared_and_the_training_data_loaded_once(
    small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = fit(save(small, tmp_path / "data")).save(tmp_path / "run").path
    done: list[str] = []
    prepare, load = FeatureMLP.prepare, _run.load_with
    monkeypatch.setattr(FeatureMLP, "prepare", lambda self, view: done.append("prepared") or prepare(self, view))
    monkeypatch.setattr(_run, "load_with", lambda *args, **named: done.append("loaded") or load(*args, **named))
    model, new = Ensemble([mggcn.load_run(folder)]), replace(small, name="new", x=small.x * 2, split=None)
    model.embed(new, device="cpu")
    model.predict(new, device="cpu")
    assert done == ["prepared"]
    for _ in range(2):
        model.predict(new, draws=2, at_precision=0.5, device="cpu")
    assert done == ["prepared", "loaded", "prepared"]


def test_runs_that_cannot_be_averaged(small: Dataset) -> None:
    run = fit(small)
    others = {
        "classes red, green, grey, but run 1 has red, green, blue": replace(small, classes=("red", "green", "grey")),
        "number of features 2, but run 1 has 3": replace(small, x=small.x[:, :2].copy()),
        "feature names a, b, c, but run 1 has none": replace(small, feature_names=("a", "b", "c")),
        "training data other, ": replace(small, name="other"),
        "training data small, ": small.with_split(Split.stratified(small.y, seed=3)),
    }
    for message, data in others.items():
        with pytest.raises(InputError, match=f"^run 2: {message}.*; an ensemble needs the same$"):
            Ensemble([run, fit(data)]).predict(device="cpu")
    with pytest.raises(InputError, match=r"^ensemble: name at least one run$"):
        Ensemble([])
