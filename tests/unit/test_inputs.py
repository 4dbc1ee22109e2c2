import numpy as np
import pytest
import torch
from scipy.sparse import csr_array, random_array

from mggcn.inputs import DenseInputs, SparseInputs, inputs_of
from mggcn.nn import Project

CPU = torch.device("cpu")


def sparse(density: float) -> csr_array:
    return random_array((40, 30), density=density, format="csr", dtype=np.float32, rng=np.random.default_rng(0))


def test_few_entries_stay_sparse_and_many_do_not() -> None:
    assert isinstance(inputs_of([sparse(0.05), sparse(0.05)], CPU), SparseInputs)
    assert isinstance(inputs_of([sparse(0.4), sparse(0.4)], CPU), DenseInputs)
    assert isinstance(inputs_of([sparse(0.05), sparse(0.05).toarray()], CPU), DenseInputs)
    assert inputs_of([sparse(0.05), sparse(0.05)], CPU).width == 60


@pytest.mark.parametrize("bias", [False, True])
def test_sparse_and_dense_products_agree_with_their_gradients(bias: bool) -> None:
    few, nodes = sparse(0.05), torch.tensor([3, 3, 0, 39])
    layer = Project(30, 5, bias=bias)
    results = []
    for inputs in (SparseInputs(few), DenseInputs(torch.from_numpy(few.toarray()))):
        layer.zero_grad()
        out = layer(inputs.rows(nodes))
        out.square().sum().backward()
        results.append((out.detach(), layer.weight.grad.clone()))
    torch.testing.assert_close(results[0], results[1])
