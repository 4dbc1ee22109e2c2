import hashlib
import json
import multiprocessing
import re
import tomllib
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch

import mggcn
from mggcn._io.files import checksummed
from mggcn.data import load_folder, save
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError, InputWarning
from mggcn.experiments import Ledger
from mggcn.methods import GCN, FeatureMLP
from mggcn.runs import DataIdentity, resolve
from mggcn.training import Training
from mggcn.training._record import Epoch, RunRecord, near_best, seconds_until
from tests import records


def record(seed: int = 0, method: str = "gcn", **changes: object) -> RunRecord:
    curve = [Epoch(n, 1.0, 1.0, 0.5, 0.25, 0.5) for n in (1, 2, 3)]  # without NaN, so that records can be equal
    return records.record(method, seed, **({"curve": curve} | changes))


def line(values: dict[str, object]) -> bytes:
    return checksummed(json.dumps(values), " ") + b"\n"


def test_times_end_with_the_epoch_that_is_meant() -> None:
    curve = [Epoch(n, 1.0, 1.0, accuracy, 0.25, 0.5) for n, accuracy in enumerate((0.5, 0.793, 0.79, 0.8), 1)]
    assert seconds_until(2, 1.0, curve) == 1.0 + 2 * 0.75
    assert seconds_until(0, 1.0, []) == 1.0
    assert near_best(curve) == 2, "0.793 is more than 99 % of 0.8"
    assert near_best([]) == 0


def test_records_from_before_calibration_are_read(tmp_path: Path) -> None:
    fields = asdict(record())
    for name in ("temperature", "test_ece", "test_ece_uncalibrated"):
        del fields[name]
    (tmp_path / "records.jsonl").write_bytes(line({"spec": "a", **fields}))
    old = Ledger(tmp_path / "records.jsonl").records["a"]
    assert (old.temperature, old.test_ece, old.test_ece_uncalibrated) == (1.0, None, None)
    assert old == RunRecord.of(asdict(record()))


def test_records_come_back(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "deep" / "records.jsonl")
    assert ledger.records == {}
    assert not ledger.path.parent.exists(), "made with the first record"
    ledger.add("a", record(0))
    ledger.add("b", record(1, "mlp"))
    assert Ledger(ledger.path).records == ledger.records == {"a": record(0), "b": record(1, "mlp")}
    lines = [json.loads(text) for text in ledger.path.read_text().splitlines()]
    assert [(values["spec"], values["method"], values["seed"]) for values in lines] == [
        ("a", "gcn", 0),
        ("b", "mlp", 1),
    ]


@pytest.mark.parametrize("size", [1, 100, 70_000])
@pytest.mark.parametrize("whole", [0, 2])
def test_a_torn_last_line_is_passed_over_and_cut_off(tmp_path: Path, size: int, whole: int) -> None:
    path = tmp_path / "records.jsonl"
    ledger = Ledger(path)
    for seed in range(whole):
        ledger.add(f"s{seed}", record(seed))
    with path.open("ab") as file:
        file.write(b'{"spec": "torn", ' + b" " * size)
    with pytest.warns(InputWarning, match=r"records\.jsonl: the last line is not whole"):
        again = Ledger(path)
    assert list(again.records) == [f"s{seed}" for seed in range(whole)]
    again.add("new", record(7))
    assert list(Ledger(path).records) == [*again.records]
    assert len(path.read_text().splitlines()) == whole + 1


