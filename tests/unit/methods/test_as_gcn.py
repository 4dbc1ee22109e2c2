from dataclasses import replace

import numpy as np
import pytest
import torch

import mggcn
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.keys import Key
from mggcn.methods.as_gcn import ASGCN, AdaptiveStack
from mggcn.runs import resolve
from mggcn.sampling.adjacency import propagation
from mggcn.sampling.layerwise import AdaptiveSampler
from mggcn.sampling.neighbor import WholeGraphSampler
from mggcn.training._compute import Compute
from mggcn.training._prepared import Penalised
from tests.properties import assert_batch_is_valid, assert_targets_covered_once

CPU = Compute(torch.device("cpu"))
TARGETS = np.array([3, 59, 17, 40, 8])


def stack(small: Dataset, layers: int = 1, **options: bool) -> AdaptiveStack:
    """A model with an attention that matters, in double precision."""
    settings = ASGCN(hidden=4, layers=layers, **options)
    module = AdaptiveStack(settings, small.num_features, 3, torch.Generator().manual_seed(2)).double()
    with torch.no_grad():
        module.sampling.weight.copy_(torch.tensor([[1.5, 0.2], [-0.3, 2.0], [0.4, -1.0]]))
    return module


def sampler(small: Dataset, module: AdaptiveStack, layers: int = 1, samples: int = 30) -> AdaptiveSampler:
    x = torch.tensor(small.x).double()
    return AdaptiveSampler(
        propagation(small.graph), layers, samples, lambda nodes, block: module.importance(x[nodes], block)
    )


def scored(small: Dataset, module: AdaptiveStack, key: int, samples: int = 30) -> tuple[torch.Tensor, torch.Tensor]:
    batch = next(sampler(small, module, len(module.layers), samples).batches(TARGETS, Key.of(key), 5))
    blocks = [replace(block, weight=block.weight.double(), count=block.count.double()) for block in batch.blocks]
    return module.scored(torch.tensor(small.x).double()[batch.nodes], blocks)


def attended(small: Dataset, module: AdaptiveStack) -> torch.Tensor:
    """The whole matrix of Â(v, u) a(v, u), by the paper's equations."""
    receivers, senders = (torch.tensor(small.x).double() @ module.sampling.weight).T
    attention = torch.relu(receivers[:, None] + senders[None, :]) + 1
    return torch.from_numpy(propagation(small.graph).toarray()).double() * attention


def law(small: Dataset, module: AdaptiveStack, receivers: np.ndarray) -> torch.Tensor:
    """[num_nodes] the probabilities below some receivers."""
    guess = torch.relu(torch.tensor(small.x).double() @ module.sampling.weight[:, 1]) + 1
    worth = attended(small, module)[receivers].sum(dim=0) * guess
    return worth / worth.sum()


def test_draws_follow_the_papers_law(small: Dataset) -> None:
    module = stack(small)
    batch = next(sampler(small, module, samples=100_000).batches(TARGETS, Key.of(0), 5))
    found = torch.zeros(60, dtype=torch.float64)
    found[batch.nodes] = batch.blocks[0].count.double() / 100_000
    torch.testing.assert_close(found, law(small, module, TARGETS).detach(), atol=0.006, rtol=0)


def test_batches_are_valid_and_lazy(small: Dataset) -> None:
    module, targets = stack(small, 2), small.split.train
    batches = list(sampler(small, module, 2, 12).batches(targets, Key.of(1), 8))
    assert_targets_covered_once(batches, targets, 8)
    for batch in batches:
        assert_batch_is_valid(batch)
        assert [block.draws for block in batch.blocks] == [12, 12]
    again = sampler(small, module, 2, 12).batches(targets, Key.of(1), 8)
    assert torch.equal(next(again).nodes, batches[0].nodes)
    with torch.no_grad():
        module.sampling.weight.mul_(-5)
    assert not torch.equal(next(again).nodes, batches[1].nodes)


def test_sums_are_unbiased_for_fixed_weights(small: Dataset) -> None:
    module = stack(small)
    exact = attended(small, module)[TARGETS] @ torch.tensor(small.x).double() @ module.layers[0].weight
    found = torch.stack([scored(small, module, key)[0].detach() for key in range(500)])
    error = found.std(dim=0) / 500**0.5
    assert bool(((found.mean(dim=0) - exact).abs() <= 5 * error).all())
    assert bool((error < 0.1).all())


def test_the_penalty_is_the_empirical_variance(small: Dataset) -> None:
    """Against the n draws written out, and on average against the variance of the sums themselves."""
    module = stack(small)
    x, n = torch.tensor(small.x).double(), 30
    batch = next(sampler(small, module, samples=n).batches(TARGETS, Key.of(4), 5))
    draws = torch.repeat_interleave(batch.nodes, batch.blocks[0].count.long())
    assert draws.numel() == n > draws.unique().numel()
    z = (attended(small, module)[TARGETS][:, draws] / law(small, module, TARGETS)[draws])[:, :, None] * (
        x[draws] @ module.layers[0].weight
    )
    by_hand = (z.var(dim=1, unbiased=False) / n).mean()
    torch.testing.assert_close(scored(small, module, 4)[1], by_hand, rtol=1e-5, atol=0)
    scores, penalties = zip(*(scored(small, module, key) for key in range(600)), strict=True)
    actual = torch.stack(scores).var(dim=0).mean()
    torch.testing.assert_close(torch.stack(penalties).mean() * n / (n - 1), actual, rtol=0.1, atol=0)


