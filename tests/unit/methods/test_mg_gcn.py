"""MG-GCN with one part changed: what the blocks then say."""

import numpy as np
import pytest
import torch

from mggcn.data._dataset import Dataset
from mggcn.experiments._definition import ABLATIONS
from mggcn.kernels.pick import PickTable
from mggcn.keys import Key
from mggcn.nn.rows import to_dense
from mggcn.runs import resolve
from mggcn.sampling import grains
from mggcn.sampling.mix_grained import MixGrainedSampler
from mggcn.training import Fit, train
from mggcn.training._compute import Compute
from mggcn.training._loop import Silent
from tests.properties import assert_batch_is_valid

CPU = Compute(torch.device("cpu"))


@pytest.mark.parametrize(
    ("layers", "fine", "skip", "expected"),
    [
        (1, True, True, ("fine",)),
        (1, False, True, ("skip",)),
        (1, False, False, ("near",)),
        (2, True, False, ("fine", "near")),
        (2, False, True, ("coarse", "skip")),
        (4, False, False, ("coarse", "coarse", "coarse", "near")),
    ],
)
def test_schedules(layers: int, fine: bool, skip: bool, expected: tuple[str, ...]) -> None:
    assert grains.schedule(layers, has_fine=fine, has_skip=skip) == expected


def test_without_skip_a_target_hears_only_neighbours_among_its_picks(small: Dataset) -> None:
    sampler = MixGrainedSampler(PickTable.of(small.graph), 4, 2, has_skip=False)
    for batch in sampler.batches(small.split.train, Key.of(0), 16):
        assert_batch_is_valid(batch)
        (block,) = batch.blocks
        for t, target in enumerate(batch.targets.tolist()):
            heard = batch.nodes[block.indices[block.indptr[t] : block.indptr[t + 1]]].tolist()
            members = batch.nodes.view(5, -1)[:, t].tolist()
            assert sorted(heard) == sorted({u for u in members if u in small.graph.row(target)})


def test_without_the_fine_layer_every_layer_has_a_block(small: Dataset) -> None:
    sampler = MixGrainedSampler(PickTable.of(small.graph), 3, 3, has_fine=False)
    for batch in sampler.batches(small.split.train, Key.of(0), 16):
        assert_batch_is_valid(batch)
        assert len(batch.blocks) == 3


@pytest.mark.parametrize("variant", ABLATIONS, ids=lambda variant: variant.label)
@pytest.mark.parametrize("layers", [2, 3])
def test_every_variant_trains(small: Dataset, variant: object, layers: int) -> None:
    plan = resolve("mg-gcn", small.name, {**variant.settings, "layers": layers, "epochs": 2})
    method = plan.prepare(small, Key.of(0), CPU)
    assert (
        to_dense(method.train.inputs.rows(torch.arange(3))).shape[1]
        == (2 if plan.method.fine else 1) * small.num_features
    )
    fitted = train(Fit(method, small, plan.training, Key.of(0), CPU), Silent())
    assert np.isfinite(fitted.val.loss)
