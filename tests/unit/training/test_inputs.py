from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array, hstack, random_array

import mggcn
from mggcn.data import load_folder, save
from mggcn.data._dataset import Dataset
from mggcn.data._features import as_features
from mggcn.keys import Key
from mggcn.nn.conv import Linear
from mggcn.nn.rows import RepeatedRows, TableRows, dropped, gathered, num_bytes, to_dense
from mggcn.training._compute import Compute
from mggcn.training._prepared import AveragedInputs, DenseInputs, SparseInputs, inputs_of
from tests.conftest import small_dataset

CPU = Compute(torch.device("cpu"))


def sparse(density: float) -> csr_array:
    return random_array((40, 30), density=density, format="csr", dtype=np.float32, rng=np.random.default_rng(0))


def test_few_entries_stay_sparse_and_many_do_not() -> None:
    few = inputs_of([sparse(0.05), sparse(0.05)], CPU)
    assert isinstance(few, SparseInputs)
    assert few.x.shape[1] == 60
    assert isinstance(inputs_of([sparse(0.4), sparse(0.4)], CPU), DenseInputs)
    assert isinstance(inputs_of([sparse(0.05), sparse(0.05).toarray()], CPU), DenseInputs)


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
    one, two = np.ones((9, 4), np.float32), np.zeros((9, 3), np.float32)
    joined = inputs_of([one, two], CPU)
    monkeypatch.setattr("mggcn.training._prepared.is_too_large", lambda num_bytes: num_bytes > 3 * 9 * 7 * 4)
    shared = inputs_of([one, two], CPU)
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


@pytest.mark.parametrize("hops", [1, 2])
def test_features_averaged_later_are_the_same_rows(hops: int) -> None:
    x, rng = sparse(0.2), np.random.default_rng(1)
    a, b = (random_array((40, 40), density=0.1, format="csr", dtype=np.float32, rng=rng) for _ in range(2))
    nodes, parts = torch.tensor([3, 7, 3, 0, 39]), [x]
    for average in (a, b):
        part = x
        for _ in range(hops):
            part = csr_array(average @ part)
            parts.append(part)
    whole = np.hstack([part.toarray() for part in parts])
    inputs = AveragedInputs(x, (csr_array(a), b), hops)
    rows, weight = inputs.rows(nodes), torch.randn(whole.shape[1], 5, requires_grad=True)
    expected = torch.from_numpy(whole)[nodes]
    torch.testing.assert_close(rows.to_dense(), expected)
    found, right = rows.matmul(weight), expected @ weight
    torch.testing.assert_close(found, right)
    (back,), (same,) = (torch.autograd.grad(out.square().sum(), weight) for out in (found, right))
    torch.testing.assert_close(back, same)


@pytest.mark.parametrize("nodes", [torch.arange(40), torch.tensor([7, 3, 7, 39])])
def test_values_of_averages_are_dropped_in_every_form(nodes: torch.Tensor) -> None:
    x, key = sparse(0.2), Key.of(4)
    a = random_array((40, 40), density=0.1, format="csr", dtype=np.float32, rng=np.random.default_rng(1))
    whole = csr_array(hstack([x, a @ x], format="csr"))
    forms = [
        AveragedInputs(x, (csr_array(a),), 1),
        SparseInputs(whole),
        DenseInputs((torch.from_numpy(whole.toarray()),)),
        DenseInputs.on_gpu([torch.from_numpy(x.toarray()), torch.from_numpy((a @ x).toarray())], torch.float32),
    ]
    found = [to_dense(dropped(inputs.rows(nodes), nodes, 0.5, key)) for inputs in forms]
    before = torch.from_numpy(whole.toarray())[nodes]
    for rows in found:
        torch.testing.assert_close(rows, found[0])
        torch.testing.assert_close(rows[rows != 0], 2 * before[rows != 0])
    assert 0.4 < float((found[0] != 0).sum() / (before != 0).sum()) < 0.6


def test_rows_on_a_gpu_start_at_multiples_of_16_bytes() -> None:
    one, two = torch.randn(9, 4), torch.randn(9, 3)
    for dtype, padding in ((torch.float32, 1), (torch.bfloat16, 1)):
        inputs = DenseInputs.on_gpu([one, two], dtype)
        assert inputs.width == 7
        assert inputs.padding == padding
        rows, expected = inputs.rows(torch.tensor([2, 0, 2])), torch.cat([one, two], dim=1).to(dtype)
        assert torch.equal(to_dense(rows), expected[[2, 0, 2]])
        assert num_bytes(rows) == 3 * 7 * dtype.itemsize
        assert inputs.parts[0].stride(0) * dtype.itemsize % 16 == 0


def test_rows_of_a_table_are_copied_where_that_pays() -> None:
    inputs, nodes = DenseInputs.on_gpu([torch.randn(9, 7)], torch.float32), torch.tensor([2, 0])
    rows, expected = inputs.rows(nodes), inputs.parts[0][[2, 0], :7]
    assert isinstance(rows, TableRows)
    kept, repeated = gathered(rows), gathered(RepeatedRows(rows, torch.tensor([0, 1, 0])))
    assert torch.equal(to_dense(kept), expected)
    assert isinstance(repeated, RepeatedRows)
    assert torch.equal(to_dense(repeated.rows), expected)
    assert num_bytes(kept) == num_bytes(rows)
    assert gathered(repeated) is repeated
    some = to_dense(dropped(rows, nodes, 0.5, Key.of(0)))
    assert torch.equal(some[some != 0], 2 * expected[some != 0])


def of_density(density: float) -> Dataset:
    """The small data set with other features, of which a share is not 0."""
    x = random_array((60, 400), density=density, dtype=np.float32, rng=np.random.default_rng(0)).toarray()
    return replace(small_dataset(), x=x)


@pytest.mark.parametrize(
    ("method", "settings"),
    [("mg-gcn", {}), ("gcn", {"batches": "full"}), ("mlp", {"scaling": "tfidf"}), ("random-forest", {"trees": 5})],
)
@pytest.mark.parametrize("density", [0.01, 0.3, 0.8])
def test_the_format_of_features_changes_nothing(
    method: str, settings: dict[str, object], density: float, tmp_path: Path
) -> None:
    dense = of_density(density)
    full = csr_array((dense.x.ravel(), np.tile(np.arange(400), 60), np.arange(0, 24001, 400)), shape=(60, 400))
    save(dense, tmp_path / "d")
    others = [
        replace(dense, x=as_features(csr_array(dense.x))),
        replace(dense, x=full),
        Dataset.from_pyg(dense.to_pyg()),
    ]
    mapped = load_folder(tmp_path / "d", mmap=True)
    expected, *runs = (
        mggcn.fit(data, method, settings={"epochs": 2, **settings}, device="cpu") for data in (dense, *others, mapped)
    )
    for run in runs:
        assert replace(run.plan, data=expected.plan.data) == expected.plan
        assert run.record.settings == expected.record.settings
        for name, tensor in expected.model.state_dict().items():
            assert torch.equal(run.model.state_dict()[name], tensor), name
        assert np.array_equal(run.predict().probabilities, expected.predict().probabilities)


def test_the_recipe_asks_whether_most_values_are_zero() -> None:
    scalings = [mggcn.fit(of_density(share), settings={"epochs": 1}).record.settings["scaling"] for share in (0.4, 0.6)]
    assert scalings == ["root", "standard"]
