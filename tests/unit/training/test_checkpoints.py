"""Checkpoints: what is written is restored bit for bit, and nothing that is damaged is accepted silently."""

import json
import random
import shutil
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from mggcn.data._dataset import Dataset
from mggcn.errors import InputError, InputWarning
from mggcn.keys import Key
from mggcn.runs import resolve
from mggcn.sampling.mix_grained import DeviceMixGrainedSampler
from mggcn.training._checkpoints import BusyError, Checkpoints, Fitted, State
from mggcn.training._compute import Compute
from mggcn.training._epochs import Step
from mggcn.training._loop import Live, Silent, WeightAverage, train
from mggcn.training._metrics import Scores
from mggcn.training._prepared import Fit, View
from mggcn.training._record import Epoch

IDENTITY = {"method": "gcn", "settings": {"lr": 0.1, "sizes": (1, 2)}}
CPU = Compute(torch.device("cpu"))


def state(epoch: int) -> State:
    curve = [Epoch(number, 0.1 * number, 1 / 3, 0.5, 0.25, 0.125) for number in range(1, epoch + 1)]
    tensors = {"model.a": torch.rand(3, 2), "best.a": torch.rand(2), "generator.cpu": torch.get_rng_state()}
    return State(Fitted(curve, epoch, Scores(1 / 3, 0.5, 0.25), 12), tensors, 1.5)


def write(folder: Path, *states: State) -> None:
    with Checkpoints(folder, IDENTITY, every=0) as checkpoints:
        for each in states:
            checkpoints.epoch_ended(lambda each=each: each)  # type: ignore[misc]


def read(folder: Path) -> State | None:
    with Checkpoints(folder, IDENTITY) as checkpoints:
        return checkpoints.state


def test_a_state_is_read_as_it_was_written(tmp_path: Path) -> None:
    written = state(3)
    write(tmp_path / "run" / "checkpoint", written)
    found = read(tmp_path / "run" / "checkpoint")
    assert found is not None
    assert (found.epoch, found.fitted.curve, found.fitted.val) == (3, written.fitted.curve, written.fitted.val)
    assert (found.seconds, found.resumed) == (1.5, 0)
    assert found.tensors.keys() == written.tensors.keys()
    assert all(torch.equal(found.tensors[name], tensor) for name, tensor in written.tensors.items())


def test_two_generations_are_kept(tmp_path: Path) -> None:
    write(tmp_path, *(state(epoch) for epoch in range(1, 6)))
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"lock", "000004.json", "000004.safetensors", "000005.json", "000005.safetensors"}


def test_a_checkpoint_is_written_after_some_time_or_at_the_end(tmp_path: Path) -> None:
    with Checkpoints(tmp_path, IDENTITY, every=60) as checkpoints:
        checkpoints.epoch_ended(lambda: state(1))
        assert not list(tmp_path.glob("*.json")), "it is not due"
    assert read(tmp_path) is None, "a run that ends needs none"

    def interrupted() -> None:
        with Checkpoints(tmp_path, IDENTITY, every=60) as checkpoints:
            checkpoints._copied -= 1  # the last copy in memory is old
            checkpoints.epoch_ended(lambda: state(2))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    found = read(tmp_path)
    assert found is not None
    assert found.epoch == 2


def test_writing_takes_a_small_share_of_the_time(tmp_path: Path) -> None:
    with Checkpoints(tmp_path, IDENTITY, every=0.001) as checkpoints:
        checkpoints.write_seconds = 0.5  # the next one is due after 50 seconds
        checkpoints._written -= 40
        checkpoints.epoch_ended(lambda: state(1))
        assert not list(tmp_path.glob("*.json"))
        checkpoints._written -= 20
        checkpoints.epoch_ended(lambda: state(2))
        assert list(tmp_path.glob("*.json"))


def damages(path: Path, count: int, seed: int) -> Iterator[bytes]:
    """Truncations and single flipped bits of a file."""
    content, draw = path.read_bytes(), random.Random(seed)  # noqa: S311
    for number in range(count):
        if number % 2:
            yield content[: draw.randrange(len(content))]
        else:
            damaged = bytearray(content)
            damaged[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
            yield bytes(damaged)


@pytest.mark.parametrize("suffix", [".json", ".safetensors"])
def test_a_damaged_checkpoint_is_never_accepted(tmp_path: Path, suffix: str) -> None:
    write(tmp_path / "whole", state(1), state(2))
    for number, content in enumerate(damages(tmp_path / "whole" / f"000002{suffix}", 20, 1)):
        folder = tmp_path / str(number)
        shutil.copytree(tmp_path / "whole", folder)
        (folder / f"000002{suffix}").write_bytes(content)
        with pytest.warns(InputWarning, match="000002.json: damaged .* the checkpoint of epoch 1 is used"):
            found = read(folder)
        assert found is not None
        assert found.epoch == 1
        assert not (folder / "000002.json").exists(), "it would be in the way of the next ones"


def test_if_both_are_damaged_it_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "run" / "checkpoint"
    write(folder, state(1), state(2))
    for path in folder.glob("*.json"):
        path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InputError, match=r"both checkpoints are damaged \(000002.json: wrong checksum\)"):
        read(folder)
    assert len(list(folder.glob("*.json"))) == 2, "nothing is removed"


