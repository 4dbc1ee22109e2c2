"""The contents of files, how they are grouped, and the one-line messages about broken files."""

import gzip
import json
from decimal import Decimal
from pathlib import Path
from unittest.mock import Mock

import pyarrow as pa
import pytest
from pyarrow import parquet

from mggcn.errors import InputError
from mggcn.ethereum import _build_files
from mggcn.ethereum._formats import parse_columns
from tests.unit.ethereum.test_formats import ROWS, SUMS, balances, etl, write_csv, write_lines
from tests.unit.ethereum.transactions import ETH, FEE, A, B, C, Row, counts, stages, transaction, write

ANSWER = {
    "hash": "0x1",
    "blockNumber": "9",
    "timeStamp": "1500000123",
    "from": A,
    "to": B,
    "value": "7",
    "isError": "0",
}


def valued(path: Path, number: int, value: pa.Array) -> Path:
    """One row whose value has a given type."""
    row = transaction(number, A, B)
    columns = {name: pa.array([cell]) for name, cell in row.items()} | {"value": value}
    parquet.write_table(pa.table(columns), path)
    return path


def test_parquet_files_with_other_types_are_read_apart(tmp_path: Path) -> None:
    large = 31_337_000_000_000_000_000_001
    first = valued(tmp_path / "1.parquet", 1, pa.array([Decimal(large)], pa.decimal128(38, 0)))
    second = valued(tmp_path / "2.parquet", 2, pa.array([5]))
    third = valued(tmp_path / "3.parquet", 3, pa.array(["0007"]))
    assert balances(tmp_path / "work", first, second, third)[1] == (B, large + 5 + 7)
    floats = valued(tmp_path / "4.parquet", 4, pa.array([1e18]))
    with pytest.raises(InputError, match=r"4\.parquet: column 'value' holds float64"):
        balances(tmp_path / "floats", first, floats)


def test_receipts_of_other_types_are_refused(tmp_path: Path) -> None:
    (tmp_path / "receipts").mkdir()
    for number, status in enumerate([1, "1"]):
        write(tmp_path / "receipts" / f"{number}.parquet", [{"transaction_hash": "0x1", "status": status}])
    path = write(tmp_path / "t.parquet", ROWS)
    with pytest.raises(InputError, match=r"1\.parquet: its columns, or their types, differ from those of .*0\.parquet"):
        balances(tmp_path / "work", path, receipts=tmp_path / "receipts")


@pytest.mark.parametrize("suffix", ["json", "json.gz"])
def test_lines_of_json_may_leave_out_what_is_null(tmp_path: Path, suffix: str) -> None:
    rows = [
        transaction(1, A, None, 3 * ETH, receipt_contract_address=C, receipt_status=None),
        transaction(2, A, B, receipt_status=0),
        transaction(3, A, B, 5),
    ]
    spelled = [{name: value for name, value in row.items() if value is not None} for row in rows]
    path = write_lines(tmp_path / f"t.{suffix}", spelled)
    if suffix.endswith("gz"):
        path.write_bytes(gzip.compress(path.read_bytes()))
    tally, accounts, _ = stages(tmp_path / "work", path)
    assert counts(tally) == {"creation": 1, "failed": 1}
    computed = [(row["address"], row["balance_wei"]) for row in accounts]
    assert computed == [(A, -3 * ETH - 5 - 3 * FEE), (B, 5), (C, 3 * ETH)]


def test_one_transaction_in_xblock_and_in_another_format_counts_once(tmp_path: Path) -> None:
    rows = [
        {"TxHash": row["hash"], "BlockHeight": row["block_number"], "TimeStamp": row["block_timestamp"], "From": A}
        | {"To": row["to_address"], "Value": value, "ContractAddress": "NULL", "isError": "0"}
        for row, value in [(ROWS[0], "2"), (ROWS[0], "1")]
    ]
    plain, xblock = write(tmp_path / "t.parquet", ROWS), write_csv(tmp_path / "x.csv", rows)
    tally, accounts, _ = stages(tmp_path / "work", plain, xblock)
    assert (tally.dropped["duplicate"], accounts[0]["out_tx"], accounts[0]["out_wei"]) == (1, 2, 3 * ETH)


def test_receipts_with_gaps_leave_what_the_transactions_know(tmp_path: Path) -> None:
    rows = [
        *(transaction(number, A, B, receipt_status=status) for number, status in ((1, 1), (2, 0), (3, 1))),
        transaction(4, A, None, 5, receipt_contract_address=C),
    ]
    empty = {"contract_address": "", "effective_gas_price": ""}
    receipts = [
        {"transaction_hash": rows[0]["hash"], "status": "0", "gas_used": "1"} | empty,
        {"transaction_hash": rows[3]["hash"], "status": "", "gas_used": ""} | empty,
    ]
    file = write_csv(tmp_path / "receipts.csv", receipts)
    tally, accounts, _ = stages(tmp_path / "work", write(tmp_path / "t.parquet", rows), receipts=file)
    assert counts(tally) == {"failed": 2, "no_receipt": 2, "creation": 1}
    assert (accounts[0]["out_tx"], accounts[0]["fee_wei"]) == (2, 3 * FEE + 10)


