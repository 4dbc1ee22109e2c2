"""Spark and DuckDB give the same rows of the same types in every stage, and so the same data set.

All formats are read in one build, because Spark takes long to start a stage. Real rows are included if available.
"""

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from mggcn.ethereum._table_files import expand
from mggcn.ethereum.build import build
from mggcn.ethereum.pipeline import BuildInputs
from mggcn.ethereum.simulate import simulate
from tests.unit.ethereum.test_formats import write_csv
from tests.unit.ethereum.transactions import ETH, A, B, C, address, transaction, write

pytestmark = pytest.mark.slow
pytest.importorskip("pyspark")

MILLION = 0.22  # the scale at which more than a million transactions are simulated


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyspark.sql import SparkSession

        options = {
            "spark.driver.memory": "2g",
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",  # what runs once is not worth optimising
            "spark.sql.shuffle.partitions": "2",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
        }
        session = SparkSession.builder.master("local[2]").config(map=options).getOrCreate()
    yield session
    session.stop()


def odd_rows(folder: Path) -> list[Path]:
    """Something for every rule and every way to read a value, as Parquet with bytes, CSV, JSON lines and a document."""
    spelled = [
        transaction(10**6, A.upper().replace("0X", "0x"), B, 3 * ETH),
        transaction(10**6, A, B, 3 * ETH, block_number=7),
        transaction(10**6 + 1, A, A),
        transaction(10**6 + 2, "GENESIS", A, 10**22, hash="GENESIS_a"),
        transaction(10**6 + 3, A, None, receipt_contract_address=C),
        transaction(10**6 + 4, A, "", 5),
        transaction(10**6 + 5, "nobody", B),
        transaction(10**6 + 6, A, B, "1.25e0"),
        transaction(10**6 + 13, A, B, "1.25e+18"),
        transaction(10**6 + 14, A, B, "0E-9"),
        transaction(10**6 + 7, A, B, 123_456_789_012_345_678_901_234_567, receipt_status=0),
        transaction(10**6 + 8, C, A, 123_456_789_012_345_678_901_234_567, block_timestamp="2017-07-14 02:40:00 UTC"),
        transaction(10**6 + 9, C, A, 1, block_timestamp="2017-02-31 00:00:00"),
        transaction(10**6 + 10, "GENESIS", None),
        transaction(10**6 + 11, A, B, receipt_status="0.0"),
        transaction(10**6 + 12, A, B, receipt_status="reverted"),
    ]
    xblock = {"": 0, "TxHash": "0x1", "BlockHeight": 4, "TimeStamp": 1_500_000_000, "From": A, "To": B}
    xblock |= {
        "Value": "1.5555555553999998e-08",
        "ContractAddress": "NULL",
        "Input": 'a "quoted", text',
        "isError": "0",
    }
    cryo = {"transaction_hash": b"\x01" * 32, "from_address": b"\xaa" * 20, "to_address": None, "success": True}
    cryo |= {"block_number": 5, "timestamp": 1_500_000_000, "value_binary": (10**26 + 7).to_bytes(32, "big")}
    etherscan = {
        "hash": "0x5",
        "blockNumber": "9",
        "timeStamp": "1500000123",
        "from": B,
        "to": address(77),
        "value": str(7 * ETH),
    }
    coded = {name: f"0x{value.hex()}" if isinstance(value, bytes) else value for name, value in cryo.items()}
    bare = {"from_address": A, "to_address": B, "value": 5, "block_timestamp": 1_500_000_000, "receipt_status": 0.0}
    answer, lines = folder / "answer.json", folder / "lines.json"
    answer.write_text(
        json.dumps({"status": "1", "result": [etherscan | {"isError": "0", "gasUsed": "21000", "gasPrice": "5"}]})
    )
    large = {"value": 12_345_678_901_234_567_890_123_457}
    short = {name: value for name, value in transaction(3 * 10**6 + 1, A, None, 5).items() if value not in (None, 1)}
    lines.write_text("".join(json.dumps(row) + "\n" for row in (short, transaction(3 * 10**6, B, C) | large)))
    return [
        write_csv(
            folder / "spelled.csv",
            [{name: "" if value is None else value for name, value in row.items()} for row in spelled],
        ),
        write_csv(
            folder / "xblock.csv", [xblock, xblock, xblock | {"To": "NULL", "Value": "0E-18", "ContractAddress": C}]
        ),
        write(folder / "cryo.parquet", [cryo, cryo | {"to_address": b"\xbb" * 20, "transaction_hash": b"\x02" * 32}]),
        write(folder / "coded.parquet", [coded | {"transaction_hash": "0x03"}]),
        write(folder / "bare.parquet", [bare, bare, bare | {"to_address": C}]),
        write(
            folder / "again.parquet", [bare | {"to_address": C.upper().replace("0X", "0x")}, bare, bare | {"value": 6}]
        ),
        answer,
        lines,
    ]


def receipts_of_few(folder: Path) -> Path:
    """Receipts with gaps, which the columns of the transactions fill."""
    rows = [
        {"transaction_hash": f"0x{number:064x}", "status": status, "gas_used": gas, "effective_gas_price": ""}
        for number, status, gas in ((10**6 + 1, "1", "30000"), (10**6 + 4, "0", ""), (3 * 10**6, "", "1"))
    ]
    return write_csv(folder / "receipts.csv", rows)


def everything(folder: Path, data_root: Path | None) -> list[Path]:
    simulate(folder / "simulated.parquet", labels=folder / "labels.csv", scale=MILLION)
    real = data_root / "ethereum_real" / "transactions.parquet" if data_root else None
    return [*odd_rows(folder), folder / "simulated.parquet", *([real] if real and real.is_file() else [])]


def test_spark_gives_the_rows_and_types_of_duckdb(tmp_path: Path, session: Any, request: pytest.FixtureRequest) -> None:
    try:
        root = request.getfixturevalue("data_root")
    except pytest.skip.Exception:
        root = None
    files = tuple(expand(everything(tmp_path, root)))
    receipts = receipts_of_few(tmp_path)
    built = [
        build(
            BuildInputs(files, receipts=receipts),
            tmp_path / engine,
            labels=tmp_path / "labels.csv",
            engine=engine,
            name="one",
        )
        for engine in ("duckdb", "spark")
    ]
    assert built[0].tally == built[1].tally
    assert built[0].tally.rows > 1_000_000
    dropping = ("duplicate", "reorganised", "malformed_sender", "malformed_receiver", "no_value", "no_time")
    for rule in (*dropping, "unknown_status"):
        assert built[0].tally.dropped[rule] > 0, rule
    assert all(count > 0 for count in built[0].tally.changed.values()), built[0].tally.changed
    for name in ("accounts.parquet", "edges.parquet"):
        duckdb, spark = (parquet.read_table(tmp_path / engine / name) for engine in ("duckdb", "spark"))
        assert duckdb.schema.equals(spark.schema)
        assert duckdb.equals(spark)
    assert built[0].dataset.digest == built[1].dataset.digest
