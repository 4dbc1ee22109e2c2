import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from mggcn.block import Block
from mggcn.kernels import gather_sum as kernel
from mggcn.kernels.gather_sum import comparison, gather_sum
from tests.gpu import GPU


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
def test_cpu_equals_reference_with_gradients(
    weighted: bool, width: int, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "_WORK_A_CHUNK", chunk)
    monkeypatch.setattr(kernel, "_WORK_FOR_THREADS", 8 * chunk)
    comparison.on_cpu(random_block(width, weighted=weighted), width)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("width", [1, 7, 130])
def test_gpu_equals_reference_with_gradients(weighted: bool, width: int) -> None:
    pytest.importorskip("triton")
    comparison.on_gpu(random_block(width, weighted=weighted).to(GPU), width)


def test_gradients_are_the_same_bits_with_few_edges_and_with_many(monkeypatch: pytest.MonkeyPatch) -> None:
    x, coming, found = torch.randn(40, 7, requires_grad=True), torch.randn(25, 7), []
    for work in (1 << 23, 1):
        monkeypatch.setattr(kernel, "_WORK_FOR_THREADS", work)
        found += torch.autograd.grad(gather_sum(x, random_block(1, weighted=True)), x, coming)
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
