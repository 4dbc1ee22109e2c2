"""Methods that a user writes: plain tensors, one seed one result, saved and loaded again with consent."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch import Tensor, nn

import mggcn
from mggcn.block import Batch, Block
from mggcn.cli import main
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.methods.method import GraphView, Method
from mggcn.methods.mg_gcn import MixGrained
from mggcn.nn import Layer
from mggcn.nn.rows import Rows
from mggcn.sampling.neighbor import RowSampler
from mggcn.training._prepared import View, Views
from mggcn.training._training import Training

MODULE = '''
from dataclasses import dataclass

import torch
from torch import nn

import mggcn
from mggcn.sampling import RowSampler
from mggcn.training import View, Views


class Plain(nn.Module):
    def __init__(self, in_channels, hidden, out_channels):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(in_channels, hidden), nn.ReLU(), nn.Linear(hidden, out_channels))

    def forward(self, x, blocks):
        assert isinstance(x, torch.Tensor)
        return self.layers(x)


@dataclass(frozen=True)
class Mine(mggcn.Method):
    """An MLP of a user's own.

    Attributes:
        hidden: the width.
    """

    hidden: int = 8

    def model(self, in_channels, out_channels, generator):
        return Plain(in_channels, self.hidden, out_channels)

    def prepare(self, view):
        return Views.same(View(view.inputs(view.x), RowSampler()))
'''


class Seen(Layer):
    """Notes what it is called with; its weights are drawn from torch's global generator."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.linear = nn.Linear(in_channels, out_channels)
        self.kinds: set[type] = set()

    def forward(self, x: Tensor, blocks: Sequence[Block]) -> Tensor:
        self.kinds.add(type(x))
        targets = x[: blocks[0].num_dst] if blocks else x
        out: Tensor = self.linear(nn.functional.dropout(targets, 0.2, self.training))
        return out


class SeenRows(Seen, accepts_rows=True):
    def forward(self, x: Rows, blocks: Sequence[Block]) -> Tensor:  # noqa: ARG002
        self.kinds.add(type(x))
        return x.matmul(self.linear.weight.T) + self.linear.bias


class TwiceSampler(RowSampler):
    """Every target in two rows, so that rows repeat."""

    def batches(self, targets: object, key: object, batch_size: int) -> Iterator[Batch]:
        for batch in super().batches(targets, key, batch_size):  # type: ignore[arg-type]
            b = batch.targets.numel()
            rows = torch.arange(b)
            block = Block(2 * b, torch.arange(b + 1), rows + b, rows)
            yield Batch(batch.nodes.repeat(2), (block,), batch.targets)


@dataclass(frozen=True)
class Own(Method):
    rows: bool = False
    twice: bool = False

    def model(self, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:  # noqa: ARG002
        return (SeenRows if self.rows else Seen)(in_channels, out_channels)

    def prepare(self, view: GraphView) -> Views:
        return Views.same(View(view.inputs(view.x), TwiceSampler() if self.twice else RowSampler()))


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "own_module", raising=False)
    monkeypatch.setattr("sys.path", [*sys.path])
    (tmp_path / "own_module.py").write_text(MODULE)
    return tmp_path


def weights(run: mggcn.Run) -> list[Tensor]:
    return list(run.model.state_dict().values())


def test_objects_keep_the_fields_that_they_were_given(small: Dataset) -> None:
    method, training = MixGrained(picks=2, hidden=7), Training(lr=0.003, epochs=2)
    run = mggcn.fit(small, method, training=training, seed=1, preset="paper")
    assert (run.record.method, run.record.settings["picks"], run.record.settings["hidden"]) == ("mg-gcn", 2, 7)
    assert (run.record.settings["lr"], run.record.epochs) == (0.003, 2)
    named = mggcn.fit(
        small, "mg-gcn", settings={"picks": 2, "hidden": 7, "lr": 0.003, "epochs": 2}, seed=1, preset="paper"
    )
    assert all(torch.equal(a, b) for a, b in zip(weights(run), weights(named), strict=True))


