"""A run that was interrupted and resumed is the run that was not."""

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file

import mggcn
from mggcn.data import save
from mggcn.data._dataset import Dataset
from mggcn.data._split import Split
from mggcn.errors import InputError, InputWarning
from mggcn.experiments._records import read_records as read
from mggcn.methods import METHODS
from mggcn.runs import resolve
from mggcn.runs._run import Run
from mggcn.runs._run_folder import RunFolder
from mggcn.training import _environment as environment
from mggcn.training._checkpoints import lock
from mggcn.training._record import Epoch
from tests import tampering
from tests.conftest import small_dataset

SETTINGS: dict[str, object] = {"epochs": 6, "portfolio": "none"}
UNTRAINED = ("label-propagation", "random-forest", "lightgbm")
VARIANTS: list[tuple[str, dict[str, object]]] = [
    *((name, {}) for name in METHODS if name not in UNTRAINED),
    ("mg-gcn", {"dropout": 0.5, "input_dropout": 0.2, "averaging": 0.9, "consistency": 1.0}),
    ("mg-gcn", {"conv": "pool", "layers": 3, "redraw": "once", "class_weights": "balanced"}),
    ("graphsage-mean", {"dropout": 0.5, "shuffle": False}),
    ("vr-gcn", {"dropout": 0.3, "layers": 3}),
    ("as-gcn", {"skip": True, "dropout": 0.2}),
    ("mlp", {"dropout": 0.5, "select": "macro_f1", "draws": 2}),
]


class Interrupt:
    """Interrupts training after an epoch."""

    def __init__(self, after: int) -> None:
        self.after = after

    def epoch(self, epoch: Epoch) -> None:
        """Raise what Ctrl-C raises."""
        if epoch.number == self.after:
            raise KeyboardInterrupt


