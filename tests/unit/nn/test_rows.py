"""Dropout of input rows, in each form that rows have."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array, random_array

from mggcn.nn.rows import RepeatedRows, Rows, SparseRows, dropped, is_sparse, to_dense

SHARE = 0.3


def matrix() -> csr_array:
    return random_array((300, 40), density=0.5, format="csr", dtype=np.float32, rng=np.random.default_rng(0))


def dense() -> torch.Tensor:
    return torch.from_numpy(matrix().toarray())


def rows_of(kind: str) -> Rows:
    nodes, index = torch.arange(300), torch.arange(600) % 300
    rows = {"dense": dense(), "sparse": SparseRows(matrix(), nodes)}
    return rows[kind] if kind in rows else RepeatedRows(rows[kind.removeprefix("repeated ")], index)


@pytest.mark.parametrize("kind", ["dense", "sparse", "repeated dense", "repeated sparse"])
def test_a_share_of_the_values_becomes_zero_and_the_expectation_stays(kind: str) -> None:
    torch.manual_seed(0)
    rows = rows_of(kind)
    before, after = to_dense(rows), to_dense(dropped(rows, SHARE))
    assert is_sparse(dropped(rows, SHARE)) == is_sparse(rows)
    kept = after != 0
    assert 1 - float(kept.sum() / (before != 0).sum()) == pytest.approx(SHARE, abs=0.02)
    torch.testing.assert_close(after[kept], before[kept] / (1 - SHARE))
    mean = sum(to_dense(dropped(rows, SHARE)) for _ in range(300)) / 300
    torch.testing.assert_close(mean, before, atol=0.2, rtol=0)
    assert float((mean - before).mean()) == pytest.approx(0, abs=2e-3)


@pytest.mark.parametrize("kind", ["repeated dense", "repeated sparse"])
def test_repeats_of_a_row_lose_the_same_values(kind: str) -> None:
    after = to_dense(dropped(rows_of(kind), SHARE))
    assert torch.equal(after[:300], after[300:])


@pytest.mark.parametrize("kind", ["sparse", "repeated sparse"])
def test_dropped_rows_are_multiplied_with_their_gradient(kind: str) -> None:
    rows = dropped(rows_of(kind), SHARE)
    weight = torch.randn(40, 5, requires_grad=True)
    products = [rows.matmul(weight), to_dense(rows) @ weight]
    torch.testing.assert_close(*products)
    torch.testing.assert_close(*(torch.autograd.grad(each.square().sum(), weight)[0] for each in products))


def test_the_matrix_itself_is_unchanged() -> None:
    x = matrix()
    dropped(SparseRows(x, torch.arange(300)), SHARE)
    assert np.array_equal(x.toarray(), matrix().toarray())


def test_some_rows_in_another_order() -> None:
    nodes = torch.tensor([7, 299, 0])
    after = to_dense(dropped(SparseRows(matrix(), nodes), SHARE))
    kept = after != 0
    torch.testing.assert_close(after[kept], dense()[nodes][kept] / (1 - SHARE))