def test_settings_change_an_object(small: Dataset) -> None:
    run = mggcn.fit(small, MixGrained(picks=2), settings={"hidden": "5", "epochs": 1})
    assert (run.record.settings["picks"], run.record.settings["hidden"], run.record.epochs) == (2, 5, 1)
    with pytest.raises(InputError, match="lr: given in the settings and in training"):
        mggcn.fit(small, MixGrained(), training=Training(), settings={"lr": 1})


def test_modules_receive_plain_tensors_unless_they_declare_more(small: Dataset) -> None:
    for method in (Own(), Own(twice=True)):
        assert mggcn.fit(small, method, training=Training(epochs=2)).model.kinds == {Tensor}
    x = csr_array(np.eye(60, dtype=np.float32))
    data = mggcn.Dataset(small.name, small.graph, x, small.y, small.classes, small.split)
    training = Training(epochs=2, scaling="none")
    assert mggcn.fit(data, Own(), training=training).model.kinds == {Tensor}
    assert Tensor not in mggcn.fit(data, Own(rows=True), training=training).model.kinds


def test_one_seed_gives_one_result_for_own_modules_too(small: Dataset) -> None:
    torch.manual_seed(1)
    one = mggcn.fit(small, Own(), training=Training(epochs=3), seed=4)
    state = torch.random.get_rng_state()
    torch.manual_seed(2)
    two = mggcn.fit(small, Own(), training=Training(epochs=3), seed=4)
    other = mggcn.fit(small, Own(), training=Training(epochs=3), seed=5)
    assert all(torch.equal(a, b) for a, b in zip(weights(one), weights(two), strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(weights(one), weights(other), strict=True))
    torch.manual_seed(1)
    assert torch.equal(torch.random.get_rng_state(), state), "training leaves torch's generator as it was"


def test_a_saved_run_of_an_own_method_is_loaded_with_consent(module: Path, small: Dataset) -> None:
    run = mggcn.fit(small, "own_module:Mine", settings={"hidden": 6, "epochs": 3})
    assert run.record.method == "own_module:Mine"
    folder = run.save(module / "run").path
    assert folder is not None
    with pytest.raises(InputError, match=r"record\.json: field method names code to import \(own_module:Mine\)"):
        mggcn.load_run(folder)
    again = mggcn.load_run(folder, allow_import=True)
    assert np.array_equal(again.predict(small).probabilities, run.predict(small).probabilities)
    (module / "own_module.py").unlink()
    sys.modules.pop("own_module")
    with pytest.raises(InputError, match="own_module:Mine: cannot be imported"):
        mggcn.load_run(folder, allow_import=True)


def test_the_command_line_takes_an_own_method(module: Path, small: Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    from mggcn.data import save

    save(small, module / "data")
    train = ["train", "data", "--method", "own_module:Mine", "--set", "hidden=5", "epochs=2", "--quiet"]
    assert main(train) == 0
    assert "run folder      runs/small-Mine-seed0" in capsys.readouterr().out
    predict = ["predict", "runs/small-Mine-seed0", "--out", "p.csv"]
    assert main(predict) == 2
    assert "if you trust it, allow it with --allow-import" in capsys.readouterr().err
    assert main([*predict, "--allow-import"]) == 0
    config = ["train", "--config", "runs/small-Mine-seed0/config.toml", "--quiet"]
    assert main(config) == 2
    assert "names code to import (own_module:Mine)" in capsys.readouterr().err
    assert main([*config, "--allow-import"]) == 0
    assert main(["methods", "own_module:Mine"]) == 0
    assert "hidden=8  (a whole number)\n    the width." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("own_module:Nobody", "own_module:Nobody: cannot be imported"),
        ("own_module:Plain", "method: Plain is a module, not a Method"),
        (3, "3 is not a name of a method"),
        (nn.Linear(1, 1), "method: Linear is a module, not a Method"),
    ],
)
def test_what_is_no_method_is_named(module: Path, small: Dataset, method: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        mggcn.fit(small, method)  # type: ignore[arg-type]
