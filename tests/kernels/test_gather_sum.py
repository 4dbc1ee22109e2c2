import numpy as np
import pytest
import torch

from mggcn.block import Block
from mggcn.kernels import gather_sum as kernel
from mggcn.kernels.gather_sum import comparison, gather_sum


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
    comparison.on_cpu(random_block(width, weighted=weighted), width)


def test_a_receiver_without_senders_gets_zero() -> None:
    assert not gather_sum(torch.ones(40, 3), random_block(0, weighted=False))[0].any()


def test_edges_by_sender() -> None:
    block = random_block(3, weighted=False)
    indptr, edges, receivers = block.transposed
    rows = np.repeat(np.arange(block.num_dst), block.indptr.diff().numpy())
    assert np.array_equal(rows[edges], receivers)
    for sender in range(block.num_src):
        assert set(edges[indptr[sender] : indptr[sender + 1]]) == set(np.flatnonzero(block.indices.numpy() == sender))
