"""The simulated chain: what the file says, what its rows keep to, and that it is named a simulation everywhere."""

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mggcn._io.locations import Location
from mggcn.cli import main
from mggcn.data import _table_files as columns
from mggcn.errors import InputError
from mggcn.ethereum._build_files import is_simulated
from mggcn.ethereum._simulate import (
    BEHAVIOURS,
    CLASSES,
    END,
    FEE,
    START,
    World,
    simulate,
)
from mggcn.keys import Key

SCALE = 0.004
COLUMNS = ["hash", "block_number", "from_address", "to_address", "value", "gas_price", "block_timestamp"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("simulated")
    simulate(out / "chain.parquet", labels=out / "labels.csv", scale=SCALE, seed=7)
    return out


@pytest.fixture(scope="module")
def chain(folder: Path) -> pa.Table:
    return pq.read_table(folder / "chain.parquet")


@pytest.fixture(scope="module")
def world() -> World:
    return World.draw(SCALE, Key.of(3))


def test_the_columns_are_those_that_a_build_reads(chain: pa.Table) -> None:
    assert chain.schema.names == [*COLUMNS, "receipt_gas_used", "receipt_status"]
    assert chain.schema.field("value").type == pa.decimal128(38, 0)
    assert chain.schema.field("block_timestamp").type == pa.int64()


def test_the_file_is_named_a_simulation(folder: Path, tmp_path: Path) -> None:
    assert is_simulated(Location.of(folder / "chain.parquet"))
    assert b"scale 0.004, seed 7" in pq.read_metadata(folder / "chain.parquet").metadata[b"simulation"]
    pq.write_table(pa.table({"hash": ["0x1"]}), tmp_path / "real.parquet")
    (tmp_path / "real.csv").write_text("hash\n0x1\n")
    assert not is_simulated(Location.of(tmp_path / "real.parquet"))
    assert not is_simulated(Location.of(tmp_path / "real.csv"))


def test_rows_depend_on_the_seed_and_not_on_the_slices(chain: pa.Table, folder: Path, tmp_path: Path) -> None:
    def again(name: str, seed: int, rows: int) -> pa.Table:
        simulate(tmp_path / f"{name}.parquet", labels=tmp_path / f"{name}.csv", scale=SCALE, seed=seed, slice_rows=rows)
        return pq.read_table(tmp_path / f"{name}.parquet")

    assert again("same", 7, 777).equals(chain)
    assert (tmp_path / "same.csv").read_bytes() == (folder / "labels.csv").read_bytes()
    assert not set(again("other", 8, 50_000)["hash"].to_pylist()) & set(chain["hash"].to_pylist())


def test_every_class_is_labelled_and_takes_part(chain: pa.Table, folder: Path) -> None:
    (rows,) = columns.InputTable.of(folder / "labels.csv").chunks(["address", "label"])
    assert Counter(rows.columns["label"]) == dict.fromkeys(CLASSES, 10)
    assert sum(CLASSES.values()) == 816
    assert set(rows.columns["address"]) <= {*chain["from_address"].to_pylist(), *chain["to_address"].to_pylist()}


def test_the_chain_is_in_order(chain: pa.Table) -> None:
    block, second = chain["block_number"].to_numpy(), chain["block_timestamp"].to_numpy()
    assert (np.diff(block) >= 0).all()
    assert (np.diff(block) * 14 == np.diff(second)).all()
    assert START <= second.min() <= second.max() < END
    assert len(set(chain["hash"].to_pylist())) == chain.num_rows


def test_the_awkward_kinds_of_row_are_there(chain: pa.Table) -> None:
    pairs = list(zip(chain["from_address"].to_pylist(), chain["to_address"].to_pylist(), strict=True))
    values = chain["value"].to_pylist()
    assert any(target is None for _, target in pairs)
    assert any(source == target for source, target in pairs)
    assert 0 in values
    assert any(value > 2**64 for value in values)
    assert any(value % 10**9 for value in values)
    assert 0.002 < chain["receipt_status"].to_pylist().count(0) / chain.num_rows < 0.03


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_amounts_and_accounts_are_in_range(world: World, name: str) -> None:
    for flow in BEHAVIOURS[name](world):
        assert flow.source.shape == flow.target.shape == flow.gwei.shape == flow.second.shape
        assert flow.gwei.min(initial=0) >= 0
        assert 0 <= flow.source.min(initial=0) <= flow.source.max(initial=0) < world.total
        assert -1 <= flow.target.min(initial=0) <= flow.target.max(initial=0) < world.total


def test_a_deposit_is_swept_to_its_exchange(world: World) -> None:
    deposit = np.array([5, 9])
    paid, swept = world.deposit(world.groups["user"][:2], deposit, np.array([10**9, 100]), np.array([START, START]))
    assert (swept.source == paid.target).all()
    assert (swept.target == world.collectors[world.owners[deposit]]).all()
    assert swept.gwei.tolist() == [10**9 - FEE, 0]
    assert (swept.second > paid.second).all()


def test_users_act_after_they_appear(world: World) -> None:
    seconds = np.linspace(START + 86_400 * 200, END - 1, 500).astype(np.int64)
    drawn = world.users(seconds, interest=2) - world.groups["user"][0]
    assert (world.births[drawn] <= seconds).all()
    assert 0.65 < (drawn % 8 == 2).mean() < 0.9


@pytest.mark.parametrize("scale", [0.0, -1.0, 1e9, float("nan")])
def test_a_scale_out_of_range_is_refused(tmp_path: Path, scale: float) -> None:
    with pytest.raises(InputError, match="scale"):
        simulate(tmp_path / "a.parquet", labels=tmp_path / "a.csv", scale=scale)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--out", "."], ".: transactions are written as Parquet, to a file named .parquet or .pq"),
        (["--out", "c.csv"], "c.csv: transactions are written as Parquet, to a file named .parquet or .pq"),
        (["--out", "c.parquet", "--labels", "./c.parquet"], "c.parquet: transactions and labels cannot be one file"),
        (["--out", "d.parquet", "--overwrite"], "d.parquet: a folder, not a file to write"),
        (["--out", "c.parquet", "--labels", ".", "--overwrite"], ".: a folder, not a file to write"),
    ],
)
def test_files_that_cannot_be_written_are_one_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.parquet").mkdir()
    assert main(["ethereum", "simulate", "--scale", "0.001", *options]) == 2
    assert capsys.readouterr().err == f"mggcn: error: {message}\n"
    assert [path.name for path in tmp_path.rglob("*")] == ["d.parquet"]


def test_the_command_says_simulated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["ethereum", "simulate", "--scale", "0.001", "--out", str(tmp_path / "a.parquet")]
    assert main(command) == 0
    assert "SIMULATED" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {"a.parquet", "a.labels.csv"}
    assert main(command) == 2
    assert "already exists" in capsys.readouterr().err
    assert main([*command, "--overwrite"]) == 0