def test_the_penalty_has_the_gradient_of_the_true_variance(small: Dataset) -> None:
    module = stack(small)
    p = attended(small, module)[TARGETS]
    h = torch.tensor(small.x).double() @ module.layers[0].weight
    moments = (p.square() / law(small, module, TARGETS).clamp_min(1e-300)) @ h.square()
    variance = ((moments - (p @ h).square()) / 400).mean()
    (expected,) = torch.autograd.grad(variance, module.sampling.weight)
    found = [torch.autograd.grad(scored(small, module, k, 400)[1], module.sampling.weight)[0] for k in range(200)]
    stacked = torch.stack(found)
    error = stacked.std(dim=0) / 200**0.5
    assert bool(((stacked.mean(dim=0) - expected).abs() <= 5 * error + 0.01 * expected.abs().max()).all())
    assert float(error.max()) < 0.1 * float(expected.abs().max())


def test_gradient_reaches_the_sampler(small: Dataset) -> None:
    for attend in (True, False):
        module = stack(small, 2, attention=attend)
        scores, variance = scored(small, module, 0)
        assert float(torch.autograd.grad(variance, module.sampling.weight, retain_graph=True)[0].abs().max()) > 0
        (found,) = torch.autograd.grad(scores.square().sum(), module.sampling.weight, allow_unused=True)
        assert (found is not None and bool(found.any())) == attend


@pytest.mark.parametrize("skip", [False, True])
def test_exact_blocks_give_the_papers_network(small: Dataset, skip: bool) -> None:
    module, x = stack(small, 3, skip=skip), torch.tensor(small.x).double()
    a, (w0, w1, w2) = attended(small, module), (layer.weight for layer in module.layers)
    first = a @ x @ w0
    second = a @ first.relu() @ w1 + (a @ a @ x @ (w0 @ w1) if skip else 0)
    expected = a @ second.relu() @ w2 + (a @ a @ first.relu() @ (w1 @ w2) if skip else 0)
    batch = next(WholeGraphSampler(propagation(small.graph), 3).batches(TARGETS, Key.of(0), 5))
    blocks = [replace(block, weight=block.weight.double()) for block in batch.blocks]
    scores, variance = module.scored(x[batch.nodes], blocks)
    torch.testing.assert_close(scores, expected[TARGETS])
    assert float(variance.detach()) == 0


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_an_aggregated_input_is_the_first_layer(small: Dataset, layers: int) -> None:
    built = resolve("as-gcn", small.name, {"precompute": True, "layers": layers}).prepare(small, Key.of(0), CPU)
    ax = torch.from_numpy(propagation(small.graph) @ built.scaler.apply(small.x))
    receivers, senders = (ax @ built.model.sampling.weight).T
    whole = torch.from_numpy(propagation(small.graph).toarray())
    whole = whole * (torch.relu(receivers[:, None] + senders[None, :]) + 1)
    h = ax @ built.model.layers[0].weight
    for layer in built.model.layers[1:]:
        h = whole @ h.relu() @ layer.weight
    batch = next(built.eval.sampler.batches(np.arange(60), Key.of(0), 60))
    scores = built.model.eval()(built.eval.inputs.rows(batch.nodes), batch.blocks)
    torch.testing.assert_close(scores, h)
    drawn = next(built.train.sampler.batches(small.split.train, Key.of(0), 30))
    assert len(drawn.blocks) == layers - 1
    assert built.model.train()(built.train.inputs.rows(drawn.nodes), drawn.blocks).scores.shape == (30, 3)


def test_only_training_is_penalised(small: Dataset) -> None:
    built = resolve("as-gcn", small.name, {"variance": 2.0}).prepare(small, Key.of(0), CPU)
    assert isinstance(built.model, AdaptiveStack)
    batch = next(built.train.sampler.batches(small.split.train, Key.of(0), 30))
    rows = built.train.inputs.rows(batch.nodes)
    out = built.model.train()(rows, batch.blocks)
    assert isinstance(out, Penalised)
    torch.testing.assert_close(out.penalty, 2 * built.model.scored(rows, batch.blocks)[1])
    assert isinstance(built.model.eval()(rows, batch.blocks), torch.Tensor)


@pytest.mark.parametrize("settings", [{}, {"skip": True, "bias": True, "dropout": 0.1}, {"attention": False}])
def test_it_learns(small: Dataset, settings: dict[str, object]) -> None:
    shared = {"hidden": 16, "samples": 40, "epochs": 60, "lr": 0.03}
    runs = [mggcn.fit(small, method="as-gcn", settings=shared | settings, seed=seed) for seed in range(3)]
    assert np.mean([run.record.test_accuracy for run in runs]) >= 0.7
    fresh = runs[0].plan.prepare(small, Key.of(0), CPU).model
    assert not torch.equal(runs[0].model.sampling.weight, fresh.sampling.weight)


def test_a_negative_penalty_is_refused() -> None:
    with pytest.raises(InputError, match=r"variance: -1.0 is less than 0"):
        resolve("as-gcn", "cora", {"variance": -1})
