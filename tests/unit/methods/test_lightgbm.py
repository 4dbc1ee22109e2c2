import builtins
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

import mggcn
from mggcn.data._dataset import Dataset
from mggcn.data._features import as_features
from mggcn.errors import DataWarning, InputError
from mggcn.runs._run_folder import load_run

lightgbm = pytest.importorskip("lightgbm", reason="needs the extra boosting")

FEW = {"trees": 7, "min_leaf": 2, "threads": 1}


def without_lightgbm(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def importing(name: str, *rest: Any, **options: Any) -> object:
        if name == "lightgbm":
            raise ImportError(name)
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", importing)


def by_classifier(data: Dataset, **options: Any) -> np.ndarray:
    """[num_nodes, classes] what LightGBM's own classifier predicts."""
    fixed = {"n_jobs": 1, "deterministic": True, "force_row_wise": True, "verbosity": -1}
    model = lightgbm.LGBMClassifier(**{"n_estimators": 7, "min_child_samples": 2, **fixed, **options})
    x = data.x if isinstance(data.x, np.ndarray) else data.x.toarray()
    model.fit(x[data.split.train], data.y[data.split.train])
    return model.predict_proba(x)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ({}, {}),
        ({"balanced": True}, {"class_weight": "balanced"}),
        ({"max_depth": 2, "min_leaf": 3}, {"max_depth": 2, "min_child_samples": 3}),
        ({"leaves": 3, "shrinkage": 0.5}, {"num_leaves": 3, "learning_rate": 0.5}),
    ],
)
def test_it_gives_what_lightgbms_classifier_gives(
    small: Dataset, sparse: bool, classes: int, settings: dict[str, object], options: dict[str, object]
) -> None:
    data = replace(small, y=np.minimum(small.y, classes - 1), classes=small.classes[:classes])
    if sparse:
        x = as_features(csr_array(np.maximum(small.x, 0)))
        x.indices, x.indptr = x.indices.astype(np.int64), x.indptr.astype(np.int64)  # as data sets on disk have them
        data = replace(data, x=x)
    run = mggcn.fit(data, "lightgbm", device="cpu", settings=FEW | settings)
    found = run.predict(device="cpu", calibrated=False).probabilities
    expected = by_classifier(data, **options)
    assert np.ptp(expected, axis=0).min() > 0.1, "the trees tell nodes apart"
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert run.record.epochs == 0
    assert run.record.test_accuracy > 0.5


def test_trees_that_gain_nothing_are_left_out_as_by_lightgbm(small: Dataset) -> None:
    run = mggcn.fit(small, "lightgbm", device="cpu", settings={"min_leaf": 1000})
    assert run.model.roots.numel() == 3, "one leaf for each class"
    found = run.predict(device="cpu", calibrated=False).probabilities
    shares = np.bincount(small.y[small.split.train]) / small.split.train.size
    np.testing.assert_allclose(found, np.broadcast_to(shares, found.shape), rtol=1e-6)


def test_a_class_without_training_nodes(small: Dataset) -> None:
    y = small.y.copy()
    y[small.split.train] = np.minimum(y[small.split.train], 1)
    with pytest.warns(DataWarning, match="small: no training nodes of class 'blue': it cannot be learnt"):
        run = mggcn.fit(replace(small, y=y), "lightgbm", device="cpu", settings=FEW)
    probabilities = run.predict(device="cpu", calibrated=False).probabilities
    assert 0 < probabilities[:, 2].max() < 1e-12


def test_one_of_two_classes_without_training_nodes(small: Dataset) -> None:
    y = np.minimum(small.y, 1)
    y[small.split.train] = 1
    with pytest.warns(DataWarning, match="small: all training nodes are of class 'green'"):
        run = mggcn.fit(replace(small, y=y, classes=("red", "green")), "lightgbm", device="cpu", settings=FEW)
    probabilities = run.predict(device="cpu", calibrated=False).probabilities
    assert probabilities[:, 1].min() > 0.99
    assert np.isfinite(np.log(probabilities)).all()


def test_predictions_do_not_need_lightgbm(small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = mggcn.fit(small, "lightgbm", device="cpu", settings=FEW).save(tmp_path / "run")
    expected = run.predict(device="cpu").probabilities
    without_lightgbm(monkeypatch)
    assert np.array_equal(load_run(tmp_path / "run").predict(small, device="cpu").probabilities, expected)


def test_without_lightgbm_the_error_says_what_to_install(small: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    without_lightgbm(monkeypatch)
    with pytest.raises(InputError, match=r"^lightgbm needs LightGBM: pip install 'mggcn\[boosting\]'$"):
        mggcn.fit(small, "lightgbm", settings=FEW)


def test_equal_data_give_equal_trees_for_every_seed(small: Dataset) -> None:
    one, other = (mggcn.fit(small, "lightgbm", seed=seed, settings=FEW).model.value for seed in (0, 1))
    assert torch.equal(one, other)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"leaves": 1}, "leaves: 1 is not between 2 and 131,072"),
        ({"leaves": 10**6}, "leaves: 1000000 is not between 2 and 131,072"),
        ({"shrinkage": 0}, "shrinkage: 0"),
    ],
)
def test_settings_are_checked(small: Dataset, change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        mggcn.fit(small, "lightgbm", settings=change)