@pytest.fixture(autouse=True)
def unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip measuring memory and describing the machine, which take longer than these short runs."""
    monkeypatch.setattr(environment, "reset_peak", lambda _: None)
    monkeypatch.setattr(environment, "describe", dict)


def interrupted(data: Dataset, folder: Path, method: str = "mg-gcn", after: int = 3, **settings: object) -> None:
    options: dict[str, Any] = {"settings": SETTINGS | settings, "device": "cpu", "checkpoint": folder}
    with pytest.raises(KeyboardInterrupt):
        mggcn.fit(data, method, **options, checkpoint_every=0, progress=Interrupt(after))


def result(run: Run) -> tuple[dict[str, bytes], list[Epoch], tuple[object, ...]]:
    """What must not depend on interruptions."""
    weights = {name: tensor.numpy().tobytes() for name, tensor in run.model.state_dict().items()}
    curve = [replace(epoch, train_seconds=0, eval_seconds=0) for epoch in run.record.curve]
    record = run.record
    numbers = (record.best_epoch, record.val_loss, record.val_macro_f1, record.test_confusion, record.temperature)
    return weights, curve, (*numbers, record.test_right)


@pytest.mark.parametrize(("method", "settings"), VARIANTS, ids=lambda value: str(value))
def test_every_method_ends_bit_for_bit_as_if_it_had_not_been_interrupted(
    small: Dataset, tmp_path: Path, method: str, settings: dict[str, object]
) -> None:
    whole = mggcn.fit(small, method, settings=SETTINGS | settings, device="cpu")
    interrupted(small, tmp_path / "run", method, 3, **settings)
    resumed = mggcn.resume(tmp_path / "run", small)
    assert result(resumed) == result(whole)
    assert resumed.record.resumed == 1
    assert resumed.path == (tmp_path / "run").resolve()
    assert result(mggcn.load_run(tmp_path / "run"))[0] == result(whole)[0]
    assert not (tmp_path / "run" / "checkpoint").exists()


@pytest.mark.parametrize("method", UNTRAINED)
def test_what_is_not_trained_has_nothing_to_resume(small: Dataset, method: str) -> None:
    assert mggcn.fit(small, method, device="cpu").record.epochs == 0


def test_a_run_is_resumed_more_than_once_and_from_the_start(small: Dataset, tmp_path: Path) -> None:
    whole = mggcn.fit(small, settings=SETTINGS | {"dropout": 0.5}, device="cpu")
    interrupted(small, tmp_path / "run", after=2, dropout=0.5)
    with pytest.raises(KeyboardInterrupt):
        mggcn.resume(tmp_path / "run", small, progress=Interrupt(4), checkpoint_every=0)
    assert result(mggcn.resume(tmp_path / "run", small)) == result(whole)
    assert mggcn.load_run(tmp_path / "run").record.resumed == 2
    folder = RunFolder.create(tmp_path / "new", small, whole.plan)  # killed before a checkpoint
    assert result(mggcn.resume(folder.path, small)) == result(whole)
    assert mggcn.load_run(folder.path).record.resumed == 0


def test_an_early_stop_is_not_trained_past(small: Dataset, tmp_path: Path) -> None:
    settings = {"epochs": 400, "patience": 3, "lr": 0.5}
    whole = mggcn.fit(small, "mlp", settings=settings, device="cpu")
    assert whole.record.epochs < 400
    interrupted(small, tmp_path / "run", "mlp", after=whole.record.epochs, **settings)
    assert result(mggcn.resume(tmp_path / "run", small)) == result(whole)


def test_epochs_and_patience_may_change(small: Dataset, tmp_path: Path) -> None:
    whole = mggcn.fit(small, settings=SETTINGS | {"epochs": 9, "patience": 50}, device="cpu")
    interrupted(small, tmp_path / "run", after=4)
    resumed = mggcn.resume(tmp_path / "run", small, settings={"epochs": "9", "patience": 50})
    assert result(resumed) == result(whole)
    assert (resumed.record.settings["epochs"], resumed.record.settings["patience"]) == (9, 50)
    assert "epochs = 9" in (tmp_path / "run" / "config.toml").read_text()


def test_other_settings_and_data_are_refused(small: Dataset, tmp_path: Path) -> None:
    interrupted(small, tmp_path / "run")
    run = tmp_path / "run"
    with pytest.raises(InputError, match="lr: a run is resumed with its own settings, except for epochs and patience"):
        mggcn.resume(run, small, settings={"lr": 0.5})
    x = np.array(small.x)
    x[0] += 1
    with pytest.raises(InputError, match=r"run: cannot be resumed with data set digest .{12}…; it was started with"):
        mggcn.resume(run, replace(small, x=x))
    split = small.require_split()
    with pytest.raises(InputError, match="run: cannot be resumed with data set digest"):
        mggcn.resume(run, small.with_split(Split(split.train[1:], split.val, split.test)))
    for changes in ({"inductive": True}, {"classes": ("red", "blue", "green")}, {"feature_names": ("a", "b", "c")}):
        with pytest.raises(InputError, match="run: cannot be resumed with data set digest"):
            mggcn.resume(run, replace(small, **changes))
    config = run / "config.toml"
    config.write_text(re.sub(r"(?m)^lr = .*", "lr = 0.5", config.read_text()))
    with pytest.raises(InputError, match=r"run: cannot be resumed with lr 0\.5; it was started with"):
        mggcn.resume(run, small)
    config.unlink()
    with pytest.raises(InputError, match=r"run: not a run folder \(config.toml is missing\)"):
        mggcn.resume(run, small)


def test_another_version_of_the_method_is_refused(
    small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(small, tmp_path / "run", "mlp")
    monkeypatch.setattr(METHODS["mlp"], "version", 7)
    with pytest.raises(InputError, match="cannot be resumed with method version 7"):
        mggcn.resume(tmp_path / "run", small)


def test_a_damaged_checkpoint_is_replaced_by_the_one_before(small: Dataset, tmp_path: Path) -> None:
    whole = mggcn.fit(small, settings=SETTINGS, device="cpu")
    interrupted(small, tmp_path / "run", after=4)
    newest = max((tmp_path / "run" / "checkpoint").glob("*.safetensors"))
    newest.write_bytes(newest.read_bytes()[:-100])
    with pytest.warns(InputWarning, match="the checkpoint of epoch 3 is used"):
        assert result(mggcn.resume(tmp_path / "run", small)) == result(whole)


def test_a_run_is_trained_by_one_process(small: Dataset, tmp_path: Path) -> None:
    interrupted(small, tmp_path / "run")
    held = lock(tmp_path / "run" / "checkpoint")
    with held, pytest.raises(InputError, match="run: open in another process"):
        mggcn.resume(tmp_path / "run", small)


def test_a_finished_run_is_only_read(small: Dataset, tmp_path: Path) -> None:
    run = mggcn.fit(small, "mlp", settings={"epochs": 2}, device="cpu", checkpoint=tmp_path / "run")
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    assert sorted(before) == ["config.toml", "record.json", "split.npz", "weights.safetensors"]
    assert result(mggcn.resume(tmp_path / "run"))[0] == result(run)[0]
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before
    with pytest.raises(InputError, match="run: already exists"):
        mggcn.fit(small, "mlp", checkpoint=tmp_path / "run")


def test_a_run_that_cannot_start_leaves_nothing(small: Dataset, tmp_path: Path) -> None:
    featureless = replace(small, x=np.zeros((small.num_nodes, 0), np.float32))
    with pytest.raises(InputError, match="no features"):
        mggcn.fit(featureless, checkpoint=tmp_path / "some" / "where" / "run")
    assert not list(tmp_path.iterdir())
    (tmp_path / "some").mkdir()
    with pytest.raises(InputError, match="no features"):
        mggcn.fit(featureless, checkpoint=tmp_path / "some" / "run")
    assert [path.name for path in tmp_path.iterdir()] == ["some"], "it was there before"


def test_folders_of_new_runs_never_collide(small: Dataset, tmp_path: Path) -> None:
    plan = resolve("mlp", "small")
    created = [RunFolder.create(tmp_path / "run", small, plan, numbered=True) for _ in range(3)]
    assert [folder.path.name for folder in created] == ["run", "run-2", "run-3"]


def test_an_unfinished_run_is_named_as_such(small: Dataset, tmp_path: Path) -> None:
    finished = mggcn.fit(small, "mlp", settings={"epochs": 2}, device="cpu", checkpoint=tmp_path / "finished")
    interrupted(small, tmp_path / "part", "mlp", after=1)
    call = re.escape(f"mggcn.resume({str(tmp_path / 'part')!r})")
    expected = f"part: a run that is not finished; {call} continues it"
    with pytest.raises(InputError, match=expected):
        mggcn.load_run(tmp_path / "part")
    with pytest.raises(InputError, match=expected):
        read([tmp_path / "part"])
    with pytest.warns(InputWarning, match=f"{expected}; left out"):
        sections = read([tmp_path])
    assert [record for section in sections for row in section.rows for record in row.records] == [finished.record]


def test_data_are_loaded_again(small: Dataset, tmp_path: Path) -> None:
    data = save(small, tmp_path / "data")
    interrupted(data, tmp_path / "run", "mlp")
    whole = mggcn.fit(data, "mlp", settings={"epochs": 6}, device="cpu")
    assert result(mggcn.resume(tmp_path / "run")) == result(whole)
    interrupted(small, tmp_path / "nameless", "mlp")
    with pytest.raises(InputError, match=r"unknown data set .small."):
        mggcn.resume(tmp_path / "nameless")


@pytest.fixture(scope="module")
def unfinished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set, and a run on it that was interrupted after its first epoch."""
    folder = tmp_path_factory.mktemp("unfinished")
    interrupted(save(small_dataset(), folder / "data"), folder / "run", "vr-gcn", 1, averaging=0.9, epochs=2)
    return folder


