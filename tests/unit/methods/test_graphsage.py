"""GraphSAGE's recipes: they learn, score alike in any company, and refuse bad fan-outs."""

import numpy as np
import pytest
import torch
from torch.nn import functional

import mggcn
from mggcn.data._dataset import Dataset
from mggcn.keys import Key
from mggcn.methods.graphsage import fanout_per_layer
from mggcn.nn.conv import MeanConv
from mggcn.nn.stack import Stack
from mggcn.runs import resolve
from mggcn.sampling.neighbor import NeighborSampler
from mggcn.training._compute import Compute
from mggcn.training._inference import Inference

NAMES = ["graphsage-mean", "graphsage-gcn", "graphsage-pool", "graphsage-lstm", "mg-graphsage"]
CPU = Compute(torch.device("cpu"))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_every_depth_learns(small: Dataset, name: str, layers: int) -> None:
    settings = {"layers": layers, "epochs": 30, "lr": 0.05, "fanouts": "4,3"}
    runs = [mggcn.fit(small, method=name, settings=settings, seed=seed, preset="paper") for seed in range(3)]
    assert np.mean([run.record.test_accuracy for run in runs]) >= 0.6


@pytest.mark.parametrize("name", [name for name in NAMES if name != "graphsage-lstm"])  # which reads them in order
def test_whole_neighbourhoods_are_what_a_large_fan_out_draws(small: Dataset, name: str) -> None:
    drawn, whole = (
        resolve(name, "small", {"fanouts": "99", "full_eval": full}).prepare(small, Key.of(1), CPU)
        for full in (False, True)
    )
    nodes = np.arange(60)
    scores = [Inference(method.model, method.eval, Key.of(0), CPU).predict(nodes) for method in (drawn, whole)]
    torch.testing.assert_close(*scores, rtol=1e-5, atol=1e-5)


def test_a_node_is_scored_alike_in_any_company(small: Dataset) -> None:
    method = resolve("graphsage-mean", "small", {"fanouts": "2,2"}).prepare(small, Key.of(1), CPU)
    together = Inference(method.model, method.eval, Key.of(0), CPU).predict(np.arange(60))
    alone = [Inference(method.model, method.eval, Key.of(0), CPU).predict(np.array([v])) for v in range(60)]
    torch.testing.assert_close(together, torch.cat(alone))


def test_hidden_rows_are_normalised_when_asked(small: Dataset) -> None:
    convs = [MeanConv(3, 4), MeanConv(4, 2)]
    x = torch.tensor(small.x)
    batch = NeighborSampler(small.graph, (3, 3)).batch(np.arange(9), Key.of(0))
    rows = x[batch.nodes]
    below = convs[0](rows, batch.blocks[0]).relu()
    for normalise, hidden in ((False, below), (True, functional.normalize(below, dim=1))):
        model = Stack(convs, normalise=normalise)
        torch.testing.assert_close(model(rows, batch.blocks), convs[1](hidden, batch.blocks[1]))


def test_fan_outs_in_words() -> None:
    assert fanout_per_layer("25,10", 2) == (25, 10)
    assert fanout_per_layer(" 25 , 10", 1) == (25,)
    assert fanout_per_layer("25,10", 4) == (25, 10, 10, 10)
    assert fanout_per_layer("7", 0) == ()


@pytest.mark.parametrize("words", ["", "25,", "25;10", "0", "-3", "2.5", "ten"])
def test_bad_fan_outs_are_refused(words: str) -> None:
    with pytest.raises(mggcn.InputError, match=r"fanouts: .* is not a list of whole numbers above 0, such as 25,10"):
        resolve("graphsage-mean", "small", {"fanouts": words})