def test_a_missing_half_is_damage(tmp_path: Path) -> None:
    write(tmp_path, state(1))
    (tmp_path / "000001.safetensors").unlink()
    with pytest.raises(InputError, match="its only checkpoint is damaged"):
        read(tmp_path)


def test_temporary_files_of_a_killed_process_are_removed(tmp_path: Path) -> None:
    write(tmp_path, state(1))
    (tmp_path / ".000002.json.1a2b3c4d.mggcn-tmp").write_bytes(b"{")
    assert read(tmp_path) is not None
    assert not list(tmp_path.glob(".*"))


def test_another_identity_is_refused_by_name(tmp_path: Path) -> None:
    write(tmp_path / "run" / "checkpoint", state(1))
    changed = {"method": "gcn", "settings": {"lr": 0.2, "sizes": (1, 2)}}
    expected = "run: cannot be resumed with lr 0.2; it was started with 0.1"
    with pytest.raises(InputError, match=expected), Checkpoints(tmp_path / "run" / "checkpoint", changed):
        pass


def test_another_environment_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, state(1))
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1000)
    with pytest.warns(InputWarning, match="torch threads 1000; it was started with .* last digits"):
        assert read(tmp_path) is not None


def test_a_folder_is_open_once(tmp_path: Path) -> None:
    opened = Checkpoints(tmp_path / "run" / "checkpoint", IDENTITY)
    with opened, pytest.raises(BusyError, match="run: open in another process"):
        read(tmp_path / "run" / "checkpoint")
    assert read(tmp_path / "run" / "checkpoint") is None


def test_the_checksum_covers_the_whole_file(tmp_path: Path) -> None:
    write(tmp_path, state(1))
    path = tmp_path / "000001.json"
    values = json.loads(path.read_bytes())
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(InputError, match="wrong checksum"):
        read(tmp_path)
    del values["checksum"]
    path.write_text(json.dumps(values))
    with pytest.raises(InputError, match="its checksum is missing"):
        read(tmp_path)


def test_an_interval_below_zero_is_refused(tmp_path: Path) -> None:
    for every in (-1.0, float("nan")):
        with pytest.raises(InputError, match=r"checkpoint_every: .* is less than 0"):
            Checkpoints(tmp_path, IDENTITY, every)


def test_the_state_of_another_model_is_refused(small: Dataset, tmp_path: Path) -> None:
    def trained(hidden: int, checkpoints: Checkpoints) -> None:
        plan = resolve("mlp", "small", {"epochs": 2, "hidden": hidden})
        train(Fit(plan.prepare(small, Key.of(0), CPU), small, plan.training, Key.of(0), CPU), Silent(), checkpoints)

    with warnings.catch_warnings(action="error"), Checkpoints(tmp_path, {}, every=0) as checkpoints:
        trained(4, checkpoints)
    with (
        Checkpoints(tmp_path, {}) as checkpoints,
        pytest.raises(InputError, match=r" is torch.float32 \[.*\], not torch.float32 \["),
    ):
        trained(5, checkpoints)


class Capacious(DeviceMixGrainedSampler):
    """A sampler on a GPU, as far as its capacities go."""

    def __init__(self, capacities: dict[int, int]) -> None:
        object.__setattr__(self, "capacities", capacities)


def test_sizes_that_earlier_batches_fixed_are_part_of_the_state(small: Dataset) -> None:
    plan = resolve("mlp", "small", {"epochs": 1})
    prepared, average = plan.prepare(small, Key.of(0), CPU), WeightAverage(nn.Linear(1, 1), 0.0)

    def live(sampler: Capacious) -> Live:
        fit = Fit(replace(prepared, train=View(prepared.train.inputs, sampler)), small, plan.training, Key.of(0), CPU)
        return Live(fit, Step(fit, prepared.train), average)

    grown, fresh = Capacious({256: 512}), Capacious({})
    state = live(grown).capture(Fitted(), {}, 0.0)
    grown.capacities[256] = 1024
    live(fresh).restore(state)
    assert fresh.capacities == {256: 512}, "the state is a copy"
