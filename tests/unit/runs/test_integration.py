"""Gradients on the line from zero to the input rows: those of dense rows, whatever a model multiplies first."""

import numpy as np
import pytest
import torch

import mggcn
from mggcn.data._dataset import Dataset
from mggcn.nn.rows import Rows, to_dense
from mggcn.runs._integration import PairGradients, gauss_legendre, interleaved, mean_gradient, total_gradient
from mggcn.runs._scorer import Scorer
from mggcn.training import log_odds


def of_dense_rows(function: object, rows: torch.Tensor, points: list[tuple[float, float]]) -> torch.Tensor:
    """The mean gradient with respect to the rows themselves."""
    total = torch.zeros_like(rows)
    for at, weight in points:
        x = (at * rows).requires_grad_()
        (gradient,) = torch.autograd.grad(function(x), x)
        total += weight * gradient
    return total


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("mlp", {}),
        ("mg-gcn", {"conv": "mean"}),
        ("mg-gcn", {"conv": "pool", "bias": True}),
        ("mg-gcn", {"linear_path": True}),
        ("mg-gcn", {"fine": False}),
        ("gcn", {}),
        ("sagn", {}),
        ("gamlp", {}),
    ],
)
def test_the_gradient_is_that_of_dense_rows(small: Dataset, method: str, settings: dict[str, object]) -> None:
    chosen = {"epochs": 5, "hidden": 8, **({"portfolio": "none"} if method == "mg-gcn" else {}), **settings}
    run = mggcn.fit(small, method, settings=chosen, device="cpu")
    scorer = Scorer.of(run, small)
    view = scorer.inference.view
    (batch,) = view.sampler.batches(np.arange(10), run.key, 10)
    forward, labels = scorer.forward(batch), torch.zeros(10, dtype=torch.int64)

    def value(x: Rows) -> torch.Tensor:
        return log_odds(forward(x), labels).sum()

    points = gauss_legendre(7)
    found = total_gradient(mean_gradient(run.model, value, view.rows(run.model, batch), points))
    expected = of_dense_rows(value, to_dense(view.inputs.rows(batch.nodes)).float(), points)
    scale = float(expected.abs().max())
    assert scale > 0
    torch.testing.assert_close(found / scale, expected / scale, rtol=1e-4, atol=1e-5)


def test_parts_of_interleaved_points_are_all_midpoints() -> None:
    points = sorted(point for part in range(4) for point in interleaved(8, part, 4))
    np.testing.assert_allclose([at for at, _ in points], (np.arange(32) + 0.5) / 32)
    assert sum(weight for _, weight in points) / 4 == pytest.approx(1)
    assert interleaved(3, 0, 1) == [(1 / 6, 1 / 3), (0.5, 1 / 3), (2.5 / 3, 1 / 3)]


def test_gradients_of_a_pair_of_nodes_are_summed(small: Dataset) -> None:
    generator = torch.Generator().manual_seed(0)
    run = mggcn.fit(small, "mlp", settings={"epochs": 1, "hidden": 8}, device="cpu")
    x, sums, pairs = torch.from_numpy(np.array(small.x)), PairGradients(), {}
    for _ in range(3):
        owner, node = torch.randint(0, 4, (2, 30), generator=generator)

        def value(rows: Rows) -> torch.Tensor:
            return run.model(rows, ()).square().sum()

        parts = mean_gradient(run.model, value, x[node], gauss_legendre(2))
        sums.add(owner, node, parts)
        for pair, row in zip(zip(owner.tolist(), node.tolist(), strict=True), total_gradient(parts), strict=True):
            pairs[pair] = pairs.get(pair, 0) + row
    found = {
        pair: row
        for owner, node, rows in sums.of_rows()
        for pair, row in zip(zip(owner.tolist(), node.tolist(), strict=True), rows, strict=True)
    }
    assert found.keys() == pairs.keys()
    for pair, row in pairs.items():
        torch.testing.assert_close(found[pair], row)