@pytest.mark.parametrize(
    "bad", ["{", "[]", "1", '{"spec": "x"}', '{"spec": "x", "method": "gcn"}', "", '{"method": 1}']
)
def test_another_bad_line_is_named(tmp_path: Path, bad: str) -> None:
    path = tmp_path / "records.jsonl"
    Ledger(path).add("a", record())
    whole = path.read_text()
    path.write_text(whole + bad + "\n" + whole)
    with pytest.raises(InputError, match=r"records\.jsonl: line 2: not the record of a run"):
        Ledger(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"spec": ["x"]}, "field spec: expected str, got array (['x'])"),
        ({"spec": 7}, "field spec: expected str, got int (7)"),
        ({"seed": "0"}, "field seed: expected int, got str ('0')"),
        ({"seed": 0.5}, "field seed: expected int, got float (0.5)"),
        ({"seed": True}, "field seed: expected int, got bool (True)"),
        ({"test_accuracy": "0.9"}, "field test_accuracy: expected float, got str ('0.9')"),
        ({"temperature": None}, "field temperature: expected float, got null (None)"),
        ({"peak_memory_bytes": 10**400}, "field peak_memory_bytes: expected int <= 4611686018427387904 (1000"),
        ({"val_loss": 10**400}, "field val_loss: number out of range (1000"),
        ({"test_confusion": [[1]] * 2}, "field test_confusion is not a square"),
        ({"test_confusion": [[0.5]]}, "field test_confusion[0][0]: expected int, got float (0.5)"),
        ({"test_right": 7}, "field test_right: expected str | null, got int (7)"),
        ({"test_right": "7w"}, "field test_right: Incorrect padding"),
        ({"test_right": "7+++"}, "field test_right has 3 bytes for 8 test nodes"),
        ({"test_right": "7w==", "test_confusion": [[2**61, 0], [0, 0]]}, "field test_right has 1 bytes for 2,305,843"),
        ({"test_right": "7w==", "test_confusion": [[-1, 0], [0, 0]]}, "field test_right has 1 bytes for -1 test nodes"),
        ({"test_right": "7w==", "test_confusion": [[7, 0], [0, 0]]}, "field test_right has bits beyond 7 test nodes"),
        ({"test_right": "fw==", "test_confusion": [[8, 0], [0, 0]]}, "field test_right has 7 right nodes, but test_co"),
        ({"dataset": {"name": 7}}, "field dataset.name: expected str, got int (7)"),
        ({"dataset": {"name": "x", "classes": "ab"}}, "field dataset.classes: expected array | null, got str ('ab')"),
        ({"dataset": {"name": "x", "classes": ["a", 1]}}, "field dataset.classes[1]: expected str, got int (1)"),
        ({"dataset": {"name": "x", "split": ["1"]}}, "field dataset.split[0]: expected int, got str ('1')"),
        ({"dataset": {"name": "x", "path": 7}}, "field dataset.path: expected str | null, got int (7)"),
        ({"dataset": {"name": "x", "digest": ["d"]}}, "field dataset.digest: expected str | null, got array (['d'])"),
        ({"dataset": {"name": "x", "source": {}}}, "field dataset.source: expected str | null, got object ({})"),
        (
            {"dataset": {"name": "x", "num_nodes": 10**400}},
            "field dataset.num_nodes: expected int <= 4611686018427387904 (1000",
        ),
        ({"dataset": {"name": "x", "other": float("nan")}}, "field dataset holds a number that is not finite"),
        ({"settings": {"lr": float("inf")}}, "field settings holds a number that is not finite"),
    ],
)
def test_a_bad_field_is_named(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    path = tmp_path / "records.jsonl"
    Ledger(path).add("a", record())
    path.write_bytes(path.read_bytes() + line({"spec": "b", **asdict(record()), **changes}))
    with pytest.raises(InputError, match=re.escape(f"records.jsonl: line 2: not the record of a run ({message}")):
        Ledger(path)


def test_losses_may_diverge(tmp_path: Path) -> None:
    Ledger(tmp_path / "records.jsonl").add("a", record(val_loss=float("inf")))
    assert Ledger(tmp_path / "records.jsonl").records["a"].val_loss == float("inf")


def _add(path: Path, start: int) -> None:
    ledger = Ledger(path)
    for seed in range(start, start + 10):
        ledger.add(f"s{seed}", record(seed))


@pytest.mark.slow
def test_processes_may_share_a_ledger(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_add, args=(path, start)) for start in (0, 10)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(Ledger(path).records) == sorted(f"s{seed}" for seed in range(20))


def test_a_digest_is_of_contents_whether_stored_or_not(small: Dataset, tmp_path: Path) -> None:
    stored = save(small, tmp_path / "data")
    assert DataIdentity.of(small) == DataIdentity.of(stored) == DataIdentity.of(load_folder(stored.path))
    assert len(stored.digest) == 64


def test_a_plan_is_its_values_not_how_they_are_written() -> None:
    data = DataIdentity("a", "d")
    plan = resolve(GCN(hidden=16, dropout=0.0), data, training=Training(lr=1.0))
    same = resolve(GCN(hidden=16, dropout=0), data, {"lr": "1"}, preset="paper")
    same = replace(same, training=Training(lr=1))
    assert plan.digest == same.digest
    text = json.dumps(plan.identity, sort_keys=True, separators=(",", ":"))
    assert plan.digest == hashlib.sha256(text.encode()).hexdigest()
    others = [
        replace(plan, data=DataIdentity("a", "e")),
        replace(plan, data=DataIdentity("a", "d", split_seed=0)),
        replace(plan, method=FeatureMLP(hidden=16)),
        replace(plan, seed=1),
        replace(plan, device=torch.device("cuda")),
        replace(plan, training=Training(lr=0.5)),
        replace(plan, method=GCN(hidden=8)),
        replace(plan, warm_start={"path": "p", "weights": "w"}),
    ]
    assert len({one.digest for one in [plan, *others]}) == 9
    without_effect = [
        replace(plan, device=torch.device("cpu", 0)),
        replace(plan, training=Training(lr=1.0, threads=3)),
        replace(plan, data=DataIdentity("a", "d", is_sparse=True)),
    ]
    assert {one.digest for one in without_effect} == {plan.digest}


def test_all_that_names_a_run_is_written_from_its_plan(small: Dataset, tmp_path: Path) -> None:
    run = mggcn.fit(small, "mlp", seed=3, device="cpu", settings={"epochs": 2}).save(tmp_path / "run")
    loaded = mggcn.load_run(tmp_path / "run").plan
    assert loaded.identity == run.plan.identity
    assert {name: getattr(run.record, name) for name in run.plan.record_fields} == run.plan.record_fields
    config = tomllib.loads((tmp_path / "run" / "config.toml").read_text())
    assert config == run.plan.config(None)
    again = resolve(config["method"], small, config["settings"], seed=config["seed"])
    assert again.digest == run.plan.digest


def test_a_run_is_resumed_with_other_epochs_and_patience_only() -> None:
    plan = resolve("mlp", DataIdentity("a", "d"))
    longer = replace(plan, training=replace(plan.training, epochs=7, patience=9))
    other = replace(plan, training=replace(plan.training, lr=0.5))
    assert longer.identity_to_resume == plan.identity_to_resume
    assert longer.digest != plan.digest
    assert other.identity_to_resume != plan.identity_to_resume
