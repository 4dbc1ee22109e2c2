"""What methods of trees promise, whichever library grows them."""

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save

import mggcn
from mggcn import data as storage
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.runs._run_folder import load_run
from tests import checksums, tampering
from tests.methods import SMALL_SETTINGS

METHODS = ("random-forest", "lightgbm")
pytestmark = pytest.mark.parametrize("method", METHODS)


def grown(data: Dataset, method: str, **changes: object) -> mggcn.Run:
    return mggcn.fit(data, method, device="cpu", settings=SMALL_SETTINGS[method] | changes)


def weights(run: mggcn.Run) -> list[torch.Tensor]:
    return [*run.model.state_dict().values()]


def test_saved_and_loaded_it_predicts_the_same_on_any_graph(small: Dataset, tmp_path: Path, method: str) -> None:
    run = grown(small, method).save(tmp_path / "run")
    again = load_run(tmp_path / "run")
    new = replace(small, y=np.full(60, -1), classes=(), split=None)
    assert np.array_equal(again.predict(new, device="cpu").probabilities, run.predict(device="cpu").probabilities)


def test_the_threads_do_not_change_the_trees(small: Dataset, method: str) -> None:
    one, two = (weights(grown(small, method, threads=count)) for count in (1, 2))
    assert all(torch.equal(a, b) for a, b in zip(one, two, strict=True))


def test_only_training_labels_are_read(small: Dataset, method: str) -> None:
    y = small.y.copy()
    hidden = np.concatenate([small.split.val, small.split.test])
    y[hidden] = (y[hidden] + 1) % 3
    one, other = (weights(grown(data, method)) for data in (small, replace(small, y=y)))
    assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def test_weights_of_another_number_of_classes_do_not_fit(small: Dataset, tmp_path: Path, method: str) -> None:
    run = grown(small, method).save(tmp_path / "run")
    text = (run.path / "record.json").read_text()
    (run.path / "record.json").write_text(checksums.with_own_checksum(text.replace('"red",', '"red", "pink",')))
    with pytest.raises(InputError, match=r"weights\.safetensors: does not fit"):
        load_run(run.path)


@pytest.mark.parametrize(
    ("name", "value"), [("below", 0), ("above", 0), ("below", 10**9), ("roots", -1), ("feature", 3), ("feature", -1)]
)
def test_trees_that_never_end_or_lead_elsewhere_do_not_fit(
    name: str, value: int, small: Dataset, tmp_path: Path, method: str
) -> None:
    run = grown(small, method).save(tmp_path / "run")
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


def test_it_is_compared_like_any_other_method(small: Dataset, tmp_path: Path, method: str) -> None:
    from mggcn.cli import main

    storage.save(small, tmp_path / "data")
    names = ["--methods", f"{method},mlp", "--seeds", "1", "--set", "trees=5", "epochs=2"]
    assert main(["compare", str(tmp_path / "data"), *names, "--out", str(tmp_path / "out"), "--quiet"]) == 0
    assert f"| {method} |" in (tmp_path / "out" / "table.md").read_text()


@pytest.mark.parametrize("change", [{"trees": 0}, {"max_depth": -1}, {"min_leaf": 0}, {"balanced": "very"}])
def test_settings_are_checked(small: Dataset, change: dict[str, object], method: str) -> None:
    with pytest.raises(InputError, match=next(iter(change))):
        mggcn.fit(small, method, settings=change)
