"""No damaged file that we wrote is accepted: flipped bits, lost ends and swapped lines in every kind of file."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import mggcn
from mggcn.data import load_folder, save
from mggcn.errors import InputError
from mggcn.experiments import Ledger
from mggcn.experiments._records import pack
from mggcn.experiments._records import read_records as read
from mggcn.experiments._sections import group
from tests.conftest import small_dataset
from tests.records import RECORDS, ledger

TRIES = 60


def write_data(folder: Path) -> None:
    save(small_dataset(), folder / "data")


def write_run(folder: Path) -> None:
    mggcn.fit(small_dataset(), settings={"epochs": 1}, device="cpu").save(folder / "run")


def write_ledger(folder: Path) -> None:
    ledger(folder / "records.jsonl")


def write_packed(folder: Path) -> None:
    (folder / "packed.json").write_text(pack(group(RECORDS)))


KINDS: dict[str, tuple[Callable[[Path], None], Callable[[Path], object]]] = {
    "data/meta.json": (write_data, lambda folder: load_folder(folder / "data")),
    "data/x.npy": (write_data, lambda folder: load_folder(folder / "data")),
    "run/record.json": (write_run, lambda folder: mggcn.load_run(folder / "run")),
    "run/weights.safetensors": (write_run, lambda folder: mggcn.load_run(folder / "run")),
    "run/split.npz": (write_run, lambda folder: mggcn.load_run(folder / "run")),
    "records.jsonl": (write_ledger, lambda folder: Ledger(folder / "records.jsonl")),
    "packed.json": (write_packed, lambda folder: read([folder / "packed.json"])),
}


@pytest.mark.parametrize("name", KINDS)
def test_a_flipped_bit_is_never_accepted(tmp_path: Path, name: str) -> None:
    write, load = KINDS[name]
    write(tmp_path)
    load(tmp_path)
    whole, draw = (tmp_path / name).read_bytes(), np.random.default_rng(len(name))
    ends = [0, 1, 15, 80, len(whole) - 1]
    for place in [*ends, *(int(draw.integers(len(whole))) for _ in range(TRIES))]:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(draw.integers(8))
        (tmp_path / name).write_bytes(damaged)
        with pytest.raises(InputError, match=Path(name).name):
            load(tmp_path)


@pytest.mark.parametrize("name", [name for name in KINDS if name != "records.jsonl"])
def test_a_lost_end_is_never_accepted(tmp_path: Path, name: str) -> None:
    write, load = KINDS[name]
    write(tmp_path)
    whole = (tmp_path / name).read_bytes()
    for size in (0, 1, 90, len(whole) // 2, len(whole) - 1):
        (tmp_path / name).write_bytes(whole[:size])
        with pytest.raises(InputError, match=Path(name).name):
            load(tmp_path)


def test_weights_of_another_run_are_not_accepted(tmp_path: Path) -> None:
    for seed in (0, 1):
        mggcn.fit(small_dataset(), seed=seed, settings={"epochs": 1}, device="cpu").save(tmp_path / str(seed))
    shutil.copyfile(tmp_path / "1" / "weights.safetensors", tmp_path / "0" / "weights.safetensors")
    with pytest.raises(InputError, match=r"weights\.safetensors: sha256 differs from record\.json"):
        mggcn.load_run(tmp_path / "0")


def test_a_changed_class_order_or_direction_is_not_accepted(tmp_path: Path) -> None:
    write_data(tmp_path)
    path = tmp_path / "data" / "meta.json"
    whole = path.read_text()
    for old, new in (('"both"', '"in"'), ('"red"', '"green"')):
        assert old in whole
        path.write_text(whole.replace(old, new, 1))
        with pytest.raises(InputError, match=r"meta\.json: wrong checksum"):
            load_folder(tmp_path / "data")
