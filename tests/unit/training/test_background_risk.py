"""The risk of positive-unlabelled learning."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional

import mggcn
from mggcn.data._background import draw_background
from mggcn.data._dataset import Dataset
from mggcn.data._split import Split
from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.training._background_risk import background_risk

NAMES = ("Converter", "Exchange", "Gambling", "ICO", "Mining", "Phish")


def mixture(seed: int, hidden: float) -> tuple[Dataset, np.ndarray]:
    """Two overlapping kinds of nodes without edges: 200 labelled ones, and 1,000 in the background, some of them alike.

    Returns:
        The data set, and which nodes are truly of the labelled kind.
    """
    rng = np.random.default_rng(seed)
    is_phish = np.concatenate([np.ones(200, bool), rng.random(1000) < hidden])
    x = (rng.normal(0, 1, (1200, 2)) + 2.0 * is_phish[:, None]).astype(np.float32)
    y = np.repeat([0, 1], [200, 1000])
    graph = Graph.from_edges(np.empty(0, np.int64), np.empty(0, np.int64), 1200)
    return Dataset("mixture", graph, x, y, ("Phish", "Background"), Split.stratified(y, seed)), is_phish


def test_the_likelihood_is_that_of_labels_which_members_have_by_chance() -> None:
    """Of 180 members 120 have a label: two for each of the 60 among 600 unlabelled nodes."""
    rng = np.random.default_rng(0)
    data, _ = mixture(0, 0.2)
    nodes = data.split.train
    risk = background_risk(data, nodes, 0.1, "likelihood")
    q = torch.from_numpy(rng.dirichlet([1, 1], nodes.size))
    labels = torch.from_numpy(data.y[nodes])
    weight = torch.stack([2 * q[:, 0], torch.ones(nodes.size)], dim=1)
    p = weight / weight.sum(dim=1, keepdim=True)
    expected = functional.nll_loss(p.log(), labels)
    constant = 120 / 720 * np.log(2)
    torch.testing.assert_close(risk(q.log(), labels), expected + constant, rtol=1e-9, atol=0)


def test_the_non_negative_risk_is_that_of_the_definition() -> None:
    data, _ = mixture(0, 0.2)
    nodes = data.split.train
    risk = background_risk(data, nodes, 0.2, "non-negative")
    scores, labels = torch.randn(nodes.size, 2, dtype=torch.float64), torch.from_numpy(data.y[nodes])
    phish, background = scores[labels == 0], scores[labels == 1]

    def loss(rows: torch.Tensor, label: int) -> torch.Tensor:
        return functional.cross_entropy(rows, torch.full((len(rows),), label))

    expected = 0.2 * loss(phish, 0) + max(loss(background, 1) - 0.2 * loss(phish, 1), 0)
    torch.testing.assert_close(risk(scores, labels), expected, rtol=1e-6, atol=0)
    sure = torch.where(labels[:, None] == 1, torch.tensor([-9.0, 9.0]), torch.tensor([9.0, -9.0])).requires_grad_()
    value = risk(sure, labels)
    assert 0 <= value < 1e-6, "an estimate below 0 counts as 0"
    value.backward()
    assert torch.equal(sure.grad[labels == 1], torch.zeros(int((labels == 1).sum()), 2))


@pytest.mark.parametrize("risk", ["likelihood", "non-negative"])
def test_the_prior_makes_probabilities_those_of_the_graph(risk: str) -> None:
    """Half of the background is of the labelled kind: plain training gives it too little, the risk what is true."""
    data, is_phish = mixture(1, 0.5)
    background = data.y == 1
    shares = {}
    for prior in (0.0, 0.5):
        settings = {"background_prior": prior, "background_risk": risk, "epochs": 60, "scaling": "standard"}
        run = mggcn.fit(data, "mlp", settings=settings)
        assert run.record.temperature == 1 or not prior
        shares[prior] = run.predict(data).probabilities[background, 0].mean()
    truth = is_phish[background].mean()
    assert abs(shares[0.5] - truth) < 0.1
    assert shares[0.0] < truth - 0.2


@pytest.mark.parametrize("risk", ["likelihood", "non-negative"])
def test_nodes_of_one_class_or_a_single_one_have_a_risk(risk: str) -> None:
    data, _ = mixture(0, 0.2)
    for nodes in (np.array([0]), np.array([500]), np.arange(5), np.arange(500, 505)):
        labels = torch.from_numpy(data.y[nodes])
        assert background_risk(data, nodes, 0.2, risk)(torch.zeros(nodes.size, 2), labels).isfinite()


def test_what_it_cannot_be_combined_with(small: Dataset) -> None:
    with pytest.raises(InputError, match="background_prior: small has no class Background"):
        mggcn.fit(small, "mlp", settings={"background_prior": 0.1})
    with pytest.raises(InputError, match="background_prior: cannot be combined with class_weights"):
        mggcn.fit(small, "mlp", settings={"background_prior": 0.1, "class_weights": "balanced"})
    named = replace(small, classes=("red", "green", "Background"))
    with pytest.raises(InputError, match="background_prior: needs a method whose targets have equal weights"):
        mggcn.fit(named, "graphsaint", settings={"background_prior": 0.1, "epochs": 1})


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("ibis")
    from mggcn.ethereum._simulate import simulate

    folder = tmp_path_factory.mktemp("chain")
    simulate(folder / "chain.parquet", labels=folder / "labels.csv", scale=0.02)
    return folder


def test_ordinary_accounts_of_a_simulated_chain_are_background(chain: Path) -> None:
    """Every account without a label is an ordinary user: a closed world gives all of them a class, an open one few."""
    from mggcn.ethereum._build import build
    from mggcn.ethereum._build_files import BuildInputs

    shares = []
    for number in (0, 300):
        inputs, labels = BuildInputs((chain / "chain.parquet",)), chain / "labels.csv"
        data = build(inputs, chain / f"accounts-{number}", labels=labels, background=number).dataset
        run = mggcn.fit(data, "mg-gcn", settings={"epochs": 60})
        ordinary = draw_background(data.graph.indptr, np.flatnonzero(data.y >= 0), 500, seed=5)
        shares.append(np.isin(run.predict(data, ordinary).labels, NAMES).mean())
    assert shares[0] == 1
    assert shares[1] < 0.3
