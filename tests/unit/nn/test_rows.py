"""Dropout of input rows, in each form that rows have."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array, random_array

from mggcn.keys import Key
from mggcn.nn.rows import RepeatedRows, Rows, SparseRows, dropped, is_sparse, to_dense

SHARE = 0.3
NODES = torch.arange(600) % 300


def matrix() -> csr_array:
    return random_array((300, 40), density=0.5, format="csr", dtype=np.float32, rng=np.random.default_rng(0))


def dense() -> torch.Tensor:
    return torch.from_numpy(matrix().toarray())


def rows_of(kind: str) -> Rows:
    rows = {"dense": dense(), "sparse": SparseRows(matrix(), torch.arange(300))}
    return rows[kind] if kind in rows else RepeatedRows(rows[kind.removeprefix("repeated ")], NODES)


def drop(kind: str, seed: int = 0) -> Rows:
    return dropped(rows_of(kind), NODES if kind.startswith("repeated") else NODES[:300], SHARE, Key.of(seed))


@pytest.mark.parametrize("kind", ["dense", "sparse", "repeated dense", "repeated sparse"])
def test_a_share_of_the_values_becomes_zero_and_the_expectation_stays(kind: str) -> None:
    rows = rows_of(kind)
    before, after = to_dense(rows), to_dense(drop(kind))
    assert is_sparse(drop(kind)) == is_sparse(rows)
    kept = after != 0
    assert 1 - float(kept.sum() / (before != 0).sum()) == pytest.approx(SHARE, abs=0.02)
    torch.testing.assert_close(after[kept], before[kept] / (1 - SHARE))
    mean = sum(to_dense(drop(kind, seed)) for seed in range(300)) / 300
    torch.testing.assert_close(mean, before, atol=0.2, rtol=0)
    assert float((mean - before).mean()) == pytest.approx(0, abs=2e-3)


@pytest.mark.parametrize("kind", ["repeated dense", "repeated sparse"])
def test_repeats_of_a_row_lose_the_same_values(kind: str) -> None:
    after = to_dense(drop(kind))
    assert torch.equal(after[:300], after[300:])


@pytest.mark.parametrize("kind", ["sparse", "repeated sparse"])
def test_dropped_rows_are_multiplied_with_their_gradient(kind: str) -> None:
    rows = drop(kind)
    weight = torch.randn(40, 5, requires_grad=True)
    products = [rows.matmul(weight), to_dense(rows) @ weight]
    torch.testing.assert_close(*products)
    gradients = [torch.autograd.grad(each.square().sum(), weight)[0] for each in products]
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-3)


def test_the_matrix_itself_is_unchanged() -> None:
    x = matrix()
    dropped(SparseRows(x, torch.arange(300)), torch.arange(300), SHARE, Key.of(0))
    assert np.array_equal(x.toarray(), matrix().toarray())


def test_some_rows_in_another_order() -> None:
    nodes = torch.tensor([7, 299, 0])
    after = to_dense(dropped(SparseRows(matrix(), nodes), nodes, SHARE, Key.of(0)))
    kept = after != 0
    torch.testing.assert_close(after[kept], dense()[nodes][kept] / (1 - SHARE))


def test_dense_and_sparse_rows_merged_or_not_lose_the_same_values() -> None:
    distinct, nodes = torch.tensor([7, 120, 299]), torch.tensor([299, 7, 7, 120])
    index = torch.tensor([2, 0, 0, 1])
    rows: list[Rows] = [
        dense()[nodes],
        SparseRows(matrix(), nodes),
        RepeatedRows(dense()[distinct], index),
        RepeatedRows(SparseRows(matrix(), distinct), index),
    ]
    first, *others = (to_dense(dropped(each, nodes, SHARE, Key.of(1))) for each in rows)
    assert all(torch.equal(other, first) for other in others)


def test_other_numbers_than_float32_are_dropped_by_torch() -> None:
    after = dropped(torch.ones(100, 100, dtype=torch.bfloat16), torch.arange(100), 0.5, Key.of(0))
    assert after.dtype == torch.bfloat16
    assert float((after == 0).float().mean()) == pytest.approx(0.5, abs=0.05)
