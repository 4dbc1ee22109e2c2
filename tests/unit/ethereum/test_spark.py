"""Spark and DuckDB give the same rows of the same types in every stage, and so the same bytes.

All formats are read in one build, because Spark takes long to start a stage. They, and the stages, are in an object
store, for which a folder stands: Spark reaches it through Hadoop's mount table, pyarrow through a file system of it.
Real rows are included if available.
"""

import json
import os
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs, parquet

from mggcn._io import locations
from mggcn.cli import main
from mggcn.data import load_folder
from mggcn.ethereum import _assembly, _engines
from mggcn.ethereum._simulate import simulate
from tests.unit.ethereum.test_formats import write_csv
from tests.unit.ethereum.test_transfers import in_cryo, token, trace
from tests.unit.ethereum.transactions import ETH, A, B, C, address, transaction, write

pytestmark = pytest.mark.slow
pytest.importorskip("pyspark")

SCALE = 0.002
REAL_ROWS = 100_000
VIEW = "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme"


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bucket")


@pytest.fixture(scope="module")
def session(bucket: Path) -> Iterator[Any]:
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("no Java, which Spark needs")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyspark.sql import SparkSession

        options = {
            "spark.driver.memory": "2g",
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",  # what runs once is not worth optimising
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.adaptive.enabled": "false",  # which joins small parts, and plans every stage several times
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.hadoop.fs.s3.impl": VIEW,
            "spark.hadoop.fs.viewfs.mounttable.bucket.linkFallback": bucket.as_uri(),
        }
        session = SparkSession.builder.master("local[2]").config(map=options).getOrCreate()
    yield session
    session.stop()


