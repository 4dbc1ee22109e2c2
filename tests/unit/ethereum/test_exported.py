"""The SQL script run in a database, and a data set from the tables that it creates."""

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet

from mggcn.cli import main
from mggcn.data import load_folder
from mggcn.ethereum._simulate import simulate

MORE = ("gas_price AS receipt_effective_gas_price", "NULL::VARCHAR AS receipt_contract_address")
BIGQUERY = {"value": "CAST(value AS DECIMAL(38,9))", "block_timestamp": "to_timestamp(block_timestamp)"}


@pytest.fixture
def exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """A folder of tables, as a database wrote them in several parts without an order."""
    monkeypatch.chdir(tmp_path)
    simulate(tmp_path / "chain.parquet", labels=tmp_path / "labels.csv", scale=0.003)
    script = ["bank.chain.transactions", "--engine", "sql", "--dialect", "duckdb", "--into", "bank.mine"]
    capsys.readouterr()
    assert main(["ethereum", "build", *script, "--as-of", "2018-06-30"]) == 0
    statements = capsys.readouterr().out
    with duckdb.connect(tmp_path / "bank.duckdb") as bank:
        bank.execute("SET TimeZone = 'UTC'; CREATE SCHEMA chain; CREATE SCHEMA mine")
        names = bank.read_parquet("chain.parquet").columns
        columns = [f"{BIGQUERY.get(name, name)} AS {name}" for name in names]
        casts = ", ".join([*columns, *MORE])
        bank.read_parquet("chain.parquet").project(casts).create("chain.transactions")
        bank.execute(statements)
        for table in ("links", "features"):
            content = bank.table(f"mine.mggcn_{table}").order("1 DESC").to_arrow_table()
            write_parts(tmp_path / "exported" / f"mggcn_{table}", content)
    (tmp_path / "bank.duckdb").unlink()
    return tmp_path / "exported"


def write_parts(folder: Path, table: Any) -> None:
    """Write decimals as BigQuery does, half of the rows in each file."""
    folder.mkdir(parents=True)
    for position, field in enumerate(table.schema):
        if pa.types.is_decimal(field.type):
            column = table.column(position).cast(pa.decimal128(38, 9))
            table = table.set_column(position, field.name, column)
    half = table.num_rows // 2
    parquet.write_table(table[:half], folder / "000000000000.parquet")
    parquet.write_table(table[half:], folder / "000000000001.parquet")


def test_exported_tables_give_the_data_set_of_the_transactions(
    exported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = ["--labels", "labels.csv", "--name", "simulated-one", "--quiet"]
    assert main(["ethereum", "build", "chain.parquet", "--out", "here", "--as-of", "2018-06-30", *labels]) == 0
    capsys.readouterr()
    assert main(["ethereum", "build", "exported", "--from-tables", "--out", "there", *labels]) == 0
    assert "rows in" not in capsys.readouterr().out
    here, there = load_folder("here"), load_folder("there")
    assert here.digest == there.digest
    for name in ("accounts.parquet", "edges.parquet"):
        assert parquet.read_table(f"here/{name}").equals(parquet.read_table(f"there/{name}"))
    assert "transactions (exported tables)" in there.source


def test_a_missing_part_of_the_export_is_an_error(exported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["ethereum", "build", "exported", "--from-tables", "--out", "out", "--quiet"]
    assert main([*command, "--as-of", "2018-06-30"]) == 2
    assert "--as-of: has no effect on exported tables" in capsys.readouterr().err
    part = exported / "mggcn_features" / "000000000000.parquet"
    for missing in (part, exported / "mggcn_links" / "000000000000.parquet"):
        content = missing.read_bytes()
        missing.unlink()
        assert main(command) == 2
        assert "a part of the export is missing or there twice" in capsys.readouterr().err
        missing.write_bytes(content)
    parquet.write_table(parquet.read_table(part).drop_columns("in_tx"), part)
    assert main(command) == 2
    assert "000000000000.parquet: column 'in_tx' is missing" in capsys.readouterr().err
    part.unlink()
    (exported / "mggcn_features" / "000000000001.parquet").unlink()
    assert main(command) == 2
    assert "no Parquet file of the table mggcn_features" in capsys.readouterr().err
    assert not Path("out").exists()
