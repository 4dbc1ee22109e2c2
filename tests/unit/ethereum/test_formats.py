"""Every format gives the same accounts from the same transactions; and the real samples, where they are at hand."""

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from mggcn.errors import InputError
from mggcn.ethereum import BuildInputs, build
from mggcn.ethereum._formats import parse_columns, recognise
from mggcn.ethereum._label_lists import read_labels
from tests.skips import real_data
from tests.unit.ethereum.transactions import ETH, FEE, A, B, C, D, Row, counts, stages, transaction, write

ROWS = [transaction(1, A, B, 2 * ETH), transaction(2, B, C, ETH // 3), transaction(3, A, D, 7, receipt_status=0)]
SUMS = [(A, -2 * ETH - 2 * FEE), (B, 2 * ETH - ETH // 3 - FEE), (C, ETH // 3)]


def balances(work: Path, *files: Path, **options: Any) -> list[tuple[str, int]]:
    _, accounts, _ = stages(work, *files, **options)
    return [(row["address"], row["balance_wei"]) for row in accounts]


def write_csv(path: Path, rows: list[Row]) -> Path:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    content = text.getvalue().encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def write_lines(path: Path, rows: list[Row]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def renamed(names: dict[str, str], **more: Any) -> list[Row]:
    return [{new: row[old] for old, new in names.items()} | more for row in ROWS]


def etl(folder: Path) -> dict[str, Path]:
    """ethereum-etl's transactions without time and status, receipts and blocks, as CSV."""
    columns = ("hash", "block_number", "from_address", "to_address", "value", "gas_price")
    receipts = [
        {"transaction_hash": row["hash"], "block_number": row["block_number"], "status": row["receipt_status"]}
        | {"gas_used": row["receipt_gas_used"], "contract_address": "", "effective_gas_price": ""}
        for row in ROWS
    ]
    blocks = [{"number": row["block_number"], "timestamp": row["block_timestamp"]} for row in ROWS]
    return {
        "transactions": write_csv(folder / "transactions.csv", [{name: row[name] for name in columns} for row in ROWS]),
        "receipts": write_csv(folder / "receipts.csv", [*receipts, receipts[0] | {"block_number": 0, "status": 0}]),
        "blocks": write_csv(folder / "blocks.csv", blocks),
    }


@pytest.mark.parametrize("kind", ["parquet", "csv", "csv.gz", "json"])
def test_bigquery_in_every_container(tmp_path: Path, kind: str) -> None:
    spelled = [row | {"block_timestamp": f"2017-07-14 02:40:0{i} UTC"} for i, row in enumerate(ROWS)]
    path = tmp_path / f"t.{kind}"
    writer = {"parquet": write, "csv": write_csv, "csv.gz": write_csv, "json": write_lines}[kind]
    assert balances(tmp_path / "work", writer(path, spelled)) == SUMS


def test_numbers_of_json_lines_are_exact(tmp_path: Path) -> None:
    large = 12_345_678_901_234_567_890_123_457
    path = write_lines(tmp_path / "t.json", [transaction(1, A, B) | {"value": large}])
    assert balances(tmp_path / "work", path) == [(A, -large - FEE), (B, large)]


def test_ethereum_etl_with_receipts_and_blocks(tmp_path: Path) -> None:
    files = etl(tmp_path)
    extra = {"receipts": files["receipts"], "blocks": files["blocks"]}
    assert balances(tmp_path / "work", files["transactions"], **extra) == SUMS
    with pytest.raises(InputError, match=r"transactions\.csv: no time \(ethereum-etl\): give blocks="):
        balances(tmp_path / "again", files["transactions"])


def test_cryo_has_bytes(tmp_path: Path) -> None:
    rows = [
        {
            "transaction_hash": bytes.fromhex(row["hash"][2:]),
            "from_address": bytes.fromhex(row["from_address"][2:]),
            "to_address": bytes.fromhex(row["to_address"][2:]),
            "block_number": row["block_number"],
            "timestamp": row["block_timestamp"],
            "value_binary": int(row["value"]).to_bytes(32, "big"),
            "value_string": row["value"],
            "value_f64": float(row["value"]),
            "gas_used": 21_000,
            "gas_price": 10,
            "success": row["receipt_status"] == 1,
        }
        for row in ROWS
    ]
    assert balances(tmp_path / "work", write(tmp_path / "t.parquet", rows)) == SUMS
    for row in rows:
        del row["value_string"]
    assert balances(tmp_path / "bytes", write(tmp_path / "b.parquet", rows)) == SUMS
    for row in rows:
        del row["value_binary"]
    with pytest.raises(InputError, match="'value_f64' holds float64"):
        balances(tmp_path / "floats", write(tmp_path / "f.parquet", rows))


ETHERSCAN = {
    "hash": "hash",
    "blockNumber": "block_number",
    "timeStamp": "block_timestamp",
    "from": "from_address",
    "to": "to_address",
    "value": "value",
}


@pytest.mark.parametrize(
    "names", [{"receipt_status": 1}, {"status": "0x1"}, {"txreceipt_status": "1"}, {"success": True}, {}]
)
@pytest.mark.parametrize("error", ["isError", "is_error"])
def test_every_column_that_says_a_transaction_failed_is_read(tmp_path: Path, names: Row, error: str) -> None:
    rows = [
        {name: value for name, value in transaction(number, A, B).items() if name != "receipt_status"}
        | names
        | {error: int(number == 2)}
        for number in (1, 2, 3)
    ]
    tally, _, _ = stages(tmp_path / "work", write(tmp_path / "t.parquet", rows))
    assert counts(tally) == {"failed": 1}
    assert tally.notes == ()


def test_a_column_of_failures_that_is_not_among_given_columns_is_named(tmp_path: Path) -> None:
    rows = [{"a": A, "b": B, "v": 5, "t": 1_500_000_000, "isError": 1}]
    tally, _, _ = stages(
        tmp_path / "work", write(tmp_path / "t.parquet", rows), columns=parse_columns("from=a,to=b,value=v,time=t")
    )
    assert tally.notes[0].endswith("counts as a success (columns does not name error=isError)")


@pytest.mark.parametrize("shape", ["answer", "log", "list", "lines"])
def test_etherscan(tmp_path: Path, shape: str) -> None:
    rows: list[Row] = [
        {name: str(row[old]) for name, old in ETHERSCAN.items()}
        | {"isError": str(1 - row["receipt_status"]), "gasUsed": "21000", "gasPrice": "10", "contractAddress": ""}
        for row in ROWS
    ]
    path = tmp_path / "t.json"
    if shape == "lines":
        write_lines(path, rows)
    else:
        document = {"answer": {"status": "1", "result": rows}, "log": {"kwargs": {}, "res": rows}, "list": rows}[shape]
        path.write_text(json.dumps(document, indent=2 if shape == "log" else None))
    assert balances(tmp_path / "work", path) == SUMS


def test_an_error_of_etherscan_is_reported(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text('{"status":"0","message":"NOTOK","result":"Max rate limit reached"}')
    with pytest.raises(InputError, match=r"t\.json: its rows are not a list of objects but 'Max rate limit reached'"):
        balances(tmp_path / "work", tmp_path / "t.json")


def test_xblock_keeps_transfers_within_a_transaction(tmp_path: Path) -> None:
    row = {"": 0, "TxHash": "0x1", "BlockHeight": 4, "TimeStamp": 1_500_000_000, "From": A, "To": B}
    row |= {"Value": "0.100000000000000000", "ContractAddress": "NULL", "Input": "0x", "isError": "0"}
    inner = row | {"From": B, "To": "NULL", "Value": "0E-18", "ContractAddress": C}
    first = write_csv(tmp_path / "1.csv", [row, inner])
    second = write_csv(tmp_path / "2.csv", [row, row | {"TxHash": "0x2", "isError": "1", "Value": "5"}])
    tally, accounts, links = stages(tmp_path / "work", first, second)
    assert counts(tally) == {"duplicate": 1, "creation": 1, "failed": 1}
    assert [row["balance_wei"] for row in accounts] == [-ETH // 10, ETH // 10, 0]
    assert {(row["node"], row["other"]) for row in links} == {(0, 0), (0, 1), (1, 0), (1, 2), (2, 1)}


def test_any_table_by_its_columns(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "t.csv", [{"a": "7", "b": "12", "x": "0.5", "t": 1_500_000_000, "n": 4}])
    columns = parse_columns("from=a, to=b, eth=x, time=t, count=n")
    _, accounts, _ = stages(tmp_path / "work", path, columns=columns, any_ids=True)
    assert [(row["address"], row["balance_wei"], row["in_tx"]) for row in accounts] == [
        ("12", ETH // 2, 4),
        ("7", -ETH // 2, 0),
    ]


def test_balances_replace_what_the_transactions_add_up_to(tmp_path: Path) -> None:
    true_balances = write(tmp_path / "b.parquet", [{"address": B.upper().replace("0X", "0x"), "eth_balance": "123"}])
    computed = balances(tmp_path / "work", write(tmp_path / "t.parquet", ROWS), balances=true_balances)
    assert computed == [SUMS[0], (B, 123), SUMS[2]]


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([{"address": B, "eth_balance": "12x"}], f"the balance of {B} is '12x', not a number of wei"),
        ([{"address": B, "eth_balance": None}], f"the balance of {B} is missing"),
        (
            [{"address": B, "eth_balance": "1"}, {"address": B, "eth_balance": "2"}],
            f"{B} has two balances, 1 and 2",
        ),
    ],
)
def test_balances_that_are_no_balances(tmp_path: Path, rows: list[Row], problem: str) -> None:
    path = tmp_path / "b.parquet"
    schema = pa.schema({"address": pa.string(), "eth_balance": pa.string()})
    parquet.write_table(pa.Table.from_pylist(rows, schema), path)
    with pytest.raises(InputError) as error:
        balances(tmp_path / "work", write(tmp_path / "t.parquet", ROWS), balances=path)
    assert str(error.value) == f"{path}: {problem}"


def test_files_may_have_different_formats_and_be_empty(tmp_path: Path) -> None:
    first = write(tmp_path / "1.parquet", ROWS[:1])
    second = write_csv(tmp_path / "2.csv", ROWS[1:])
    (tmp_path / "3.csv").write_text("")
    assert balances(tmp_path / "work", first, second, tmp_path / "3.csv") == SUMS


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            ["from_address", "to_adress", "value"],
            "column 'to_address' of ethereum-etl is missing .'to_adress' is there",
        ),
        (["From", "To", "Value"], "column 'TimeStamp' of XBlock is missing"),
        (["a", "b"], "no known format has the columns 'a', 'b'; give the columns by hand: columns="),
        (["inputs", "outputs", "hash"], "several inputs and outputs .UTXO., so that no input pays a certain output"),
        (["from", "to", "tokenID"], "single items: their values are ids of single items"),
    ],
)
def test_what_is_missing_is_said_by_name(names: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        recognise(names)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("from=a", "no to="),
        ("from=a,to=b", "no value="),
        ("from=a,to", "'to' is not ROLE=COLUMN"),
        ("from=a,to=b,value=c,tiem=d", "unknown role in columns 'tiem'; did you mean time"),
        ("from=a,to=b,value=c,eth=d", "exclude each other"),
    ],
)
def test_columns_are_checked(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_columns(text)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.txt", "a", "not a .parquet, .csv or .json file"),
        ("t.csv", "", "no transactions: every file given is empty"),
        ("t.json", "[1", "not valid JSON"),
        ("t.parquet", "PAR1", "not a readable Parquet file"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message):
        stages(tmp_path / "work", tmp_path / name)


def test_a_file_is_not_read_twice(tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", ROWS)
    with pytest.raises(InputError, match=r"t\.parquet: given twice"):
        stages(tmp_path / "work", path, tmp_path)


@pytest.mark.parametrize(
    "text", ["address,label\n{0},Phish\n", "{0} Phish\r\n", "{0};Phish\n", "Label,Address\nPhish,{0}\n"]
)
def test_labels_in_their_spellings(tmp_path: Path, text: str) -> None:
    (tmp_path / "l.csv").write_text(text.format("0x" + A[2:].upper()))
    assert read_labels(tmp_path / "l.csv") == ({A: "Phish"}, [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("address,name\n0x1,a\n", "column 'label' is missing"),
        ("address,label\n0x1,\n", "line 2: the label is empty"),
        (f"address,label\n{A},a\n0X{A[2:]},b\n", f"line 3: {A} has the label 'b', before it had 'a'"),
        ("address,label\n", "no labels"),
    ],
)
def test_labels_that_cannot_be_used(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "l.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        read_labels(tmp_path / "l.csv")


@pytest.fixture(scope="module")
def samples() -> Path:
    return real_data("ethereum_samples")


def test_real_ethereum_etl(tmp_path: Path, samples: Path) -> None:
    """CSV and JSON of the same two blocks, the stream's JSON with receipts, and a file without any transaction."""
    folder, name = samples / "ethereum_etl", "test_export_blocks_job_blocks_with_transactions_and_withdrawals_expected"
    stream = folder / "test_stream_blocks_17173049_17173050_expected_transactions.json"
    files = [folder / f"{name}_transactions.csv", folder / f"{name}_transactions.json"]
    empty = folder / "test_export_blocks_job_block_without_transactions_expected_transactions.csv"
    first, accounts, _ = stages(tmp_path / "1", files[0], empty)
    second, others, _ = stages(tmp_path / "2", *files)
    third, whole, _ = stages(tmp_path / "3", stream)
    assert (first.rows, first.kept, second.rows, second.dropped["duplicate"], third.kept) == (298, 298, 596, 298, 298)
    assert accounts == others
    assert (first.changed["unknown_contract"], third.changed["creation"]) == (1, 1)
    assert sum(row["in_wei"] for row in accounts) >= sum(row["in_wei"] for row in whole) > 0
    assert sum(row["fee_wei"] for row in whole) > 10**17


def test_real_receipts(tmp_path: Path, samples: Path) -> None:
    folder = samples / "ethereum_etl"
    file = folder / "test_export_blocks_job_block_with_logs_expected_transactions.csv"
    receipts = folder / "test_export_receipts_job_receipts_with_logs_expected_receipts.json"
    tally, accounts, _ = stages(tmp_path / "work", file, receipts=receipts)
    assert tally.rows == tally.kept
    assert sum(row["fee_wei"] for row in accounts) > 0


def test_real_etherscan(tmp_path: Path, samples: Path) -> None:
    folder = samples / "etherscan_api"
    normal = [folder / "get_normal_txs_by_address.json", folder / "get_normal_txs_by_address_paginated.json"]
    tally, accounts, _ = stages(tmp_path / "work", *normal, folder / "get_internal_txs_by_address.json")
    assert (tally.changed["genesis"], set(tally.formats)) == (1, {"Etherscan", "Etherscan internal transactions"})
    assert tally.dropped["duplicate"] > 0
    owner = next(row for row in accounts if row["address"] == "0xddbd2b932c763ba5b1b7ae3b362eac3e8d40121a")
    assert owner["fee_wei"] > 0


def test_real_tokens_of_etherscan(tmp_path: Path, samples: Path) -> None:
    """Sums of Maker by Python's integers."""
    file = samples / "etherscan_api" / "get_erc20_token_transfer_events_by_address_and_contract_paginated.json"
    build(BuildInputs((file,)), tmp_path / "out")
    found = {
        (row["from_address"], row["to_address"]): (row["count"], int(row["amount"]))
        for row in parquet.read_table(tmp_path / "out" / "transfers.parquet").to_pylist()
    }
    expected: dict[tuple[str, str], list[int]] = {}
    for row in json.loads(file.read_text())["res"]:
        expected.setdefault((row["from"], row["to"]), []).append(int(row["value"]))
    assert found == {pair: (len(values), sum(values)) for pair, values in expected.items()}


def test_real_xblock(tmp_path: Path, samples: Path) -> None:
    folder = samples / "xblock_csv" / "yuanqi7_spider"
    files = [path for path in folder.rglob("*.csv") if not path.stem.endswith("_neighbor")]
    tally, _, _ = stages(tmp_path / "work", *files)
    assert tally.formats == ("XBlock",)
    assert tally.dropped["duplicate"] > 0
    assert tally.changed["creation"] > 0
    assert tally.rows == tally.kept + tally.dropped["duplicate"]
    with pytest.raises(InputError, match="'address'"):
        stages(tmp_path / "neighbours", *folder.rglob("*_neighbor.csv"))
