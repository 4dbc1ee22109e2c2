"""What every method promises, each trained once on small data and compared with what a change makes of it.

What trained weights may depend on:

On inductive data the weights after every epoch depend on the features of training nodes only, and on every data set on
the labels of training nodes only. Validation nodes decide which epoch's weights are kept and the temperature; nothing
else. A test node's label changes the test scores and nothing else. The number of the sampler's threads, a mapping of
the data and an interruption change nothing at all.

What a trained run gives: its last layer scores its embeddings, contributions of its features are complete, and a method
whose batches have no fixed shapes cannot be exported.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn import functional

import mggcn
from mggcn.data import load_folder, save
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.keys import Key
from mggcn.methods import METHODS
from mggcn.nn.rows import to_dense
from mggcn.runs import resolve
from mggcn.training._compute import Compute
from mggcn.training._epochs import Epochs
from mggcn.training._prepared import Fit
from mggcn.training._record import Epoch
from tests.conftest import small_dataset
from tests.methods import SMALL_SETTINGS
from tests.properties import at_baseline, last_layer

UNTRAINED = ("label-propagation", "random-forest", "lightgbm")
CPU = Compute(torch.device("cpu"))
EPOCHS = 3
SETTINGS: dict[str, dict[str, object]] = {
    **SMALL_SETTINGS,
    "as-gcn with all options": {"precompute": True, "skip": True, "add_identity": True, "layers": 3},
    "sagn with all options": {"heads": 2, "attention_dropout": 0.2, "layers": 3, "norm": "symmetric"},
    "gamlp recursive": {"attention": "recursive", "attention_dropout": 0.2, "norm": "row"},
    "mg-gcn deep": {"layers": 3, "dropout": 0.5, "conv": "gat"},
}


class Interrupt:
    """Interrupts training after an epoch, as Ctrl-C does."""

    def __init__(self, after: int) -> None:
        self.after = after

    def epoch(self, epoch: Epoch) -> None:
        """Raise what Ctrl-C raises."""
        if epoch.number == self.after:
            raise KeyboardInterrupt


def weights_after(dataset: Dataset, name: str) -> list[Tensor]:
    """All weights and buffers after a few epochs without evaluation."""
    plan = resolve(name.partition(" ")[0], dataset.name, {"batch_size": 8, **SETTINGS[name]})
    prepared = plan.prepare(dataset, Key.of(1), CPU)
    if any(parameter.requires_grad for parameter in prepared.model.parameters()):
        with Epochs(Fit(prepared, dataset, plan.training, Key.of(1), CPU)) as epochs, torch.random.fork_rng([]):
            torch.manual_seed(0)
            for number in range(1, EPOCHS + 1):
                epochs.run(number)
    return [tensor.clone() for tensor in prepared.model.state_dict().values()]


def equal(one: list[Tensor], other: list[Tensor]) -> bool:
    return len(one) == len(other) and all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def with_other_features(dataset: Dataset, nodes: np.ndarray, *, sparse: bool) -> tuple[Dataset, Dataset]:
    """The data set, and the same with other features of some nodes; both sparse or both dense."""
    x = np.where(dataset.x > 0.5, dataset.x, 0) if sparse else dataset.x
    changed = x.copy()
    changed[nodes] = np.random.default_rng(3).normal(5, 3, changed[nodes].shape) * (x[nodes] != 0 if sparse else 1)
    one, other = (csr_array(each) if sparse else each for each in (x, changed))
    return replace(dataset, x=one), replace(dataset, x=other)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", SETTINGS)
def test_features_of_other_nodes_do_not_reach_the_weights_of_inductive_training(
    small: Dataset, name: str, sparse: bool
) -> None:
    others = np.setdiff1d(np.arange(small.num_nodes), small.split.train)
    one, other = with_other_features(replace(small, inductive=True), others, sparse=sparse)
    assert equal(weights_after(one, name), weights_after(other, name))


@pytest.mark.parametrize(
    "name", [name for name in SETTINGS if name not in ("label-propagation", "deepwalk", "node2vec")]
)
def test_features_of_training_nodes_reach_the_weights(small: Dataset, name: str) -> None:
    """The test above can fail: the same change of training nodes is seen."""
    one, other = with_other_features(replace(small, inductive=True), small.split.train, sparse=False)
    assert not equal(weights_after(one, name), weights_after(other, name))


@pytest.mark.parametrize("name", SETTINGS)
def test_labels_of_other_nodes_do_not_reach_the_weights(small: Dataset, name: str) -> None:
    others = np.setdiff1d(np.arange(small.num_nodes), small.split.train)
    y = small.y.copy()
    y[others] = (y[others] + 1) % 3
    assert equal(weights_after(small, name), weights_after(replace(small, y=y), name))


def fitted(dataset: Dataset, name: str, **options: Any) -> mggcn.Run:
    settings = {"epochs": EPOCHS, "patience": EPOCHS, "batch_size": 8, "lr": 0.05, **SETTINGS[name]}
    return mggcn.fit(dataset, name.partition(" ")[0], settings=settings, seed=1, device="cpu", **options)


@cache
def unchanged(name: str, *, sparse: bool = False) -> mggcn.Run:
    """The run on the small data set as it is, which most tests compare with something."""
    data = small_dataset()
    return fitted(replace(data, x=csr_array(np.where(data.x > 0, data.x, 0))) if sparse else data, name)


@pytest.mark.parametrize("name", SETTINGS)
def test_the_label_of_a_test_node_changes_its_own_score_only(small: Dataset, name: str) -> None:
    node, y = int(small.split.test[0]), small.y.copy()
    y[node] = (y[node] + 1) % 3
    one, other = unchanged(name), fitted(replace(small, y=y), name)
    assert equal([*one.model.state_dict().values()], [*other.model.state_dict().values()])
    before, after = one.predict(device="cpu"), other.predict(device="cpu")
    assert np.array_equal(before.probabilities, after.probabilities)
    for field in ("best_epoch", "val_loss", "val_accuracy", "val_macro_f1", "temperature", "nodes_per_batch"):
        assert getattr(one.record, field) == getattr(other.record, field), field
    hits = int(before.class_index[node] == y[node]) - int(before.class_index[node] == small.y[node])
    change = (other.record.test_accuracy - one.record.test_accuracy) * small.split.test.size
    assert change == pytest.approx(hits)


@pytest.mark.parametrize("name", SETTINGS)
def test_the_label_of_a_validation_node_decides_at_most_which_epoch_is_kept(small: Dataset, name: str) -> None:
    node, y = int(small.split.val[0]), small.y.copy()
    y[node] = (y[node] + 1) % 3
    one, other = unchanged(name), fitted(replace(small, y=y), name)
    if one.record.settings != other.record.settings:
        assert one.portfolio is not None, "of several recipes, it also decides which is the best"
        return
    losses = [[epoch.train_loss for epoch in run.record.curve] for run in (one, other)]
    assert losses[0] == losses[1]
    if one.record.best_epoch == other.record.best_epoch:
        assert equal([*one.model.state_dict().values()], [*other.model.state_dict().values()])
        before, after = (run.predict(calibrated=False, device="cpu").probabilities for run in (one, other))
        assert np.array_equal(before, after)


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.usefixtures("two_threads")
def test_equal_threads_give_equal_weights_whatever_the_threads_of_the_sampler(name: str) -> None:
    digits, settings = mggcn.load("digits"), {"epochs": 1, **SETTINGS[name]}
    one, two = (mggcn.fit(digits, name, device="cpu", settings={**settings, "threads": count}) for count in (1, 2))
    assert equal([*one.model.state_dict().values()], [*two.model.state_dict().values()])
    assert one.record.test_confusion == two.record.test_confusion


@pytest.mark.parametrize("name", [name for name in SETTINGS if name not in ("deepwalk", "node2vec")])
def test_a_mapped_folder_gives_the_bits_of_memory(small: Dataset, tmp_path: Path, name: str) -> None:
    save(small, tmp_path / "data")
    one, other = unchanged(name), fitted(load_folder(tmp_path / "data", mmap=True), name)
    assert equal([*one.model.state_dict().values()], [*other.model.state_dict().values()])
    before, after = (run.predict(nodes=small.split.test, device="cpu").probabilities for run in (one, other))
    assert np.array_equal(before, after)


@pytest.mark.parametrize("name", [name for name in SETTINGS if name not in UNTRAINED])
def test_an_interrupted_run_ends_bit_for_bit_as_if_it_had_not_been(small: Dataset, tmp_path: Path, name: str) -> None:
    with pytest.raises(KeyboardInterrupt):
        fitted(small, name, checkpoint=tmp_path / "run", checkpoint_every=0, progress=Interrupt(after=2))
    whole, resumed = unchanged(name), mggcn.resume(tmp_path / "run", small)
    assert equal([*whole.model.state_dict().values()], [*resumed.model.state_dict().values()])
    assert resumed.record.resumed == 1
    assert resumed.record.test_confusion == whole.record.test_confusion


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", [name for name in METHODS if name not in UNTRAINED])
def test_the_last_layer_scores_the_embeddings(name: str, sparse: bool) -> None:
    run = unchanged(name, sparse=sparse)
    weight, bias = last_layer(run.model)
    embeddings = run.embed(nodes=[5, 58, 7], draws=1, device="cpu")
    scores = torch.from_numpy(embeddings.values) @ weight + bias
    if getattr(run.model, "direct", None) is not None:
        rows = run.inference(run.training_data, CPU.device).view.inputs.rows(torch.tensor([5, 58, 7]))
        scores = scores + run.model.direct(to_dense(rows).float())
    scores = functional.log_softmax(scores, dim=1)
    expected = run.predict(nodes=[5, 58, 7], draws=1, calibrated=False, device="cpu").probabilities
    np.testing.assert_allclose(scores.exp().detach().numpy(), expected, rtol=1e-4)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", [name for name in METHODS if name not in (*UNTRAINED, "deepwalk", "node2vec")])
def test_contributions_of_features_are_complete(name: str, sparse: bool) -> None:
    run = unchanged(name, sparse=sparse)
    if run.plan.training.draws > 1:  # then explanations are of the mean of calibrated probabilities
        run = replace(run, record=replace(run.record, temperature=1.0))
    explanation = run.explain(node=5)
    expected = run.predict(nodes=[5], device="cpu").probabilities[0]
    np.testing.assert_allclose(explanation.probabilities, expected, rtol=1e-5)
    assert explanation.predicted == explanation.label == expected.argmax()
    baseline = at_baseline(run, run.training_data)
    start = run.predict(baseline, nodes=[5], device="cpu").probabilities[0, explanation.label]
    assert explanation.baseline == pytest.approx(start, abs=1e-6)
    total = explanation.target.sum() + explanation.others.sum()
    assert total == pytest.approx(explanation.probability - start, abs=4e-3)
    assert explanation.error == pytest.approx(total - (explanation.probability - start), abs=1e-6)
    assert np.abs(explanation.target).max() > 1e-4
    assert (np.abs(explanation.others).max() > 1e-6) == (name != "mlp")


@pytest.mark.parametrize(
    "name", [name for name in METHODS if name not in ("mg-gcn", "mlp", "sgc", "sign", "sagn", "gamlp")]
)
def test_a_method_without_fixed_shapes_cannot_be_exported(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=f"{name}: cannot be exported"):
        unchanged(name).export(tmp_path / "model.pt2")
    with pytest.raises(InputError, match=f"{name}: cannot be exported"):
        unchanged(name).rows(nodes=[5])
