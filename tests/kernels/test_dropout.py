"""Dropout by counters against its reference, and the statistics of what is dropped."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array
from torch import Tensor

from mggcn.kernels.dropout import dropout, dropout_gathered, dropout_sparse
from mggcn.keys import Key
from tests.reference import dropout as reference


def compare_on_cpu(x: csr_array, nodes: Tensor, share: float, key: Key, **division: int) -> None:
    """Compare dropout of the rows ``nodes`` of x, as a sparse matrix and as a dense one with its gradient."""
    rows = x[nodes.numpy()].toarray()
    expected = reference.dropout(rows, nodes.numpy(), share, key)
    leaf = torch.from_numpy(rows).requires_grad_()
    dense = dropout(leaf, nodes, share, key, **division)
    coming = torch.randn(rows.shape, generator=torch.Generator().manual_seed(0))
    (back,) = torch.autograd.grad(dense, leaf, coming)
    padded = torch.from_numpy(np.pad(x.toarray(), ((0, 0), (0, 3)), constant_values=np.nan))
    gathered = dropout_gathered(padded, x.shape[1], nodes, share, key, **division)
    sparse = dropout_sparse(x, nodes, share, key, **division)
    np.testing.assert_array_equal(dense.detach().numpy(), expected)
    np.testing.assert_array_equal(back.numpy(), reference.dropout(coming.numpy(), nodes.numpy(), share, key))
    np.testing.assert_array_equal(gathered.numpy(), expected)
    np.testing.assert_array_equal(sparse.toarray(), expected)
    np.testing.assert_array_equal(np.diff(sparse.indptr), np.count_nonzero(expected, axis=1))


def matrix(density: float, width: int = 41) -> csr_array:
    return random_array((50, width), density=density, format="csr", dtype=np.float32, rng=np.random.default_rng(0))


def kept(key: Key, share: float, nodes: int = 200, width: int = 500) -> np.ndarray:
    return dropout(torch.ones(nodes, width), torch.arange(nodes), share, key).numpy() != 0


@settings(max_examples=settings().max_examples // 5)
@given(
    nodes=st.lists(st.integers(0, 49), max_size=9),
    share=st.floats(0, 1, exclude_max=True),
    seed=st.integers(0, 2**64 - 1),
    width=st.integers(1, 9),
)
def test_cpu_equals_reference(nodes: list[int], share: float, seed: int, width: int) -> None:
    compare_on_cpu(matrix(0.5, width), torch.tensor(nodes, dtype=torch.int64), share, Key(seed))


@pytest.mark.parametrize("density", [0.0, 0.05, 0.6])
@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_the_result_does_not_depend_on_threads(density: float, threads: int) -> None:
    nodes = torch.from_numpy(np.random.default_rng(1).integers(0, 50, 133).astype(np.int32))
    compare_on_cpu(matrix(density, 40_000), nodes, 0.4, Key.of(3), threads=threads)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.75])
def test_the_share_is_dropped_and_the_mean_stays(share: float) -> None:
    x = torch.full((400, 500), 3.0)
    after = dropout(x, torch.arange(400), share, Key.of(0))
    spread = (share * (1 - share) / x.numel()) ** 0.5
    assert float((after == 0).float().mean()) == pytest.approx(share, abs=4 * spread)
    assert float(after.mean()) == pytest.approx(3.0, abs=4 * 3 * spread / (1 - share))
    torch.testing.assert_close(after[after != 0].unique(), torch.tensor([3 / (1 - share)]))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param((slice(None), slice(0, -1)), (slice(None), slice(1, None)), id="columns"),
        pytest.param((slice(None), slice(0, -2)), (slice(None), slice(2, None)), id="hashes"),
        pytest.param((slice(0, -1), slice(None)), (slice(1, None), slice(None)), id="nodes"),
    ],
)
def test_neighbouring_values_are_independent(one: tuple[slice, slice], other: tuple[slice, slice]) -> None:
    mask = kept(Key.of(1), 0.5)
    assert float((mask[one] & mask[other]).mean()) == pytest.approx(0.25, abs=0.006)


@pytest.mark.parametrize("keys", [(Key.of(0), Key.of(1)), (Key.of(0).fold(4), Key.of(0).fold(5))])
def test_other_keys_drop_independent_values(keys: tuple[Key, Key]) -> None:
    one, other = (kept(key, 0.5) for key in keys)
    assert float((one & other).mean()) == pytest.approx(0.25, abs=0.006)


def test_every_node_and_every_column_loses_its_share() -> None:
    mask = kept(Key.of(2), 0.3, nodes=1000, width=1000)
    assert np.abs(mask.mean(axis=0) - 0.7).max() < 0.075
    assert np.abs(mask.mean(axis=1) - 0.7).max() < 0.075


def test_the_rows_of_a_node_lose_the_same_values_wherever_they_are() -> None:
    x, key = matrix(1.0), Key.of(5)
    whole = dropout_sparse(x, torch.arange(50), 0.5, key).toarray()
    some = dropout_sparse(x, torch.tensor([7, 49, 7]), 0.5, key).toarray()
    assert np.array_equal(some, whole[[7, 49, 7]])


def test_hashes_are_those_of_keys() -> None:
    key = Key.of(9)
    draws = [(key.fold(3, column // 2).value >> (32 * (column % 2))) % 2**32 for column in range(7)]
    expected = [draw >= 2**32 * 0.25 for draw in draws]
    assert reference.kept(np.array([3]), 7, 0.25, key)[0].tolist() == expected


def test_the_inputs_are_unchanged() -> None:
    x, dense = matrix(0.5), torch.ones(3, 4)
    dropout_sparse(x, torch.arange(50), 0.5, Key.of(0))
    dropout(dense, torch.arange(3), 0.5, Key.of(0))
    assert np.array_equal(x.toarray(), matrix(0.5).toarray())
    assert torch.equal(dense, torch.ones(3, 4))