def tampered(unfinished: Path, folder: Path, change: Callable[[Path], object]) -> Run | None:
    """The run that is resumed from a changed checkpoint; None if it is refused in one line."""
    shutil.copytree(unfinished / "run", folder)
    (path,) = (folder / "checkpoint").glob("*.json")
    change(path)
    try:
        run = mggcn.resume(folder)
    except InputError as error:
        if str(folder) in str(error) and len(str(error)) < 1_000:
            return None
        raise
    assert read([folder]), "what was trained is a record"
    return run


@pytest.mark.filterwarnings("ignore::mggcn.errors.InputWarning")
@pytest.mark.parametrize("number", range(4))
def test_a_checkpoint_whose_checksum_was_computed_again_is_refused_in_one_line_or_makes_a_whole_record(
    number: int, unfinished: Path, tmp_path: Path
) -> None:
    for part in range(50):
        draw = Random(f"{number} {part}")  # noqa: S311
        tampered(unfinished, tmp_path / str(part), lambda path, draw=draw: tampering.tamper(path, draw))  # type: ignore[misc]


@pytest.mark.parametrize(
    "field", ["seconds", "resumed", "fitted", "fitted.best_epoch", "fitted.val", "fitted.curve", "tensors"]
)
@pytest.mark.parametrize("value", [None, float("nan"), -1, 10**400, [[None]], {"x": 1}, tampering.nested(900)])
def test_a_field_of_a_checkpoint_has_its_type_and_range(
    field: str, value: object, unfinished: Path, tmp_path: Path
) -> None:
    assert (
        tampered(unfinished, tmp_path / "x", lambda path: tampering.change_field(path, (*field.split("."),), value))
        is None
    )


@pytest.mark.parametrize("change", tampering.TENSORS)
def test_tensors_of_a_checkpoint_have_the_names_shapes_and_types_of_the_model(
    change: str, unfinished: Path, tmp_path: Path
) -> None:
    (path,) = (unfinished / "run" / "checkpoint").glob("*.safetensors")
    names = ["model.convs.0.linear.weight", "adam.clock", "generator.cpu", "average.0"]
    names = [name for name in load_file(path) if name in names or name.startswith("best.")]
    assert len(names) >= 4
    for number, name in enumerate(names):
        run = tampered(
            unfinished,
            tmp_path / str(number),
            lambda path, name=name: tampering.change_tensor(path, name, tampering.TENSORS[change]),  # type: ignore[misc]
        )
        assert run is None or change == "huge" or (change, name) == ("of bytes", "generator.cpu")


def test_what_is_no_safetensors_file_is_refused_whatever_its_checksum(unfinished: Path, tmp_path: Path) -> None:
    for number, content in enumerate([b"", b"{}", b"\xff" * 100, (1 << 60).to_bytes(8, "little") + b"{}"]):
        change = partial(tampering.replace_tensors, content=content)
        assert tampered(unfinished, tmp_path / str(number), change) is None
