"""Training by two ranks, which must give the result of one process."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import random_array

import mggcn
from mggcn.data import load_folder, save
from mggcn.data._dataset import Dataset
from mggcn.training._prepared import AveragedInputs, SparseInputs
from tests.conftest import payments, small_dataset
from tests.ranks import finished, torchrun

pytestmark = pytest.mark.slow

SCENARIOS: dict[str, tuple[str, dict[str, Any]]] = {
    "a last batch of two": ("mg-gcn", {"batch_size": 7}),
    "a last batch smaller than the number of ranks": ("mg-gcn", {"batch_size": 29}),
    "batches of uneven shares": ("mg-gcn", {"batch_size": 13, "layers": 3}),
    "all targets in one batch": ("mg-gcn", {"batch_size": 256}),
    "class weights": ("mg-gcn", {"batch_size": 8, "class_weights": "balanced"}),
    "label smoothing": ("mg-gcn", {"batch_size": 8, "label_smoothing": 0.1, "class_weights": "balanced"}),
    "consistency": ("mg-gcn", {"batch_size": 7, "consistency": 2.0}),
    "draws, an average and macro-F1": ("mg-gcn", {"draws": 3, "averaging": 0.5, "select": "macro_f1"}),
    "dropout of inputs": ("mg-gcn", {"batch_size": 7, "input_dropout": 0.5}),
    "neighbours": ("graphsage-mean", {"batch_size": 8, "fanouts": "3,2"}),
    "pooled neighbours": ("graphsage-pool", {"batch_size": 8, "fanouts": "3,2", "full_eval": True}),
    "whole neighbourhoods": ("gcn", {"batch_size": 8}),
    "rows": ("sign", {"batch_size": 8, "dropout": 0.0}),
    "attention over hops": ("gamlp", {"batch_size": 8, "dropout": 0.0}),
    "nothing to train": ("label-propagation", {}),
}
ALONE = {"portfolio": "none", "epochs": 4, "dropout": 0}
KNOWN = ALONE | {"batch_size": 7, "pick_by": "weight", "pick_from": "in", "weigh_picks": True}
WIDE = {
    "wide, dropped": ALONE | {"batch_size": 14, "input_dropout": 0.5},
    "wide, averaged later": ALONE | {"batch_size": 14, "input_dropout": 0, "hops": 2},
}
SCRIPT = """
import json, sys
from dataclasses import asdict
from pathlib import Path
from torch import distributed as dist
import mggcn
from mggcn.data import load_folder

dist.init_process_group("gloo")
data, records = load_folder(Path("data")), {}
for name, (method, settings) in json.loads(Path("scenarios.json").read_text()).items():
    settings = {"epochs": 4, "patience": 4, **settings}
    run = mggcn.fit(data, method, settings=settings, preset="paper", device="cpu")
    records[name] = asdict(run.record)
for name, method, settings in (
    ("other settings", "mg-gcn", {"batch_size": 8 + dist.get_rank()}),
    ("small batches", "mg-gcn", {"batch_size": 1}),
    ("other method", "cluster-gcn", {"parts": 3, "parts_per_batch": 1}),
    ("full batches", "gcn", {"batches": "full"}),
):
    try:
        mggcn.fit(data, method, settings=settings, device="cpu")
    except mggcn.InputError as error:
        records[name] = str(error)
for name, settings in json.loads(Path("wide.json").read_text()).items():
    records[name] = asdict(mggcn.fit(load_folder(Path("wide")), settings=settings, device="cpu").record)
payments = mggcn.fit(load_folder(Path("payments")), settings=json.loads(Path("known.json").read_text()), device="cpu")
records["payments"] = asdict(payments.record)
Path(f"records-{dist.get_rank()}.json").write_text(json.dumps(records))
dist.destroy_process_group()
"""


def wide_dataset() -> Dataset:
    """The small data set with many features of which few are not zero, so that they are averaged after the product."""
    x = random_array((60, 4000), density=0.002, format="csr", dtype=np.float32, rng=np.random.default_rng(0))
    return replace(small_dataset(), name="wide", x=x)


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The records of all scenarios, of both ranks."""
    folder = tmp_path_factory.mktemp("ranks")
    save(small_dataset(), folder / "data")
    save(wide_dataset(), folder / "wide")
    save(payments(), folder / "payments")
    (folder / "known.json").write_text(json.dumps(KNOWN))
    (folder / "wide.json").write_text(json.dumps(WIDE))
    (folder / "scenarios.json").write_text(json.dumps(SCENARIOS))
    (folder / "script.py").write_text(SCRIPT)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        done = finished([*torchrun(2), "script.py"])
    assert done.returncode == 0, done.stderr
    return [json.loads((folder / f"records-{rank}.json").read_text()) for rank in range(2)]


