import numpy as np
import pytest
import torch
from torch_geometric.nn import SAGEConv

from mggcn.block import Block, CPUSampler, node_ids, split_targets
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.keys import Key
from mggcn.sampling.neighbor import NeighborSampler
from mggcn.training._prepared import DenseInputs, View


def block_of(small: Dataset) -> Block:
    targets = np.array([5, 0, 9, 31])
    (batch,) = NeighborSampler(small.graph, (3,)).batches(targets, Key.of(2), 4)
    return batch.blocks[0]


def test_edge_index_lists_the_senders_of_each_receiver(small: Dataset) -> None:
    block = block_of(small)
    assert block.edge_index.dtype == torch.int64
    assert block.edge_index.shape == (2, block.indices.numel())
    for receiver in range(block.num_dst):
        start, stop = block.indptr[receiver : receiver + 2].tolist()
        senders = block.edge_index[0, block.edge_index[1] == receiver]
        assert senders.tolist() == block.indices[start:stop].tolist()
    assert torch.equal(block.receivers, block.edge_index[1])


def test_a_receiver_without_senders_has_no_edges() -> None:
    block = Block(3, torch.tensor([0, 2, 2, 3]), torch.tensor([1, 2, 0], dtype=torch.int32), torch.arange(3))
    assert block.edge_index.tolist() == [[1, 2, 0], [0, 0, 2]]
    assert block.to("cpu").edge_index.dtype == torch.int64


def test_pygs_bipartite_convolution_takes_it(small: Dataset) -> None:
    block = block_of(small)
    x, conv = torch.randn(block.num_src, 3), SAGEConv(3, 2)
    means = torch.stack([x[part].mean(dim=0) for part in block.indices.split(block.indptr.diff().tolist())])
    expected = conv.lin_l(means) + conv.lin_r(x[block.root])
    torch.testing.assert_close(conv((x, x[block.root]), block.edge_index), expected)


def test_targets_are_copied_and_cut() -> None:
    targets = np.arange(5)
    parts = split_targets(targets, 2)
    assert [part.tolist() for part in parts] == [[0, 1], [2, 3], [4]]
    assert not np.shares_memory(node_ids(targets), targets)
    assert node_ids(torch.tensor([3, 1], dtype=torch.int32)).dtype == np.int64
    assert CPUSampler.device == torch.device("cpu")


def test_what_a_sampler_can_do_is_inherited_and_a_misspelt_word_is_an_error() -> None:
    class Own(CPUSampler, draws_per_target=True):
        pass

    class Whole(Own, one_batch=True, draws_per_target=False):
        pass

    assert (CPUSampler.draws_per_target, Own.draws_per_target, Own.one_batch) == (False, True, False)
    assert (Whole.draws_per_target, Whole.one_batch) == (False, True)
    with pytest.raises(TypeError, match="draw_per_target"):
        type("Misspelt", (CPUSampler,), {}, draw_per_target=True)


def test_a_view_needs_a_sampler_that_declares_what_it_can_do() -> None:
    with pytest.raises(InputError, match=r"^object: not a mggcn\.block\.Sampler"):
        View(DenseInputs((torch.zeros(1, 1),)), object())
