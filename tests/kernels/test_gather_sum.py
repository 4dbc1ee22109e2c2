import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch.testing import assert_close

from mggcn.block import Block
from mggcn.kernels.gather import gather_sum
from tests.gpu import GPU
from tests.reference import gather_sum as reference


def compare_on_cpu(block: Block, channels: int, for_threads: int) -> None:
    """Compare the sums of random rows, the gradient of the rows, and that of the block's weights if it has any."""
    x, coming = _rows(block, channels)
    leaves = [x] if block.weight is None else [x, block.weight]
    out, expected = gather_sum(x, block, for_threads), reference.gather_sum(x, block)
    assert_close(out, expected)
    assert_close(torch.autograd.grad(out, leaves, coming), torch.autograd.grad(expected, leaves, coming))


def compare_on_gpu(block: Block, channels: int) -> None:
    """Compare the same on the block's device."""
    from mggcn.kernels.gpu import gather as gpu

    x, coming = _rows(block, channels)
    out, gradient = torch.full_like(coming, torch.nan), torch.full_like(x, torch.nan)
    gpu.sums(block.indptr, block.indices, block.factors, x.detach(), out)
    gpu.sums(*block.transposed, coming, gradient)
    expected = reference.gather_sum(x, block)
    assert_close(out, expected.detach())
    leaves = [x] if block.weight is None else [x, block.weight]
    gradients = torch.autograd.grad(expected, leaves, coming)
    assert_close(gradient, gradients[0])
    if block.weight is not None:
        dots = torch.full_like(block.weight, torch.nan)
        gpu.dots(block.indptr, block.indices, x.detach(), coming, dots)
        assert_close(dots, gradients[1])


def _rows(block: Block, channels: int) -> tuple[Tensor, Tensor]:
    """Random rows of the layer below, and a random gradient of the sums, on the block's device."""
    generator, device = torch.Generator().manual_seed(0), block.indices.device
    x = torch.randn(block.num_src, channels, generator=generator).to(device).requires_grad_()
    return x, torch.randn(block.num_dst, channels, generator=generator).to(device)


def random_block(seed: int, *, weighted: bool, num_src: int = 40, num_dst: int = 25) -> Block:
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 6, num_dst)
    counts[0] = 0
    indices = torch.from_numpy(rng.integers(0, num_src, counts.sum()))
    weight = torch.from_numpy(rng.random(indices.numel()).astype(np.float32)).requires_grad_() if weighted else None
    indptr = torch.from_numpy(np.concatenate([[0], np.cumsum(counts)]))
    return Block(num_src, indptr, indices, torch.arange(num_dst), weight)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("width", [1, 7, 32])
@pytest.mark.parametrize("chunk", [1 << 20, 64])
def test_cpu_equals_reference_with_gradients(weighted: bool, width: int, chunk: int) -> None:
    compare_on_cpu(random_block(width, weighted=weighted), width, 8 * chunk)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("width", [1, 7, 130])
def test_gpu_equals_reference_with_gradients(weighted: bool, width: int) -> None:
    pytest.importorskip("triton")
    compare_on_gpu(random_block(width, weighted=weighted).to(GPU), width)


def test_gradients_are_the_same_bits_with_few_edges_and_with_many() -> None:
    x, coming, found = torch.randn(40, 7, requires_grad=True), torch.randn(25, 7), []
    for work in (1 << 23, 1):
        out = gather_sum(x, random_block(1, weighted=True), work)
        found += torch.autograd.grad(out, x, coming)
    assert torch.equal(*found)


def test_a_receiver_without_senders_gets_zero() -> None:
    assert not gather_sum(torch.ones(40, 3), random_block(0, weighted=False))[0].any()


@pytest.mark.parametrize("weighted", [False, True])
def test_edges_by_sender(weighted: bool) -> None:
    block = random_block(3, weighted=weighted)
    indptr, receivers, factors = (part.numpy() for part in block.transposed)
    by_sender = csr_array((factors, receivers, indptr), (block.num_src, block.num_dst)).toarray()
    rows = (block.factors.numpy(), block.indices.numpy(), block.indptr.numpy())
    assert np.array_equal(by_sender.T, csr_array(rows, (block.num_dst, block.num_src)).toarray())
    assert receivers.size == block.indices.numel()
