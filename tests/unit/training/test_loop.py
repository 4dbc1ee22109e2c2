import functools
from dataclasses import replace

import numpy as np
import pytest
import torch

import mggcn
from mggcn import methods
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.keys import Key
from mggcn.runs import resolve
from mggcn.training import Epochs, Inference, evaluate
from mggcn.training._compute import Compute
from mggcn.training._loop import _is_better
from mggcn.training._metrics import Scores
from mggcn.training._prepared import Fit
from mggcn.training._record import Epoch

ALONE = {"portfolio": "none"}
CPU = Compute(torch.device("cpu"))


class Heard:
    """Keeps the epochs it hears of."""

    def __init__(self) -> None:
        self.epochs: list[Epoch] = []

    def epoch(self, epoch: Epoch) -> None:
        self.epochs.append(epoch)


def weights(run: mggcn.Run) -> list[torch.Tensor]:
    return [parameter.detach() for parameter in run.model.parameters()]


def same(one: mggcn.Run, other: mggcn.Run) -> bool:
    return all(torch.equal(a, b) for a, b in zip(weights(one), weights(other), strict=True))


def test_it_learns(small: Dataset) -> None:
    run = mggcn.fit(small, settings={"hidden": 16})
    assert run.record.test_accuracy >= 0.8
    assert run.record.curve[-1].train_loss < 0.5 * run.record.curve[0].train_loss


@pytest.mark.parametrize("layers", [1, 2, 3, 4])
def test_every_depth_learns(small: Dataset, layers: int) -> None:
    run = mggcn.fit(small, settings={"layers": layers, "epochs": 60}, preset="paper")
    assert run.record.test_accuracy >= 0.7


@pytest.mark.parametrize("precision", ["tf32", "fp32", "bf16"])
def test_every_precision_learns_on_a_cpu(small: Dataset, precision: str) -> None:
    run = mggcn.fit(small, device="cpu", settings={"precision": precision, "epochs": 60})
    assert run.record.test_accuracy >= 0.7


def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads(small: Dataset) -> None:
    settings = ALONE | {"epochs": 5, "layers": 3, "dropout": 0.3, "batch_size": 8}
    first = mggcn.fit(small, seed=3, settings=settings | {"threads": 1})
    torch.manual_seed(99)
    for threads in (1, 2, 5):
        assert same(first, mggcn.fit(small, seed=3, settings=settings | {"threads": threads}))
    assert not same(first, mggcn.fit(small, seed=4, settings=settings))


def test_training_leaves_the_global_generator_alone(small: Dataset) -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    mggcn.fit(small, settings={"epochs": 2, "dropout": 0.5})
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_early_stopping_keeps_the_best_epoch(small: Dataset, preset: methods.Preset) -> None:
    heard = Heard()
    run = mggcn.fit(small, settings=ALONE | {"lr": 0.2, "patience": 4}, preset=preset, progress=heard)
    record = run.record
    losses = [epoch.val_loss for epoch in heard.epochs]
    assert record.curve == heard.epochs
    assert record.epochs == record.best_epoch + 4 == len(losses)
    assert record.best_epoch == 1 + int(np.argmin(losses))
    method = run.plan.prepare(small, Key.of(0), CPU)
    kept = replace(method, model=run.model)
    val = evaluate(Fit(kept, small, run.plan.training, Key.of(0), CPU), small.split.val)
    assert val.loss == pytest.approx(min(losses), abs=1e-12)


def test_selecting_by_accuracy(small: Dataset) -> None:
    record = mggcn.fit(small, settings=ALONE | {"select": "accuracy", "epochs": 30}).record
    assert record.val_accuracy == max(epoch.val_accuracy for epoch in record.curve)


def test_selecting_by_macro_f1(small: Dataset) -> None:
    found = [
        mggcn.fit(small, settings=ALONE | {"select": by, "epochs": 30, "patience": 30}).record
        for by in ("macro_f1", "loss")
    ]
    assert found[0].val_macro_f1 >= found[1].val_macro_f1
    scores = [Scores(1.0, 0.9, 0.3), Scores(2.0, 0.5, 0.6), Scores(1.5, 0.4, 0.6)]
    best = functools.reduce(lambda a, b: b if _is_better(b, a, "macro_f1") else a, scores)
    assert best == scores[2], "the highest, and between equals the one with the lower loss"


def test_each_epoch_draws_new_picks_unless_told_otherwise(small: Dataset) -> None:
    for redraw, expected in (("epoch", False), ("once", True)):
        plan = resolve("mg-gcn", small.name, {"redraw": redraw})
        sampler = plan.prepare(small, Key.of(0), CPU).train.sampler
        one, two = (next(sampler.batches(small.split.train, Key.of(0).fold("picks", e), 30)) for e in (1, 2))
        assert torch.equal(one.nodes, two.nodes) == expected


def test_inductive_training_sees_training_nodes_only(small: Dataset) -> None:
    data = replace(small, inductive=True)
    method = resolve("mg-gcn", data.name, {}).prepare(data, Key.of(0), CPU)
    train_nodes = set(data.split.train.tolist())
    for batch in method.train.sampler.batches(data.split.train, Key.of(0), 10):
        assert set(batch.nodes.tolist()) <= train_nodes
    seen = {n for batch in method.eval.sampler.batches(data.split.test, Key.of(0), 10) for n in batch.nodes.tolist()}
    assert seen & train_nodes
    whole = resolve("mg-gcn", data.name, {"training_graph": "whole"}).prepare(data, Key.of(0), CPU)
    assert whole.train is whole.eval


def test_balanced_class_weights(small: Dataset) -> None:
    y = small.y.copy()
    y[small.split.train] = 0
    y[small.split.train[:3]] = 1
    data = replace(small, y=y)
    plan = resolve("mlp", data.name, {"class_weights": "balanced"})
    with Epochs(Fit(plan.prepare(data, Key.of(0), CPU), data, plan.training, Key.of(0), CPU)) as epochs:
        found = epochs.step.class_weight
    assert found is not None
    assert found.tolist() == pytest.approx([30 / (2 * 27), 30 / (2 * 3), 0])
    run = mggcn.fit(small, settings={"class_weights": "balanced", "epochs": 40})
    assert run.record.test_accuracy >= 0.7


def test_more_draws_are_the_mean_of_probabilities(small: Dataset) -> None:
    run = mggcn.fit(small, settings={"epochs": 5})
    method = run.plan.prepare(small, Key.of(0), CPU)
    nodes, key = np.arange(60), Key.of(0)
    together = Inference(run.model, method.eval, key, CPU, draws=3).predict(nodes).exp().numpy()
    parts = []
    for draw in range(3):
        rows = [
            torch.softmax(run.model(method.eval.inputs.rows(b.nodes), b.blocks).double(), dim=1)
            for b in method.eval.sampler.batches(nodes, key.fold("eval", draw), 60)
        ]
        parts.append(torch.cat(rows).detach().numpy())
    np.testing.assert_allclose(together, np.mean(parts, axis=0), atol=1e-9)
    np.testing.assert_allclose(together.sum(axis=1), 1)
    with pytest.raises(InputError, match="draws: 0 is less than 1"):
        Inference(run.model, method.eval, key, CPU, draws=0).predict(nodes)


def test_divergence_is_said(small: Dataset) -> None:
    with pytest.raises(InputError, match=r"training diverged at epoch \d+ with learning rate 1e\+30"):
        mggcn.fit(small, settings={"lr": 1e30})


def test_no_split_means_no_training(small: Dataset) -> None:
    with pytest.raises(InputError, match="small: no training labels"):
        mggcn.fit(replace(small, split=None))