def test_receipts_need_hashes(tmp_path: Path) -> None:
    bare = [{name: row[name] for name in ("from_address", "to_address", "value", "block_timestamp")} for row in ROWS]
    path, receipts = write(tmp_path / "bare.parquet", bare), etl(tmp_path)["receipts"]
    with pytest.raises(InputError, match=r"^receipts: .*bare\.parquet has no hashes by which a receipt is found$"):
        balances(tmp_path / "work", path, receipts=receipts)
    tally, _, _ = stages(tmp_path / "both", path, write(tmp_path / "t.parquet", ROWS), receipts=receipts)
    assert tally.changed["no_receipt"] == len(bare)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a,b", "Expected Number of Columns: 4 Found: 2"),
        ("a,b,1,2,3", "Expected Number of Columns: 4 Found: 5"),
        ('a,b,1,"2', "Value with unterminated quote found."),
        ("a,\xe9,1,2", "Invalid unicode (byte sequence mismatch) detected. This file is not utf-8 encoded."),
    ],
)
def test_a_broken_line_of_csv_names_its_file_and_cause(tmp_path: Path, line: str, message: str) -> None:
    good = ["From,To,Value,TimeStamp", *[f"{A},{B},1,1500000000"] * 1000]
    path = tmp_path / "t.csv"
    path.write_bytes("\n".join([*good, line, ""]).encode("latin-1"))
    with pytest.raises(InputError) as caught:
        balances(tmp_path / "work", write_csv(tmp_path / "other.csv", ROWS), path)
    assert str(caught.value) == f"{path}: line 1002: {message}"


@pytest.mark.parametrize(
    ("line", "message"),
    [("{oops", "line 3: not valid JSON \\(Expecting property name"), ("5", "line 3: not an object but '5'")],
)
def test_a_broken_line_of_json_names_its_file_and_cause(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "t.json").write_text("\n".join([json.dumps(ANSWER)] * 2 + [line, json.dumps(ANSWER)]))
    with pytest.raises(InputError, match=rf"^{tmp_path}/t\.json: {message}"):
        balances(tmp_path / "work", tmp_path / "t.json")


@pytest.mark.parametrize("name", ["t.csv.gz", "t.json.gz"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no gzip", "Not a gzipped file"),
        (gzip.compress(b"From,To,Value,TimeStamp\n")[:20], "Compressed file ended"),
        (gzip.compress(b"\xff\xfe"), "'utf-8' codec"),
    ],
    ids=["not compressed", "cut off", "not text"],
)
def test_a_corrupt_gz_names_itself(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=rf"^{tmp_path}/{name}: not readable \({message}"):
        balances(tmp_path / "work", tmp_path / name)


def test_messages_name_the_file_that_was_given_not_what_it_was_rewritten_to(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps({"result": [ANSWER | {"from": "me"}]}))
    with pytest.raises(InputError, match=rf"^{tmp_path}/t\.json: no row is left of 1"):
        balances(tmp_path / "work", tmp_path / "t.json")


def test_an_answer_without_transactions_is_an_empty_file(tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    folder.mkdir()
    (folder / "1.json").write_text('{"status":"0","message":"No transactions found","result":[]}')
    (folder / "2.json").write_text("\n")
    with pytest.raises(InputError, match=r"every file given is empty \(.*1\.json, .*2\.json\)"):
        balances(tmp_path / "none", folder)
    answers = [{"result": [ANSWER]}, {"result": []}, {"result": [ANSWER | {"hash": "0x2"}]}]
    (folder / "3.json").write_text("\n".join(map(json.dumps, answers)))
    assert balances(tmp_path / "work", folder) == [(A, -14), (B, 14)]


def test_a_header_alone_has_no_rows(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("From,To,Value,TimeStamp\n")
    with pytest.raises(InputError, match=rf"^{tmp_path}/t\.csv: no rows$"):
        balances(tmp_path / "work", tmp_path / "t.csv")


def test_cryo_may_have_hexadecimal_values(tmp_path: Path) -> None:
    names = {"hash": "transaction_hash", "block_timestamp": "timestamp", "receipt_gas_used": "gas_used"}
    rows: list[Row] = [
        {names.get(name, name): value for name, value in row.items() if name not in ("value", "receipt_status")}
        | {"value_binary": f"0x{int(row['value']):064x}", "success": row["receipt_status"] == 1}
        for row in ROWS
    ]
    assert balances(tmp_path / "work", write(tmp_path / "t.parquet", rows)) == SUMS


def test_many_files_without_hashes_are_listed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expand = Mock(wraps=_build_files.expand)
    monkeypatch.setattr(_build_files, "expand", expand)
    columns = parse_columns("from=a,to=b,value=v,time=t")
    for number in range(12):
        write_csv(tmp_path / f"{number}.csv", [{"a": A, "b": B, "v": number, "t": 1_500_000_000}])
    tally, accounts, _ = stages(tmp_path / "work", *sorted(tmp_path.glob("*.csv")), columns=columns)
    assert (tally.kept, accounts[1]["balance_wei"]) == (12, sum(range(12)))
    assert expand.call_count == 1