@pytest.mark.parametrize("name", SCENARIOS)
def test_two_ranks_give_the_losses_of_one_process(name: str, records: list[dict[str, Any]], small: Dataset) -> None:
    method, settings = SCENARIOS[name]
    settings = {"epochs": 4, "patience": 4, **settings}
    alone = asdict(mggcn.fit(small, method, settings=settings, preset="paper", device="cpu").record)
    for record in (records[0][name], records[1][name]):
        assert len(record["curve"]) == len(alone["curve"])
        for epoch, expected in zip(record["curve"], alone["curve"], strict=True):
            assert epoch["train_loss"] == pytest.approx(expected["train_loss"], abs=1e-6)
            assert epoch["val_loss"] == pytest.approx(expected["val_loss"], abs=1e-6)
        assert record["best_epoch"] == alone["best_epoch"]
        assert record["test_confusion"] == alone["test_confusion"]
        assert record["test_right"] == alone["test_right"]
        assert record["temperature"] == pytest.approx(alone["temperature"], abs=1e-4)


def test_two_ranks_read_what_is_known_of_edges(records: list[dict[str, Any]]) -> None:
    expected = mggcn.fit(payments(), settings=KNOWN, device="cpu").record
    for record in (records[0]["payments"], records[1]["payments"]):
        assert record["dataset"]["edges"] == {"directed": True, "weighted": True, "types": ["lends", "pays"]}
        for epoch, alone in zip(record["curve"], expected.curve, strict=True):
            assert epoch["train_loss"] == pytest.approx(alone.train_loss, abs=1e-6)
            assert epoch["val_loss"] == pytest.approx(alone.val_loss, abs=1e-6)


@pytest.mark.parametrize(("name", "form"), [*zip(WIDE, (SparseInputs, AveragedInputs), strict=True)])
def test_two_ranks_read_the_sparse_inputs_of_one_process(
    name: str, form: type, records: list[dict[str, Any]], tmp_path: Path
) -> None:
    save(wide_dataset(), tmp_path / "wide")
    for data in (wide_dataset(), load_folder(tmp_path / "wide", mmap=True)):
        run = mggcn.fit(data, settings=WIDE[name], device="cpu")
        assert isinstance(run.prepared[0][1].view.inputs, form)
        for record in (records[0][name], records[1][name]):
            expected = [(epoch.train_loss, epoch.val_loss) for epoch in run.record.curve]
            assert [(epoch["train_loss"], epoch["val_loss"]) for epoch in record["curve"]] == [
                pytest.approx(losses, abs=1e-6) for losses in expected
            ]


@pytest.mark.parametrize("name", SCENARIOS)
def test_both_ranks_have_the_same_bits(name: str, records: list[dict[str, Any]]) -> None:
    first, second = (record[name] for record in records)
    for one, other in zip(first["curve"], second["curve"], strict=True):
        for field in ("train_loss", "val_loss", "val_accuracy"):
            assert one[field] == other[field]
    assert first["environment"]["ranks"] == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("other settings", "rank 1: batch size 9, but rank 0 has 8"),
        ("small batches", "batch_size: 1 is smaller than the number of ranks, 2"),
        ("other method", "cluster-gcn: 2 ranks cannot train it, because its sampler draws whole batches"),
        ("full batches", "gcn: 2 ranks cannot train it, because its sampler draws whole batches"),
    ],
)
def test_what_ranks_cannot_train_together_is_the_same_error_on_all(
    name: str, message: str, records: list[dict[str, Any]]
) -> None:
    assert [record[name] for record in records] == [message, message]
