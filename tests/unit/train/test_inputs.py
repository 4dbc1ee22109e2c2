import numpy as np
import pytest
import torch
from scipy.sparse import csr_array, random_array

from mggcn.nn import Linear
from mggcn.train import Compute
from mggcn.train.inputs import DenseInputs, SparseInputs, inputs_of, sparse_inputs


def sparse(density: float) -> csr_array:
    return random_array((40, 30), density=density, format="csr", dtype=np.float32, rng=np.random.default_rng(0))


def test_few_entries_stay_sparse_and_many_do_not() -> None:
    few = sparse_inputs([sparse(0.05), sparse(0.05)])
    assert few is not None
    assert few.width == 60
    assert sparse_inputs([sparse(0.4), sparse(0.4)]) is None
    assert sparse_inputs([sparse(0.05), sparse(0.05).toarray()]) is None


def test_parts_stand_side_by_side() -> None:
    one, two = torch.randn(9, 4), torch.randn(9, 3)
    nodes = torch.tensor([8, 0, 0], dtype=torch.int32)
    inputs = DenseInputs((one, two))
    assert inputs.width == 7
    joined = torch.cat([one, two], dim=1)[nodes.long()]
    weight = torch.randn(7, 5, requires_grad=True)
    found, expected = inputs.rows(nodes).matmul(weight), joined @ weight
    torch.testing.assert_close(found, expected)
    (back,), (right,) = (torch.autograd.grad(out.square().sum(), weight) for out in (found, expected))
    torch.testing.assert_close(back, right)
    torch.testing.assert_close(DenseInputs((one,)).rows(nodes).matmul(weight[:4]), one[nodes.long()] @ weight[:4])


def test_parts_are_joined_if_there_is_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two, cpu = np.ones((9, 4), np.float32), np.zeros((9, 3), np.float32), Compute(torch.device("cpu"))
    joined = inputs_of([one, two], cpu)
    monkeypatch.setattr("mggcn.train.inputs.is_too_large", lambda num_bytes: num_bytes > 3 * 9 * 7 * 4)
    shared = inputs_of([one, two], cpu)
    assert isinstance(joined, DenseInputs)
    assert isinstance(shared, DenseInputs)
    assert [part.shape[1] for part in joined.parts] == [7]
    assert [part.shape[1] for part in shared.parts] == [4, 3]
    assert np.shares_memory(shared.parts[0].numpy(), one)


@pytest.mark.parametrize("bias", [False, True])
def test_sparse_and_dense_products_agree_with_their_gradients(bias: bool) -> None:
    few, nodes = sparse(0.05), torch.tensor([3, 3, 0, 39])
    layer = Linear(30, 5, bias=bias)
    results = []
    for inputs in (SparseInputs(few), DenseInputs((torch.from_numpy(few.toarray()),))):
        layer.zero_grad()
        out = layer(inputs.rows(nodes))
        out.square().sum().backward()
        results.append((out.detach(), layer.weight.grad.clone()))
    torch.testing.assert_close(results[0], results[1])


def test_rows_on_a_gpu_start_at_multiples_of_16_bytes() -> None:
    one, two = torch.randn(9, 4), torch.randn(9, 3)
    for dtype, padding in ((torch.float32, 1), (torch.bfloat16, 1)):
        inputs = DenseInputs.on_gpu([one, two], dtype)
        assert inputs.width == 7
        assert inputs.padding == padding
        rows = inputs.parts[0][:, : inputs.width]
        assert torch.equal(rows, torch.cat([one, two], dim=1).to(dtype))
        assert rows.stride(0) * dtype.itemsize % 16 == 0
