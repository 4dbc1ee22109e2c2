import numpy as np
import pytest
import torch

from mggcn.block import Block
from mggcn.kernels.maximum import _forward, maximum, plain_maximum
from mggcn.sampling import grains

SHAPES = [(1, 1, 1), (2, 3, 5), (7, 33, 20), (11, 70, 130)]


def drawn(group: int, b: int, channels: int, *, weighted: bool) -> tuple[torch.Tensor, torch.Tensor, Block]:
    """Distinct rows, the row that each of the group · b rows repeats, and a block with some weights of 0."""
    rng = np.random.default_rng(0)
    picks = rng.integers(1, 9, (b, group))
    picks[:, 0] = 0
    picks[rng.random(picks.shape) < 0.3] = 0  # padding
    block = grains.skip(picks, include_target=False, padding="none") if weighted else grains.skip(picks)
    count = max(1, group * b // 3)
    x = torch.from_numpy(rng.normal(size=(count, channels)).astype(np.float32))
    return x, torch.from_numpy(rng.integers(0, count, group * b)), block


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("group", "b", "channels"), SHAPES)
def test_rows_by_their_index_give_the_reference_with_its_gradient(
    group: int, b: int, channels: int, weighted: bool
) -> None:
    x, index, block = drawn(group, b, channels, weighted=weighted)
    one, other = x.clone().requires_grad_(True), x.clone().requires_grad_(True)
    expected, found = plain_maximum(one[index], block), maximum(other, block, index)
    coming = torch.randn(expected.shape, generator=torch.Generator().manual_seed(1))
    expected.backward(coming)
    found.backward(coming)
    assert torch.equal(found, expected)
    # a row that a group has several times gets the gradient once here, and shares of it in the reference
    torch.testing.assert_close(other.grad, one.grad, rtol=1e-5, atol=1e-6)


def test_every_value_is_written() -> None:
    x, index, block = drawn(3, 8, 5, weighted=True)
    out, where = np.full((8, 5), np.nan, np.float32), np.full((8, 5), -7, np.int32)
    assert block.weight is not None
    keep = (block.weight != 0).numpy().reshape(-1, 3)
    _forward(x.numpy(), index.numpy(), 3, keep, out, where)
    assert np.array_equal(out, plain_maximum(x[index], block).numpy())
    assert np.array_equal(where >= 0, out > 0)
    rows, columns = np.nonzero(where >= 0)
    assert np.array_equal(x.numpy()[where[rows, columns], columns], out[rows, columns])


def test_a_maximum_over_edges_by_hand() -> None:
    block = Block(3, torch.tensor([0, 2, 2, 3]), torch.tensor([0, 1, 2]), torch.arange(3))
    x = torch.tensor([[1.0, -2.0], [0.5, 3.0], [-1.0, -4.0]])
    assert maximum(x, block).tolist() == [[1.0, 3.0], [0.0, 0.0], [0.0, 0.0]]
