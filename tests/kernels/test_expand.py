import numpy as np
import pytest
import torch
from torch.testing import assert_close

from mggcn.block import Repeats
from mggcn.kernels.relabel import expand
from mggcn.sampling.mix_grained import find_repeats
from tests.gpu import GPU
from tests.reference import expand as reference


def compare_on_gpu(repeats: Repeats, channels: int) -> None:
    """Compare the copies of random rows, and the gradient, on the device of ``repeats``."""
    device, generator = repeats.index.device, torch.Generator().manual_seed(0)
    x = torch.randn(repeats.capacity, channels, generator=generator).to(device).requires_grad_(True)
    coming = torch.randn(repeats.count, channels, generator=generator).to(device)
    out, expected = expand(x, repeats), reference.expand(x, repeats)
    assert_close(out, expected, rtol=0, atol=0)
    assert_close(torch.autograd.grad(out, x, coming), torch.autograd.grad(expected, x, coming))


@pytest.mark.parametrize(("total", "batch_rows"), [(60, 20), (50, 20), (7, 20), (40, 1)])
def test_repeats_describe_every_batch(total: int, batch_rows: int) -> None:
    rows = torch.from_numpy(np.random.default_rng(total).integers(0, 12, total).astype(np.int32)).to(GPU)
    found = find_repeats(rows, batch_rows, 12)
    assert len(found) == -(-total // batch_rows)
    for part, repeats in zip(torch.split(rows, batch_rows), found, strict=True):
        distinct = torch.unique(part)
        assert repeats.count == part.numel()
        assert torch.equal(repeats.nodes[: distinct.numel()], distinct)
        assert not repeats.nodes[distinct.numel() :].any()
        assert torch.equal(repeats.nodes[repeats.index.long()], part)
        assert repeats.order.sort().values.tolist() == list(range(part.numel()))
        sizes = repeats.indptr.diff()
        assert int(repeats.indptr[0]) == 0
        assert int(repeats.indptr[-1]) == part.numel()
        assert torch.equal(torch.repeat_interleave(repeats.nodes, sizes.long()), part[repeats.order.long()])


def test_the_capacity_does_not_shrink() -> None:
    rows = torch.zeros(10, dtype=torch.int32, device=GPU)
    assert find_repeats(rows, 5, 3)[0].capacity == 256
    assert find_repeats(rows, 5, 3, least=512)[1].capacity == 512


@pytest.mark.parametrize("channels", [3, 16])
def test_gpu_equals_reference_with_gradient(channels: int) -> None:
    rows = torch.from_numpy(np.minimum(np.random.default_rng(1).geometric(0.2, 90), 30).astype(np.int32)).to(GPU)
    repeats = find_repeats(rows, 90, 31)[0]
    compare_on_gpu(repeats, channels)
