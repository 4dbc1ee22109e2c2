"""Input rows on disk: equal bits, whatever the width of the strips, and the same training."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

import mggcn
from mggcn._io.memory import size
from mggcn.data import load_folder, save
from mggcn.data._cache import Cache
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.keys import Key
from mggcn.runs import resolve
from mggcn.training._compute import Compute

CPU = torch.device("cpu")


@pytest.mark.parametrize("scaling", ["row", "root", "standard", "none"])
@pytest.mark.parametrize(("hops", "columns"), [(1, 1), (2, 2), (1, 100)])
def test_rows_in_strips_have_the_bits_of_those_in_memory(
    small: Dataset, tmp_path: Path, scaling: str, hops: int, columns: int
) -> None:
    plan = resolve("mg-gcn", small.name, {"scaling": scaling, "hops": hops}, preset="paper")
    in_memory = plan.prepare(small, Key.of(0), Compute(CPU))
    cache = Cache(tmp_path, memory=12 * small.num_nodes * columns)
    on_disk = plan.prepare(small, Key.of(0), Compute(CPU, cache=cache))
    (rows,) = on_disk.train.inputs.parts
    assert torch.equal(rows, torch.cat(in_memory.train.inputs.parts, dim=1))


def test_too_little_memory_for_a_column_is_refused(small: Dataset, tmp_path: Path) -> None:
    plan, needed = resolve("mg-gcn", small.name, {}), 12 * small.num_nodes
    cache = Cache(tmp_path, memory=needed - 1)
    with pytest.raises(InputError, match=f"memory: .* too little .*, at least {re.escape(size(needed))} are needed"):
        plan.prepare(small, Key.of(0), Compute(CPU, cache=cache))
    assert not any("rows" in entry.what for entry in cache.entries())


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("inductive", [False, True])
@pytest.mark.parametrize("norm", ["mean", "symmetric"])
def test_training_from_disk_has_the_weights_of_training_in_memory(
    small: Dataset, tmp_path: Path, sparse: bool, inductive: bool, norm: str
) -> None:
    x = csr_array(np.maximum(small.x, 0)) if sparse else small.x
    data = save(replace(small, x=x, inductive=inductive), tmp_path / "data")
    settings = {"epochs": 3, "fine_norm": norm, "scaling": "none", "portfolio": "none"}
    weights = []
    for mmap in (False, True, True):
        run = mggcn.fit(load_folder(data.path, mmap=mmap), settings=settings, device="cpu")
        weights.append([parameter.detach().clone() for parameter in run.model.parameters()])
    for others in zip(*weights, strict=True):
        assert all(torch.equal(others[0], other) for other in others[1:])
    kept = [entry.what for entry in Cache(tmp_path / "prepared").entries()]
    assert [what["graph"] for what in kept if "rows" in what].count("whole") == 1
    assert [what["graph"] for what in kept if "edges" in what] == ["train"] * inductive


def test_changed_features_of_mapped_data_are_not_those_on_disk(small: Dataset, tmp_path: Path) -> None:
    data = load_folder(save(small, tmp_path / "data").path, mmap=True)
    run = mggcn.fit(data, settings={"epochs": 1, "scaling": "none"}, device="cpu")
    for value in (7, 8):
        x = data.x.copy()
        x[:, 0] = value
        view = run.inference(replace(data, x=x), CPU).view
        assert torch.equal(torch.cat(view.inputs.parts, dim=1)[:, : x.shape[1]], torch.from_numpy(np.asarray(x)))


@pytest.mark.parametrize("name", ["pubmed", "reddit-like:0.1"])
@pytest.mark.slow
def test_named_data_mapped_or_cached_give_the_same_weights(name: str, tmp_path: Path) -> None:
    try:
        whole = mggcn.load(name)
    except (InputError, OSError) as error:
        pytest.skip(str(error))
    folder = save(whole, tmp_path / "data").path
    settings = {"epochs": 1, "batch_size": 2048, "portfolio": "none"}
    weights = []
    for access in ({}, {"mmap": True}, {"mmap": True}, {"mmap": True, "cache": tmp_path / "other", "memory": "30MB"}):
        run = mggcn.fit(mggcn.load(folder, **access), settings=settings, device="cpu")
        weights.append(torch.cat([parameter.detach().ravel() for parameter in run.model.parameters()]))
    assert all(torch.equal(weights[0], other) for other in weights[1:])
