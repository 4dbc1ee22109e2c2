"""PyTorch Geometric's convolutions in a stack and above MG-GCN's fine layer."""

import numpy as np
import pytest
import torch
from torch import nn
from torch_geometric.nn import GATConv, SAGEConv, TransformerConv

import mggcn
from mggcn.block import Block
from mggcn.data._dataset import Dataset
from mggcn.kernels.pick import PickTable
from mggcn.keys import Key
from mggcn.methods.mg_gcn import MixGrained
from mggcn.nn.conv import MeanConv, PyGConv
from mggcn.nn.stack import Stack
from mggcn.sampling.mix_grained import MixGrainedSampler
from mggcn.training._training import Training

CONVS = [SAGEConv, GATConv, TransformerConv]


def sage(in_channels: int, out_channels: int) -> nn.Module:
    return PyGConv(SAGEConv(in_channels, out_channels))


def test_edges_are_those_of_the_block() -> None:
    block = Block(5, torch.tensor([0, 2, 2, 3]), torch.tensor([4, 1, 3]), torch.tensor([0, 1, 2]))
    assert block.edge_index.tolist() == [[4, 1, 3], [0, 0, 2]]


def test_sage_in_a_stack_is_the_mean_convolution(small: Dataset) -> None:
    ours, theirs = MeanConv(3, 4), SAGEConv(3, 4, bias=False)
    root, mean = ours.linear.weight.detach().T.chunk(2, dim=1)
    theirs.lin_r.weight.data, theirs.lin_l.weight.data = root.contiguous(), mean.contiguous()
    sampler = MixGrainedSampler(PickTable.of(small.graph), 4, layers=3, padding="none")
    (batch,) = sampler.batches(np.arange(60), Key.of(0), 60)
    x = torch.tensor(small.x)[batch.nodes.long()]
    for block in batch.blocks:
        rows = x[: block.num_src]
        torch.testing.assert_close(Stack([PyGConv(theirs)])(rows, [block]), Stack([ours])(rows, [block]))


@pytest.mark.parametrize("kind", CONVS)
@pytest.mark.parametrize("layers", [2, 3])
def test_convolutions_train_above_the_fine_layer(small: Dataset, kind: type[nn.Module], layers: int) -> None:
    method = MixGrained(conv=lambda a, b: PyGConv(kind(a, b)), layers=layers, hidden=8, picks=4)
    training = Training(lr=0.03, epochs=40, batch_size=16)
    run = mggcn.fit(small, method, training=training, device="cpu")
    assert run.record.test_accuracy > 0.6
    again = mggcn.fit(small, method, training=training, device="cpu")
    assert again.record.curve[-1].val_loss == run.record.curve[-1].val_loss


def test_the_record_names_the_function(small: Dataset) -> None:
    run = mggcn.fit(small, MixGrained(conv=sage), training=Training(epochs=2), preset="paper")
    assert run.record.settings["conv"] == f"{__name__}:sage"
    settings = {"conv": f"{__name__}:sage", "epochs": 2, "scaling": "auto"}
    named = mggcn.fit(small, "mg-gcn", settings=settings, preset="paper")
    assert named.record.test_accuracy == run.record.test_accuracy
