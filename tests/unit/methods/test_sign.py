from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array, random_array

import mggcn
from mggcn.data._dataset import Dataset
from mggcn.data._features import as_features
from mggcn.errors import InputError
from mggcn.keys import Key
from mggcn.methods._hops import columns
from mggcn.methods.sign import SIGN, HopNetwork
from mggcn.nn.rows import RepeatedRows, SparseRows, to_dense
from mggcn.runs import resolve
from mggcn.sampling.adjacency import propagation
from mggcn.training._compute import Compute
from mggcn.training._prepared import DenseInputs, SparseInputs

CPU = Compute(torch.device("cpu"))


def test_it_learns(small: Dataset) -> None:
    assert mggcn.fit(small, "sign", settings={"epochs": 100}, device="cpu").record.test_accuracy >= 0.8


def test_inputs_are_the_powers_side_by_side(small: Dataset) -> None:
    method = resolve("sign", small.name, {"hops": 2}).prepare(small, Key.of(0), CPU)
    x, adjacency = method.scaler.apply(small.x), propagation(small.graph).toarray()
    found = to_dense(method.train.inputs.rows(torch.arange(60))).numpy()
    np.testing.assert_allclose(found, np.hstack([x, adjacency @ x, adjacency @ adjacency @ x]), atol=1e-5)


def test_the_model_is_the_papers_equation() -> None:
    model = HopNetwork(SIGN(hops=1, hidden=4, dropout=0.0), 6, 2, torch.Generator().manual_seed(0)).eval()
    x = torch.randn(5, 6)
    zero, one = (project(part) for project, part in zip(model.hops, (x[:, :3], x[:, 3:]), strict=True))
    expected = torch.cat([zero, one], dim=1).relu() @ model.last.weight + model.last.bias
    torch.testing.assert_close(model(x, ()), expected)


def test_sparse_rows_give_what_dense_rows_give() -> None:
    dense = random_array((9, 12), density=0.3, rng=np.random.default_rng(0), dtype=np.float32).toarray()
    sparse, table = SparseInputs(csr_array(dense)), DenseInputs((torch.from_numpy(dense),))
    model = HopNetwork(SIGN(hops=2, hidden=5, dropout=0.0), 12, 3, torch.Generator().manual_seed(0))
    for nodes in (torch.arange(9), torch.tensor([4, 1, 1, 7])):
        gradients = []
        for inputs in (sparse, table):
            model.zero_grad()
            model(inputs.rows(nodes), ()).square().sum().backward()
            gradients.append([parameter.grad.clone() for parameter in model.parameters()])
        torch.testing.assert_close(*gradients)


def test_columns_keep_the_kind_of_rows() -> None:
    x = torch.arange(12.0).view(2, 6)
    rows = SparseRows(csr_array(x.numpy()), torch.tensor([1, 0]))
    repeated = RepeatedRows(rows, torch.tensor([0, 0, 1]))
    for part, expected in zip(columns(repeated, 3, 2), (x[:, :3], x[:, 3:]), strict=True):
        assert isinstance(part, RepeatedRows)
        assert isinstance(part.rows, SparseRows)
        torch.testing.assert_close(part.to_dense(), expected[[1, 1, 0]])


def test_sparse_features_learn(small: Dataset) -> None:
    wide = np.zeros((60, 90), np.float32)
    wide[np.arange(60), small.y] = 1
    data = replace(small, x=as_features(csr_array(wide)))
    assert mggcn.fit(data, "sign", settings={"epochs": 60}, device="cpu").record.test_accuracy >= 0.9


@pytest.mark.parametrize("change", [{"hops": -1}, {"hidden": 0}, {"dropout": 1.0}])
def test_settings_are_checked(change: dict[str, object]) -> None:
    with pytest.raises(InputError, match=next(iter(change))):
        resolve("sign", "cora", change)