@pytest.fixture
def store(session: Any, bucket: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that stands for ``s3://bucket``; stages and tables have several groups of rows."""

    def open_folder(address: str) -> tuple[fs.FileSystem, str]:
        return fs.SubTreeFileSystem(str(bucket), fs.LocalFileSystem()), address.removeprefix("s3://bucket/")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(locations, "open_address", open_folder)
    monkeypatch.setattr(_engines, "_GROUP_ROWS", 2048)
    monkeypatch.setattr(_engines, "_GROUP_BYTES", 1 << 15)
    monkeypatch.setattr(_assembly, "_ROWS", 1000)
    return bucket


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
        transaction(10**6 + 15, A, B, block_timestamp=0),
        transaction(10**6 + 16, A, B, block_timestamp="2100-01-01 00:00:00", isError=0),
        transaction(10**6 + 17, A, B, isError=1),
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
            [
                {"isError": ""} | {name: "" if value is None else value for name, value in row.items()}
                for row in spelled
            ],
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


@pytest.mark.filterwarnings("ignore:Exception ignored in.*socket:pytest.PytestUnraisableExceptionWarning")  # Spark 4.0
def test_spark_gives_the_bytes_of_duckdb(
    tmp_path: Path, store: Path, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    (store / "tables").mkdir()
    simulate(store / "tables" / "simulated.parquet", labels=tmp_path / "labels.csv", scale=SCALE)
    odd_rows(store / "tables")
    receipts_of_few(store)
    try:
        real = request.getfixturevalue("data_root") / "ethereum_real" / "transactions.parquet"
    except pytest.skip.Exception:
        real = tmp_path / "none"
    if real.is_file():
        parquet.write_table(parquet.read_table(real).slice(0, REAL_ROWS), store / "tables" / "real.parquet")
    common = ["--labels", "labels.csv", "--name", "simulated-one", "--max-dropped", "1"]
    here = ["ethereum", "build", f"{store}/tables", "--receipts", f"{store}/receipts.csv", *common]
    there = ["ethereum", "build", "s3://bucket/tables", "--receipts", "s3://bucket/receipts.csv", *common]
    assert main([*here, "--out", "duckdb", "--quiet"]) == 0
    expected = capsys.readouterr().out.replace("in duckdb", "in spark")
    assert main([*there, "--out", "spark", "--engine", "spark", "--stages", "s3://bucket/stages"]) == 0
    printed = capsys.readouterr()
    assert printed.out == expected
    assert "rows need about" in printed.err
    dropping = (
        "duplicate",
        "reorganised",
        "malformed sender",
        "malformed receiver",
        "no value",
        "no time",
        "implausible time",
    )
    changing = ("mixed case", "creation", "unknown contract", "failed", "to itself", "genesis", "below one wei")
    for rule in (*dropping, "unknown status", *changing, "no receipt"):
        assert f" {rule} " in expected, rule
    names = sorted(path.name for path in Path("duckdb").iterdir())
    assert names == sorted(path.name for path in Path("spark").iterdir())
    assert [name for name in names if Path("duckdb", name).read_bytes() != Path("spark", name).read_bytes()] == []
    assert load_folder("spark").num_nodes > 2 * _assembly._ROWS
    assert sorted(path.name for path in store.iterdir()) == ["receipts.csv", "stages", "tables"]
    assert list((store / "stages").iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["duckdb", "labels.csv", "spark"]


@pytest.mark.filterwarnings("ignore:Exception ignored in.*socket:pytest.PytestUnraisableExceptionWarning")  # Spark 4.0
def test_spark_gives_the_bytes_of_duckdb_for_types_of_edges(
    tmp_path: Path, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = store / "typed"
    folder.mkdir()
    failed = {"error": "out of gas", "status": None}
    traced = [
        trace(1, "", A, B, 5 * ETH),
        trace(1, "0", B, C, 2 * ETH),
        trace(1, "0,1", C, A, 1, call_type="delegatecall"),
        trace(2, "", A, C, 3),
        trace(2, "1", C, B, 4, **failed),
        trace(2, "1,0", B, A, 5, status=None),
        trace(3, "", A, B, 6, **failed),
        trace(4, "", None, C, 7, trace_type="reward", call_type=None, transaction_hash=None),
        trace(5, "", C, address(77), 8, trace_type="create", call_type=None),
    ]
    coins = [
        token(1, 0, address(0x100), A, B, 10**31),
        token(1, 1, address(0x100)[2:].upper(), A, C, 7),
        token(2, 0, address(0x200), A, B, 7),
        token(3, 0, address(0x200), B, C, 7),
        token(3, 1, address(0x300), A, B, 500),
        token(3, 2, address(0x300), C, B, 500),
        token(4, 0, address(0x400), A, B, 2**255),
    ]
    cryo = [in_cryo(row) for row in traced if row["transaction_hash"] and not row["error"]]
    write(folder / "paid.parquet", [transaction(1, A, B, 5 * ETH), transaction(3, A, B, 6, receipt_status=None)])
    write_csv(
        folder / "traces.csv", [{name: "" if cell is None else cell for name, cell in row.items()} for row in traced]
    )
    write(folder / "cryo.parquet", cryo)
    lines = [row | {"value": int(row["value"])} for row in coins]
    (folder / "tokens.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines))
    assert (
        main(["ethereum", "build", str(folder), "--max-dropped", "1", "--name", "one", "--out", "duckdb", "--quiet"])
        == 0
    )
    expected = capsys.readouterr().out.replace("in duckdb", "in spark")
    there = ["ethereum", "build", "s3://bucket/typed", "--max-dropped", "1", "--name", "one"]
    assert main([*there, "--stages", "s3://bucket/stages", "--out", "spark", "--engine", "spark", "--quiet"]) == 0
    assert capsys.readouterr().out == expected
    for rule in ("code call", "token id", "duplicate", "failed", "genesis"):
        assert f" {rule} " in expected, rule
    names = sorted(path.name for path in Path("duckdb").iterdir())
    assert "transfers.parquet" in names
    assert names == sorted(path.name for path in Path("spark").iterdir())
    different = [name for name in names if Path("duckdb", name).read_bytes() != Path("spark", name).read_bytes()]
    assert different == []
    assert load_folder("spark").graph.types == ("transaction", "internal", "token")


def test_a_damaged_file_is_one_line_and_leaves_nothing(
    tmp_path: Path, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [transaction(number, address(number), address(number + 1)) for number in range(50)]
    damaged = write(store / "damaged.parquet", rows)
    content = bytearray(damaged.read_bytes())
    content[4:400] = bytes(396)
    damaged.write_bytes(content)
    command = ["ethereum", "build", "s3://bucket/damaged.parquet", "--engine", "spark", "--stages", "s3://bucket/work"]
    assert main([*command, "--out", "out", "--quiet"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("mggcn: error: rows: ")
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
    assert list((store / "work").iterdir()) == []
