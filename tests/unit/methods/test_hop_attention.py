"""SAGN and GAMLP: attention over hops, against the equations of their papers written out in numpy for single nodes."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array, random_array
from torch import nn

import mggcn
from mggcn.data._dataset import Dataset
from mggcn.data._features import as_features
from mggcn.errors import InputError
from mggcn.keys import Key
from mggcn.methods.gamlp import GAMLP
from mggcn.methods.method import Method
from mggcn.methods.sagn import SAGN
from mggcn.nn.rows import RepeatedRows
from mggcn.nn.stack import MLP
from mggcn.runs import resolve
from mggcn.training._compute import Compute
from mggcn.training._prepared import DenseInputs, SparseInputs

CPU = Compute(torch.device("cpu"))
WIDTH, CLASSES = 3, 4
METHODS: list[Method] = [
    SAGN(hops=2, hidden=5, heads=1, dropout=0.0),
    SAGN(hops=3, hidden=4, heads=3, layers=3, dropout=0.0, bias=False),
    SAGN(hops=1, hidden=4, heads=2, layers=1, dropout=0.0),
    GAMLP(hops=2, hidden=5, dropout=0.0),
    GAMLP(hops=3, hidden=4, layers=3, dropout=0.0, bias=False),
    GAMLP(hops=2, hidden=5, attention="recursive", dropout=0.0),
    GAMLP(hops=4, hidden=4, layers=1, attention="recursive", dropout=0.0),
    SAGN(hops=0, hidden=4, dropout=0.0),
    GAMLP(hops=0, hidden=4, attention="recursive", dropout=0.0),
]
IDS = [f"{type(method).__name__}-{number}" for number, method in enumerate(METHODS)]


def model_of(method: Method, width: int = WIDTH) -> nn.Module:
    """The module with biases that are not zero."""
    model = method.model((method.hops + 1) * width, CLASSES, torch.Generator().manual_seed(0))
    generator = torch.Generator().manual_seed(1)
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            nn.init.normal_(parameter, generator=generator)
    return model


def network(layers: MLP, row: NDArray[np.float64]) -> NDArray[np.float64]:
    """Linear layers with a ReLU between them."""
    for number, layer in enumerate(layers.layers):
        row = np.maximum(row, 0) if number else row
        row = row @ layer.weight.detach().double().numpy()
        row = row if layer.bias is None else row + layer.bias.detach().double().numpy()
    return row


def softmax(scores: list[float]) -> NDArray[np.float64]:
    exponentials = np.exp(np.array(scores))
    return exponentials / exponentials.sum()


def sagn(model: nn.Module, hops: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The scores of one node: Σ_k a_k h_k + W x, averaged over heads, through a ReLU and the last network."""
    query, key = (vectors.detach().double().numpy() for vectors in (model.query, model.key))
    encoded = [network(encoder, hop).reshape(query.shape) for encoder, hop in zip(model.encoders, hops, strict=True)]
    own = (hops[0] @ model.own.weight.detach().double().numpy()).reshape(query.shape)
    heads = []
    for head in range(query.shape[0]):
        raw = [query[head] @ encoded[0][head] + key[head] @ h[head] for h in encoded]
        weights = softmax([score if score > 0 else 0.2 * score for score in raw])
        heads.append(sum(weight * h[head] for weight, h in zip(weights, encoded, strict=True)) + own[head])
    return network(model, np.maximum(np.mean(heads, axis=0), 0))


