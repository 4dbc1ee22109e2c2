import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save
from scipy.sparse import csr_array
from sklearn.ensemble import RandomForestClassifier

import mggcn
from mggcn import data as storage
from mggcn.data._dataset import Dataset
from mggcn.data._features import as_features
from mggcn.errors import DataWarning, InputError
from mggcn.keys import Key
from mggcn.runs._run_folder import load_run
from tests import checksums, tampering

FEW = {"trees": 7, "threads": 1}


def scikit_learn(data: Dataset, trees: int, **options: object) -> RandomForestClassifier:
    seed = Key.of(3).fold("forest").value >> 32
    grown = RandomForestClassifier(trees, random_state=seed, n_jobs=1, **options)
    return grown.fit(data.x[data.split.train], data.y[data.split.train])


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("settings", [{}, {"balanced": True}, {"max_depth": 2, "min_leaf": 3}])
def test_it_gives_what_scikit_learn_gives(small: Dataset, sparse: bool, settings: dict[str, object]) -> None:
    data = small
    if sparse:
        x = as_features(csr_array(np.maximum(small.x, 0)))
        x.indices, x.indptr = x.indices.astype(np.int64), x.indptr.astype(np.int64)  # as data sets on disk have them
        data = replace(small, x=x)
    options: dict[str, object] = {
        "max_depth": settings.get("max_depth"),
        "min_samples_leaf": settings.get("min_leaf", 1),
    }
    options["class_weight"] = "balanced_subsample" if "balanced" in settings else None
    dense = data.x.toarray() if sparse else data.x
    expected = scikit_learn(replace(data, x=dense), 7, **options).predict_proba(dense)
    run = mggcn.fit(data, "random-forest", seed=3, device="cpu", settings=FEW | settings)
    found = run.predict(device="cpu", calibrated=False).probabilities
    np.testing.assert_allclose(found, (7 * expected + 1 / 3) / 8, rtol=1e-12)
    assert run.record.epochs == 0
    assert run.record.test_accuracy > 0.5


def test_a_class_without_training_nodes(small: Dataset) -> None:
    y = small.y.copy()
    y[small.split.train] = np.minimum(y[small.split.train], 1)
    with pytest.warns(DataWarning, match="small: no training nodes of class 'blue': it cannot be learnt"):
        found = mggcn.fit(replace(small, y=y), "random-forest", device="cpu", settings=FEW)
    probabilities = found.predict(device="cpu", calibrated=False).probabilities
    np.testing.assert_allclose(probabilities[:, 2], 1 / 3 / 8)


def test_saved_and_loaded_it_predicts_the_same_on_any_graph(small: Dataset, tmp_path: Path) -> None:
    run = mggcn.fit(small, "random-forest", device="cpu", settings=FEW).save(tmp_path / "run")
    again = load_run(tmp_path / "run")
    new = replace(small, y=np.full(60, -1), classes=(), split=None)
    assert np.array_equal(again.predict(new, device="cpu").probabilities, run.predict(device="cpu").probabilities)


def test_the_seed_decides_and_the_threads_do_not(small: Dataset) -> None:
    def shares(seed: int, threads: int) -> torch.Tensor:
        return mggcn.fit(small, "random-forest", seed=seed, settings={**FEW, "threads": threads}).model.share

    assert torch.equal(shares(0, 1), shares(0, 2))
    one, other = shares(0, 1), shares(1, 1)
    assert one.shape != other.shape or not torch.equal(one, other)


def test_only_training_labels_are_read(small: Dataset) -> None:
    y = small.y.copy()
    hidden = np.concatenate([small.split.val, small.split.test])
    y[hidden] = (y[hidden] + 1) % 3
    one, other = (mggcn.fit(d, "random-forest", settings=FEW) for d in (small, replace(small, y=y)))
    assert torch.equal(one.model.share, other.model.share)


def test_weights_of_another_number_of_classes_do_not_fit(small: Dataset, tmp_path: Path) -> None:
    run = mggcn.fit(small, "random-forest", settings=FEW).save(tmp_path / "run")
    text = (run.path / "record.json").read_text()
    (run.path / "record.json").write_text(checksums.with_own_checksum(text.replace('"red",', '"red", "pink",')))
    with pytest.raises(InputError, match=r"weights\.safetensors: does not fit"):
        load_run(run.path)


@pytest.mark.parametrize(
    ("name", "value"), [("below", 0), ("above", 0), ("below", 10**9), ("roots", -1), ("feature", 3), ("feature", -1)]
)
def test_trees_that_never_end_or_lead_elsewhere_do_not_fit(
    name: str, value: int, small: Dataset, tmp_path: Path
) -> None:
    run = mggcn.fit(small, "random-forest", settings=FEW).save(tmp_path / "run")
    assert run.path is not None
    tensors = load_file(run.path / "weights.safetensors")
    inner = int((tensors["model.below"] != torch.arange(len(tensors["model.below"]))).nonzero()[-1])
    tensors[f"model.{name}"][0 if name == "roots" else inner] = value
    content = save(tensors)
    (run.path / "weights.safetensors").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    tampering.change_field(run.path / "record.json", ("files", "weights.safetensors"), digest)
    with pytest.raises(InputError, match=r"weights\.safetensors: does not fit"):
        load_run(run.path)


def test_it_is_compared_like_any_other_method(small: Dataset, tmp_path: Path) -> None:
    from mggcn.cli import main

    storage.save(small, tmp_path / "data")
    names = ["--methods", "random-forest,mlp", "--seeds", "1", "--set", "trees=5", "epochs=2"]
    assert main(["compare", str(tmp_path / "data"), *names, "--out", str(tmp_path / "out"), "--quiet"]) == 0
    assert "| random-forest |" in (tmp_path / "out" / "table.md").read_text()


@pytest.mark.parametrize("change", [{"trees": 0}, {"max_depth": -1}, {"min_leaf": 0}, {"balanced": "very"}])
def test_settings_are_checked(small: Dataset, change: dict[str, object]) -> None:
    with pytest.raises(InputError, match=next(iter(change))):
        mggcn.fit(small, "random-forest", settings=change)
