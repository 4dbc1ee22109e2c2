"""The post-step of runs: what it reads, what it leaves alone, and its figures in the record."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mggcn
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.methods.plan import known_labels
from mggcn.runs._spec import RunSpec
from mggcn.sampling.adjacency import propagation
from mggcn.training import _smoothing as smoothing
from mggcn.training._record import RunRecord

SETTINGS = {"epochs": 3, "lr": 0.1, "draws": 2}


def fit(data: Dataset, method: str = "mg-gcn", **settings: object) -> mggcn.Run:
    own = SETTINGS if method == "mg-gcn" else {}
    return mggcn.fit(data, method, settings={**own, "smooth": True, **settings}, preset="paper", device="cpu")


def relabelled(data: Dataset, nodes: np.ndarray) -> Dataset:
    """The same data with other labels of some nodes."""
    y = data.y.copy()
    y[nodes] = (y[nodes] + 1) % data.num_classes
    return replace(data, y=y)


def test_the_record_has_the_figures_of_the_equation(small: Dataset) -> None:
    run, split = fit(small), small.split
    result = run.record.smoothed
    assert result is not None
    assert result.share in smoothing.SHARES
    start = smoothing.with_labels(run.predict(device="cpu").probabilities, known_labels(small))
    expected = smoothing.smoothed(propagation(small.graph), start, result.share)
    for nodes, accuracy in ((split.val, result.val_accuracy), (split.test, result.test_accuracy)):
        assert (expected[nodes].argmax(axis=1) == small.y[nodes]).mean() == accuracy
    predicted = run.predict(smooth=True, device="cpu")
    assert np.array_equal(predicted.probabilities, expected)
    some = run.predict(nodes=[40, 3], smooth=True, device="cpu")
    assert np.array_equal(some.probabilities, expected[[40, 3]]), "one node depends on all others"


def test_the_model_and_its_figures_do_not_depend_on_it(small: Dataset) -> None:
    with_it, without = fit(small), fit(small, smooth=False)
    assert without.record.smoothed is None
    for name in ("val_loss", "val_accuracy", "test_accuracy", "test_macro_f1", "test_confusion", "temperature"):
        assert getattr(with_it.record, name) == getattr(without.record, name)
    assert np.array_equal(with_it.predict(device="cpu").probabilities, without.predict(device="cpu").probabilities)


def test_the_best_share_is_never_worse_on_validation_nodes_than_none(small: Dataset) -> None:
    run = fit(small)
    assert run.record.smoothed.val_accuracy >= run.record.val_accuracy


@pytest.mark.parametrize("inductive", [False, True])
def test_labels_of_test_nodes_have_no_influence(small: Dataset, inductive: bool) -> None:
    small = replace(small, inductive=inductive)
    run, other = fit(small), fit(relabelled(small, small.split.test))
    assert run.record.smoothed.share == other.record.smoothed.share
    assert run.record.smoothed.val_accuracy == other.record.smoothed.val_accuracy
    assert run.record.smoothed.test_accuracy != other.record.smoothed.test_accuracy, "which they are compared with"
    same = (one.predict(smooth=True, device="cpu").probabilities for one in (run, other))
    assert np.array_equal(*same)


def test_labels_of_validation_nodes_choose_the_share_only(small: Dataset) -> None:
    run = fit(small)
    hidden = np.concatenate([small.split.val, small.split.test])
    again = run.predict(relabelled(small, hidden), smooth=True, device="cpu").probabilities
    assert np.array_equal(again, run.predict(smooth=True, device="cpu").probabilities)
    trained = run.predict(relabelled(small, small.split.train), smooth=True, device="cpu").probabilities
    assert not np.array_equal(again, trained)


@pytest.mark.parametrize("method", ["label-propagation", "random-forest", "sgc"])
def test_other_methods(small: Dataset, method: str) -> None:
    assert 0 <= fit(small, method).record.smoothed.test_accuracy <= 1


def test_another_graph_has_its_own_labels(small: Dataset) -> None:
    run = fit(small)
    renamed = replace(small, name="new", classes=("blue", "green", "red"), y=2 - small.y)
    same = (run.predict(data, smooth=True, device="cpu").probabilities for data in (small, renamed))
    assert np.array_equal(*same), "labels are matched by the names of classes"
    unsplit = run.predict(replace(small, name="new", split=None), smooth=True, device="cpu")
    assert (unsplit.labels == small.y).mean() > 0.9, "all labels are known"


def test_what_cannot_be_smoothed_is_an_error_of_one_line(small: Dataset, tmp_path: Path) -> None:
    run = fit(small)
    unlabelled = replace(small, name="new", y=np.full(60, -1), split=None)
    with pytest.raises(InputError, match=r"^smooth: new has no training labels to smooth scores from$"):
        run.predict(unlabelled, smooth=True, device="cpu")
    with pytest.raises(InputError, match=r"^smooth: needs calibrated probabilities; .*calibrated=False$"):
        run.predict(smooth=True, calibrated=False, device="cpu")
    saved = fit(small, smooth=False).save(tmp_path / "run")
    with pytest.raises(InputError, match=r"^smooth: .*run was trained without it; train with the setting smooth=true$"):
        saved.predict(smooth=True, device="cpu")


def test_records_with_and_without_it_are_read(small: Dataset, tmp_path: Path) -> None:
    run = fit(small)
    loaded = mggcn.load_run(run.save(tmp_path / "run").path)
    assert loaded.record == run.record
    again = replace(loaded, dataset=small)
    found, expected = (one.predict(smooth=True, device="cpu").probabilities for one in (again, run))
    assert np.array_equal(found, expected)
    older = {name: value for name, value in vars(run.record).items() if name != "smoothed"}
    older["curve"] = []
    assert RunRecord.of(older).smoothed is None
    with pytest.raises(ValueError, match="smoothed"):
        RunRecord.of({**older, "smoothed": {"share": "much"}})


def test_runs_without_it_keep_their_digest(small: Dataset) -> None:
    settings = {"lr": 0.1}
    plain, off, on = (
        RunSpec({}, "mlp", 0, "cpu", {**settings, **more}).digest for more in ({}, {"smooth": False}, {"smooth": True})
    )
    assert plain == off != on
