"""On a real GPU: captured training, residence, precision; skipped where there is none."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch import distributed as dist

import mggcn
from mggcn import methods
from mggcn.block import Batch
from mggcn.data._dataset import Dataset
from mggcn.kernels.gpu import _early
from mggcn.keys import Key
from mggcn.methods import mg_gcn
from mggcn.runs import resolve
from mggcn.sampling.mix_grained import DeviceMixGrainedSampler
from mggcn.training import Epochs
from mggcn.training import _epochs as step
from mggcn.training._capture import Captured
from mggcn.training._compute import Compute
from mggcn.training._prepared import Fit
from mggcn.training._record import Epoch
from tests.skips import NO_GPU

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason=NO_GPU)


def fit(data: Dataset, **settings: object) -> mggcn.Run:
    return mggcn.fit(data, device="cuda", settings={"epochs": 12, "batch_size": 4, **settings}, preset="paper")


def weights(run: mggcn.Run) -> list[torch.Tensor]:
    return [parameter.detach().cpu() for parameter in run.model.parameters()]


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"padding": "none"},
        {"skip_self": False, "redraw": "once"},
        {"explore": "breadth", "pick_by": "uniform", "fine_norm": "symmetric"},
        {"hops": 2, "fine_norm": "half", "label_smoothing": 0.1},
        {"consistency": 1.0, "averaging": 0.5, "draws": 2},
    ],
)
def test_gpu_and_cpu_learn_the_same(small: Dataset, layers: int, options: dict) -> None:
    settings = {"layers": layers, "precision": "fp32", **options}
    on_gpu = fit(small, **settings)
    on_cpu = mggcn.fit(small, device="cpu", settings={"epochs": 12, "batch_size": 4, **settings}, preset="paper")
    for one, two in zip(weights(on_gpu), weights(on_cpu), strict=True):
        torch.testing.assert_close(one, two, rtol=2e-2, atol=2e-3)
    assert on_gpu.record.test_accuracy == pytest.approx(on_cpu.record.test_accuracy, abs=0.06)


def test_kernels_that_start_early_compute_the_same(small: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    early = weights(fit(small, precision="bf16"))
    monkeypatch.setattr(_early, "_is_possible", lambda _: False)
    for one, two in zip(early, weights(fit(small, precision="bf16")), strict=True):
        torch.testing.assert_close(one, two, rtol=0, atol=0)


class Eager:
    """Makes every step at once."""

    def __init__(self, take: Callable[..., None]) -> None:
        self._take = take

    def __call__(self, *batches: Batch) -> None:
        self._take(*batches)

    def finish(self) -> None:
        """No batch waits."""


@pytest.mark.parametrize("options", [{}, {"consistency": 1.0, "averaging": 0.5}, {"label_smoothing": 0.2}])
@pytest.mark.parametrize("layers", [2, 3])
def test_a_replayed_step_is_the_step_itself(
    small: Dataset, layers: int, options: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_by_one = fit(small, layers=layers, precision="fp32", **options)  # with too few batches for more
    monkeypatch.setattr(step, "Captured", partial(Captured, most=2))
    in_pairs = fit(small, layers=layers, precision="fp32", **options)
    monkeypatch.setattr(step, "Captured", Eager)
    eager = fit(small, layers=layers, precision="fp32", **options)
    for one, two, three in zip(weights(one_by_one), weights(in_pairs), weights(eager), strict=True):
        torch.testing.assert_close(one, two, rtol=0, atol=0)
        torch.testing.assert_close(one, three, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("method", "changed"),
    [
        ("deepwalk", {}),
        ("mlp", {"dropout": 0.0}),
        ("sgc", {}),
        ("sign", {"dropout": 0.0}),
        ("sagn", {"dropout": 0.0, "heads": 2}),
        ("gamlp", {"dropout": 0.0}),
        ("gamlp", {"dropout": 0.0, "attention": "recursive"}),
    ],
)
def test_methods_that_read_single_rows_replay_their_steps(
    small: Dataset, method: str, changed: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"epochs": 12, "batch_size": 4, "precision": "fp32", **changed}
    replayed = mggcn.fit(small, method, device="cuda", settings=options, preset="paper")
    monkeypatch.setattr(step, "Captured", Eager)
    eager = mggcn.fit(small, method, device="cuda", settings=options, preset="paper")
    for one, two in zip(weights(replayed), weights(eager), strict=True):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("sparse", [False, True])
def test_our_recipe_learns(small: Dataset, sparse: bool) -> None:
    data = replace(small, x=csr_array(np.maximum(small.x - 0.5, 0))) if sparse else small
    run = mggcn.fit(data, device="cuda", settings={"epochs": 60, "lr": 0.02})
    assert run.record.settings["input_dropout"] == (0.7 if sparse else 0.0)
    assert run.record.test_accuracy >= 0.7


@pytest.mark.parametrize("precision", ["tf32", "fp32", "bf16"])
def test_every_precision_learns(small: Dataset, precision: str) -> None:
    assert fit(small, epochs=40, precision=precision).record.test_accuracy >= 0.7


def test_data_that_does_not_fit_is_read_from_the_host(small: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    resident = fit(small, precision="fp32")
    monkeypatch.setattr(Compute, "holds", lambda *_: False)
    assert fit(small, epochs=40, precision="bf16").record.test_accuracy >= 0.7
    streamed = fit(small, precision="fp32")
    for one, two in zip(weights(resident), weights(streamed), strict=True):
        torch.testing.assert_close(one, two, rtol=2e-2, atol=2e-3)


def test_predictions_and_the_record(small: Dataset, tmp_path) -> None:
    run = fit(small).save(tmp_path / "run")
    assert run.record.device == "cuda"
    assert run.record.peak_memory_bytes > 0
    on_cpu = mggcn.load_run(tmp_path / "run").predict(small, device="cpu", draws=4)
    on_gpu = mggcn.load_run(tmp_path / "run").predict(small, device="cuda", draws=4)
    np.testing.assert_allclose(on_cpu.probabilities, on_gpu.probabilities, atol=5e-3)


def test_class_weights_and_inductive_training(small: Dataset) -> None:
    run = fit(replace(small, inductive=True), epochs=40, class_weights="balanced")
    assert run.record.test_accuracy >= 0.6


def test_an_epoch_takes_every_batch_once(small: Dataset) -> None:
    plan = resolve("mg-gcn", small.name, {"batch_size": 7, "precision": "fp32"}, preset="paper")
    losses = []
    for device in ("cpu", "cuda"):
        compute = plan.compute(torch.device(device))
        prepared = plan.prepare(small, Key.of(0), compute)
        with Epochs(Fit(prepared, small, plan.training, Key.of(0), compute)) as epochs:
            losses.append([epochs.run(number) for number in range(1, 6)])
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-3)


@pytest.mark.parametrize("layers", [2, 3])
def test_merged_rows_learn_the_same(small: Dataset, layers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = fit(small, layers=layers, precision="fp32")
    monkeypatch.setattr(mg_gcn, "DeviceMixGrainedSampler", partial(DeviceMixGrainedSampler, merge_from=1))
    merged = fit(small, layers=layers, precision="fp32")
    for one, two in zip(weights(plain), weights(merged), strict=True):
        torch.testing.assert_close(one, two, rtol=2e-2, atol=2e-3)


@pytest.mark.parametrize("method", sorted(methods.METHODS))
def test_every_method_trains_on_a_gpu(small: Dataset, method: str) -> None:
    if method == "cluster-gcn":
        pytest.importorskip("pymetis")
    run = mggcn.fit(small, method, device="cuda", settings={"epochs": 3}, preset="paper")
    again = mggcn.fit(small, method, device="cpu", settings={"epochs": 3}, preset="paper")
    assert run.record.device == "cuda"
    assert np.isfinite(run.record.val_loss)
    assert run.record.val_loss == pytest.approx(again.record.val_loss, rel=0.2)


class Interrupt:
    """Interrupts training after some epochs."""

    def epoch(self, epoch: Epoch) -> None:
        """Raise what Ctrl-C raises."""
        if epoch.number == 7:
            raise KeyboardInterrupt


@pytest.mark.parametrize("options", [{}, {"dropout": 0.5, "averaging": 0.9}, {"batch_size": 30, "picks": 9}])
def test_a_resumed_run_ends_as_if_it_had_not_been_interrupted(
    small: Dataset, options: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mg_gcn, "DeviceMixGrainedSampler", partial(DeviceMixGrainedSampler, merge_from=1))
    monkeypatch.setattr(step, "Captured", partial(Captured, most=2))
    whole = fit(small, **options)
    settings = {"epochs": 12, "batch_size": 4, **options}
    with pytest.raises(KeyboardInterrupt):
        mggcn.fit(
            small,
            device="cuda",
            settings=settings,
            preset="paper",
            checkpoint=tmp_path / "run",
            checkpoint_every=0,
            progress=Interrupt(),
        )
    resumed = mggcn.resume(tmp_path / "run", small)
    assert all(torch.equal(one, two) for one, two in zip(weights(resumed), weights(whole), strict=True))


def test_one_rank_with_a_captured_all_reduce_ends_with_the_same_weights(small: Dataset) -> None:
    whole = fit(small)
    dist.init_process_group("cpu:gloo,cuda:nccl", store=dist.HashStore(), rank=0, world_size=1)
    try:
        one_rank = fit(small)
    finally:
        dist.destroy_process_group()
    assert all(torch.equal(one, two) for one, two in zip(weights(one_rank), weights(whole), strict=True))
