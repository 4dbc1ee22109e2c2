"""The sampler on the GPU draws the same batches as the one on the CPU, and its blocks give the same scores."""

import numpy as np
import pytest
import torch

from mggcn.data._dataset import Dataset
from mggcn.kernels.pick import PickTable
from mggcn.keys import Key
from mggcn.nn.stack import MGGCN
from mggcn.sampling.mix_grained import DeviceMixGrainedSampler, MixGrainedSampler
from mggcn.training._prepared import DenseInputs
from tests.gpu import GPU
from tests.properties import assert_batch_is_valid


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"include_target": False},
        {"padding": "none"},
        {"padding": "none", "include_target": False, "fixed_key": Key.of(8)},
        {"explore": "breadth"},
        {"explore": "depth", "padding": "none"},
    ],
)
@pytest.mark.parametrize("pick_by", ["degree", "uniform"])
def test_the_same_batches_and_scores(small: Dataset, layers: int, options: dict, pick_by: str) -> None:
    table = PickTable.of(small.graph, by=pick_by)
    targets = small.split.train
    host = MixGrainedSampler(table, 3, layers, **options)
    device = DeviceMixGrainedSampler(table.on(GPU), 3, layers, **options)
    model = MGGCN(3, 4, 3, layers)
    x = torch.from_numpy(np.concatenate([small.x, small.x[::-1]], axis=1))
    pairs = zip(host.batches(targets, Key.of(1), 8), device.batches(targets, Key.of(1), 8), strict=True)
    for one, two in pairs:
        moved = two.to("cpu")
        assert_batch_is_valid(moved)
        assert torch.equal(one.nodes, moved.nodes)
        assert torch.equal(one.targets, moved.targets.long())
        rows = x[one.nodes.long()]
        torch.testing.assert_close(model(rows, one.blocks), model(rows, moved.blocks))


def test_shapes_and_addresses_stay_fixed(small: Dataset) -> None:
    """What a captured step needs: the blocks of equal batches are the same tensors."""
    device = DeviceMixGrainedSampler(PickTable.of(small.graph).on(GPU), 3)
    first, second, *_ = device.batches(small.split.train, Key.of(1), 8)
    assert first.blocks[0] is second.blocks[0]
    assert first.targets.data_ptr() == first.nodes.data_ptr()


def test_merged_rows_give_the_same_product(small: Dataset) -> None:
    table = PickTable.of(small.graph).on(GPU)
    inputs = DenseInputs((torch.tensor(small.x).to(GPU),))
    weight = torch.randn(small.num_features, 4, device=GPU, requires_grad=True)
    plain = DeviceMixGrainedSampler(table, 3).batches(small.split.train, Key.of(1), 8)
    merging = DeviceMixGrainedSampler(table, 3, merge_from=1)
    for one, two in zip(plain, merging.batches(small.split.train, Key.of(1), 8), strict=True):
        assert one.repeats is None
        assert two.repeats is not None
        products = [inputs.rows(batch.nodes, batch.repeats).matmul(weight) for batch in (one, two)]
        torch.testing.assert_close(*products)
        gradients = [torch.autograd.grad(product.square().sum(), weight)[0] for product in products]
        torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-4)