def gamlp(model: nn.Module, hops: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The scores of one node: Σ_k w_k h_k through the last network."""
    h = [network(encoder, hop) for encoder, hop in zip(model.encoders, hops, strict=True)]

    def score(hop: NDArray[np.float64], reference: NDArray[np.float64]) -> float:
        value = np.concatenate([hop, reference]) @ model.score.weight.detach().double().numpy()[:, 0]
        value += 0.0 if model.score.bias is None else model.score.bias.detach().item()
        return float(1 / (1 + np.exp(-value)))

    def total(scores: list[float]) -> NDArray[np.float64]:
        return sum(weight * hop for weight, hop in zip(softmax(scores), h, strict=False))

    if model.reference is not None:
        reference = np.maximum(network(model.reference, np.concatenate(h)), 0)
        return network(model, total([score(hop, reference) for hop in h]))
    scores = [score(h[0], h[0])]
    for hop in h[1:]:
        scores.append(score(hop, total(scores)))
    return network(model, total(scores))


@pytest.mark.parametrize("method", METHODS, ids=IDS)
def test_scores_are_the_papers_equations(method: Method) -> None:
    model, reference = model_of(method).eval(), sagn if isinstance(method, SAGN) else gamlp
    hops = method.hops + 1
    x = torch.randn(6, hops * WIDTH, generator=torch.Generator().manual_seed(2))
    expected = [reference(model, np.split(row.double().numpy(), hops)) for row in x]
    np.testing.assert_allclose(model(x, ()).detach().numpy(), np.stack(expected), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("method", METHODS, ids=IDS)
def test_gradients_are_those_of_small_differences(method: Method) -> None:
    model = model_of(replace(method, attention_dropout=0.0)).double()
    x = torch.randn(3, (method.hops + 1) * WIDTH, generator=torch.Generator().manual_seed(2)).double()
    names, parameters = zip(*model.named_parameters(), strict=True)

    def scores(*values: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(model, dict(zip(names, values, strict=True)), (x, ()))

    assert torch.autograd.gradcheck(scores, parameters, eps=1e-6, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("method", METHODS, ids=IDS)
def test_sparse_rows_give_what_dense_rows_give(method: Method) -> None:
    width = 6 * (method.hops + 1)
    dense = random_array((9, width), density=0.3, rng=np.random.default_rng(0), dtype=np.float32).toarray()
    sparse, table = SparseInputs(csr_array(dense)), DenseInputs((torch.from_numpy(dense),))
    model = model_of(method, 6)
    for nodes in (torch.arange(9), torch.tensor([4, 1, 1, 7])):
        gradients = []
        for inputs in (sparse, table):
            rows = inputs.rows(nodes)
            assert isinstance(rows, RepeatedRows) == (nodes.numel() == 4)
            model.zero_grad()
            model(rows, ()).square().sum().backward()
            gradients.append([parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None])
        torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("method", [SAGN(heads=2, attention_dropout=0.5), GAMLP(attention_dropout=0.5)])
def test_weights_of_hops_are_dropped_in_training_only(method: Method) -> None:
    model = replace(method, dropout=0.0).model((method.hops + 1) * WIDTH, CLASSES, torch.Generator().manual_seed(0))
    x = torch.randn(40, (method.hops + 1) * WIDTH)
    scored, trained = model.eval()(x, ()), [model.train()(x, ()) for _ in range(2)]
    assert torch.equal(scored, model.eval()(x, ()))
    assert not torch.equal(*trained)
    plain = replace(method, dropout=0.0, attention_dropout=0.0).model(
        (method.hops + 1) * WIDTH, CLASSES, torch.Generator().manual_seed(0)
    )
    assert torch.equal(plain.train()(x, ()), scored)


CHOICES = [("sagn", {}), ("sagn", {"heads": 3}), ("gamlp", {}), ("gamlp", {"attention": "recursive"})]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("name", "settings"), CHOICES)
def test_they_learn(small: Dataset, name: str, settings: dict[str, object], sparse: bool) -> None:
    wide = np.zeros((60, 90), np.float32)
    wide[np.arange(60), small.y] = 1
    data = replace(small, x=as_features(csr_array(wide))) if sparse else small
    run = mggcn.fit(data, name, settings={"epochs": 100, **settings}, device="cpu")
    assert run.record.test_accuracy >= (0.9 if sparse else 0.7)


@pytest.mark.parametrize(("name", "settings"), CHOICES)
def test_they_are_about_as_accurate_as_sign_on_digits(name: str, settings: dict[str, object]) -> None:
    data = mggcn.load("digits")
    found, sign = (
        mggcn.fit(data, method, settings={"epochs": 30, **changes}, device="cpu").record.test_accuracy
        for method, changes in ((name, settings), ("sign", {}))
    )
    assert found >= sign - 0.02


@pytest.mark.parametrize("name", ["sagn", "gamlp"])
def test_norms_change_the_rows(small: Dataset, name: str) -> None:
    rows = [
        resolve(name, "small", {"norm": norm, "hops": 1, "scaling": "none"}).prepare(small, Key.of(0), CPU).train.inputs
        for norm in ("row", "symmetric")
    ]
    adjacency = np.eye(60)
    adjacency[small.graph.edges()] = 1
    degree = adjacency.sum(axis=1)
    for inputs, matrix in zip(
        rows, (adjacency / degree[:, None], adjacency / np.sqrt(np.outer(degree, degree))), strict=True
    ):
        expected = np.hstack([small.x, matrix @ small.x])
        np.testing.assert_allclose(inputs.rows(torch.arange(60)).numpy(), expected, atol=1e-5)


@pytest.mark.parametrize("name", ["sagn", "gamlp"])
@pytest.mark.parametrize("change", [{"hops": -1}, {"hidden": 0}, {"attention_dropout": 1.0}, {"norm": "column"}])
def test_settings_are_checked(name: str, change: dict[str, object]) -> None:
    with pytest.raises(InputError, match=next(iter(change))):
        resolve(name, "cora", change)
