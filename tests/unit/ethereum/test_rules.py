"""Each rule on rows made by hand, and the exactness of money, on DuckDB."""

import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pytest

from mggcn.errors import InputError
from mggcn.ethereum import BuildInputs, _formats
from mggcn.ethereum import _stages as rules
from mggcn.ethereum._engines import check_types
from tests.unit.ethereum.transactions import ETH, FEE, A, B, C, D, Row, counts, stages, transaction, write


@pytest.fixture(scope="module")
def duckdb() -> Iterator[Any]:
    connection = ibis.duckdb.connect()
    yield connection
    connection.disconnect()


def run(tmp_path: Path, rows: list[Row], **options: object) -> tuple[dict[str, int], dict[str, Row], set[tuple]]:
    """What the rules counted, the accounts by address, and the neighbours."""
    tally, accounts, links = stages(tmp_path / "work", write(tmp_path / "t.parquet", rows), **options)
    assert tally.rows == len(rows) == tally.kept + sum(tally.dropped.values())
    names = {row["id"]: row["address"] for row in accounts}
    pairs = {(names[row["node"]], names[row["other"]]) for row in links if row["node"] != row["other"]}
    return counts(tally), {row["address"]: row for row in accounts}, pairs


def test_a_transfer_moves_its_value_and_costs_its_fee(tmp_path: Path) -> None:
    counted, accounts, pairs = run(tmp_path, [transaction(1, A, B, 5 * ETH), transaction(4, B, A, 2 * ETH)])
    assert counted == {}
    assert pairs == {(A, B), (B, A)}
    assert accounts[A] == {
        "address": A,
        "id": 0,
        "balance_wei": -3 * ETH - FEE,
        "in_degree": 1,
        "out_degree": 1,
        "n_counterparties": 1,
        "in_tx": 1,
        "out_tx": 1,
        "in_wei": 2 * ETH,
        "out_wei": 5 * ETH,
        "fee_wei": FEE,
        "max_wei": 5 * ETH,
        "first_time": 1_500_000_001,
        "last_time": 1_500_000_004,
    }


@pytest.mark.parametrize("status", [0, "0", False, "False", 0.0, "0.0", "0x0"])
def test_a_failed_transaction_only_costs_its_fee(tmp_path: Path, status: object) -> None:
    counted, accounts, pairs = run(tmp_path, [transaction(1, A, B, receipt_status=status)])
    assert counted == {"failed": 1}
    assert (set(accounts), pairs) == ({A}, set())
    assert (accounts[A]["balance_wei"], accounts[A]["out_tx"], accounts[A]["last_time"]) == (-FEE, 0, 0)


def test_before_byzantium_there_is_no_status_and_it_succeeded(tmp_path: Path) -> None:
    counted, _, pairs = run(tmp_path, [transaction(1, A, B, receipt_status=None)])
    assert counted == {}
    assert len(pairs) == 2


@pytest.mark.parametrize("status", [1, "1", True, "TRUE", 1.0, "0x1", "", float("nan")])
def test_a_status_of_success_in_its_spellings(tmp_path: Path, status: object) -> None:
    counted, _, pairs = run(tmp_path, [transaction(1, A, B, receipt_status=status)])
    assert (counted, pairs) == ({}, {(A, B), (B, A)})


def test_any_other_status_drops_the_row(tmp_path: Path) -> None:
    rows = [transaction(number, A, B, receipt_status=status) for number, status in enumerate(["2", "reverted", "1"])]
    counted, accounts, _ = run(tmp_path, rows)
    assert counted == {"unknown_status": 2}
    assert accounts[A]["out_tx"] == 1


def test_the_receiver_of_a_creation_is_the_contract(tmp_path: Path) -> None:
    rows = [
        transaction(1, A, None, 3 * ETH, receipt_contract_address=C.upper().replace("0X", "0x")),
        transaction(2, A, "", 3 * ETH),
    ]
    counted, accounts, pairs = run(tmp_path, rows)
    assert counted == {"creation": 1, "unknown_contract": 1, "mixed_case": 1}
    assert pairs == {(A, C), (C, A)}
    assert accounts[C]["in_wei"] == 3 * ETH
    assert accounts[A]["balance_wei"] == -3 * ETH - 2 * FEE


def test_nothing_moves_from_an_account_to_itself(tmp_path: Path) -> None:
    counted, accounts, pairs = run(tmp_path, [transaction(1, A, A)])
    assert counted == {"to_itself": 1}
    assert pairs == set()
    assert (accounts[A]["balance_wei"], accounts[A]["in_tx"], accounts[A]["n_counterparties"]) == (-FEE, 0, 0)


def test_ether_of_genesis_is_a_balance_without_a_transaction(tmp_path: Path) -> None:
    rows = [transaction(1, "GENESIS", A, 9 * ETH, hash="GENESIS_a", receipt_gas_used=0), transaction(2, A, B, 4 * ETH)]
    counted, accounts, pairs = run(tmp_path, rows)
    assert counted == {"genesis": 1}
    assert pairs == {(A, B), (B, A)}
    assert (accounts[A]["balance_wei"], accounts[A]["in_tx"], accounts[A]["max_wei"]) == (5 * ETH - FEE, 0, 4 * ETH)


def test_genesis_needs_a_receiver(tmp_path: Path) -> None:
    rows = [transaction(1, "GENESIS", None, receipt_contract_address=C), transaction(2, A, B)]
    counted, accounts, _ = run(tmp_path, rows)
    assert counted == {"malformed_receiver": 1}
    assert set(accounts) == {A, B}


def test_what_cannot_be_used_is_dropped_and_counted(tmp_path: Path) -> None:
    bad = [
        ("no_sender", transaction(1, None, B)),
        ("no_sender", transaction(2, "NULL", B)),
        ("malformed_sender", transaction(3, A[:-1], B)),
        ("malformed_sender", transaction(4, A[1:], B)),
        ("malformed_receiver", transaction(5, A, B[:-1] + "g")),
        ("no_value", transaction(6, A, B, None)),
        ("no_value", transaction(7, A, B, -1)),
        ("no_value", transaction(8, A, B, "1.5e0")),
        ("no_value", transaction(9, A, B, 10**28)),
        ("no_time", transaction(10, A, B, block_timestamp=None)),
        ("no_time", transaction(11, A, B, block_timestamp=1_500_000_000_000)),
        ("later", transaction(12, A, B, block_timestamp=1_500_001_001)),
        ("implausible_time", transaction(14, A, B, block_timestamp=0)),
        ("implausible_time", transaction(15, A, B, block_timestamp=4_000_000)),
        ("implausible_time", transaction(16, A, B, block_timestamp=1_438_269_972)),
    ]
    last = transaction(13, C, D, block_timestamp=1_500_001_000)
    counted, accounts, _ = run(tmp_path, [*(row for _, row in bad), last], as_of=1_500_001_000)
    assert counted == Counter(rule for rule, _ in bad)
    assert set(accounts) == {C, D}


def test_an_address_is_the_same_in_any_case_and_without_0x(tmp_path: Path) -> None:
    spellings = ["0x" + A[2:].upper(), A[2:], A[2:].upper(), "0X" + A[2:]]
    rows = [transaction(number, spelled, B[2:]) for number, spelled in enumerate(spellings)]
    counted, accounts, _ = run(tmp_path, [*rows, transaction(9, A, B)])
    assert counted == {"mixed_case": 4}
    assert set(accounts) == {A, B}
    assert accounts[A]["out_tx"] == accounts[B]["in_tx"] == 5


def test_copies_go_and_the_highest_block_stays(tmp_path: Path) -> None:
    again = transaction(1, A, B, hash=f"0X{1:064X}")
    moved = transaction(7, A, B, hash=f"0x{1:064x}", receipt_gas_used=30_000)
    counted, accounts, _ = run(tmp_path, [transaction(1, A, B), again, moved, dict(moved), transaction(2, A, B)])
    assert counted == {"duplicate": 1, "reorganised": 2}
    assert (accounts[A]["out_tx"], accounts[A]["fee_wei"]) == (2, 300_000 + FEE)


def test_without_hashes_equal_rows_of_two_files_are_copies_and_of_one_are_not(tmp_path: Path) -> None:
    bare = [{name: transaction(1, A, B)[name] for name in ("from_address", "to_address", "value", "block_timestamp")}]
    first, second = write(tmp_path / "1.parquet", bare * 2), write(tmp_path / "2.parquet", bare * 3)
    for number, files in enumerate([(first, second), (second, first)]):
        tally, accounts, _ = stages(tmp_path / str(number), *files)
        assert (tally.kept, tally.dropped["duplicate"], accounts[0]["out_tx"]) == (3, 2, 3)
        assert any("no hashes" in note for note in tally.notes)


def test_without_hashes_rows_that_differ_in_anything_are_no_copies(tmp_path: Path) -> None:
    names = ("from_address", "to_address", "value", "block_timestamp", "receipt_status", "receipt_gas_used")
    row = {name: transaction(1, A, B)[name] for name in (*names, "gas_price", "block_number")}
    others = [
        row | {"receipt_gas_used": 30_000},
        row | {"block_number": 2},
        row | {"receipt_status": 0},
        row | {"receipt_status": 0, "to_address": C},
        row | {"receipt_status": 0, "value": "7"},
    ]
    files = [write(tmp_path / f"{number}.parquet", [single]) for number, single in enumerate([row, *others])]
    tally, accounts, _ = stages(tmp_path / "apart", *files)
    assert (tally.kept, accounts[0]["out_tx"], accounts[0]["fee_wei"]) == (6, 3, 5 * FEE + 300_000)
    for number, mixed in enumerate([[row, *others], [*reversed(others), row]]):
        again = write(tmp_path / f"again{number}.parquet", mixed)
        assert stages(tmp_path / str(number), *files, again)[1] == accounts


def test_nothing_left_is_an_error_that_says_why(tmp_path: Path) -> None:
    why = "most were dropped as 'malformed sender'; for example 'Me'$"
    with pytest.raises(InputError, match=rf"t\.parquet: no row is left of 1; {why}"):
        run(tmp_path, [transaction(1, "Me", B)])


@pytest.mark.parametrize(
    ("rule", "columns", "values", "example"),
    [
        (
            "no_time",
            {"block_timestamp": "1500000001"},
            ["31.12.2017 10:00", "2017-13-01 00:00:00", None],
            "2017-13-01 00:00:00",
        ),
        ("no_time", {"block_timestamp": 1_500_000_001}, [1_500_000_000_000, None], "1500000000000"),
        ("malformed_sender", {"from_address": A}, ["0xABC", "0xABD"], "0xABC"),
        ("malformed_receiver", {"to_address": A}, ["nobody"], "nobody"),
        ("no_value", {"value": "1"}, ["much", "-1", None], "-1"),
        ("unknown_status", {"receipt_status": "1"}, ["Reverted"], "reverted"),
    ],
)
def test_a_value_that_cannot_be_read_is_quoted(
    tmp_path: Path, rule: str, columns: Row, values: list[object], example: str
) -> None:
    (name,) = columns
    rows = [transaction(number, C, D, **{name: value}) for number, value in enumerate(values)]
    rows += [transaction(10 + number, C, D, **columns) for number in range(4)]
    path = write(tmp_path / "t.parquet", rows)
    tally, _, _ = stages(tmp_path / "work", path)
    assert counts(tally) == {rule: len(values)}
    assert tally.unread == {rule: example}
    (line,) = (line for line in tally.lines() if line.startswith("- "))
    assert line.endswith(f"{rules.DROPPED[rule]}; for example {example!r}")
    with pytest.raises(InputError, match=f"{re.escape(rules.DROPPED[rule])}; for example {re.escape(repr(example))}$"):
        stages(tmp_path / "again", path, max_dropped=0.01)


def test_a_value_that_is_missing_is_not_quoted(tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", [transaction(1, A, B), transaction(2, A, B, None)])
    tally, _, _ = stages(tmp_path / "work", path)
    assert (counts(tally), tally.unread) == ({"no_value": 1}, {})


def test_block_numbers_are_not_read_as_times(tmp_path: Path) -> None:
    rows = [transaction(number, A, B, block_timestamp=4_000_000 + number) for number in range(9)]
    looks = (
        "block_timestamp holds 4,000,000 to 4,000,008, which is 1970-02-16 to 1970-02-16 and looks like block numbers"
    )
    with pytest.raises(InputError, match=f"no row is left of 9; most were dropped as 'implausible time'; {looks}"):
        run(tmp_path, rows)
    shutil.rmtree(tmp_path / "work")
    half = [transaction(100 + number, A, B) for number in range(9)]
    with pytest.raises(InputError, match=rf"9 of 18 rows cannot be read \(50\.00%\).*Ethereum's first block.*{looks}"):
        run(tmp_path, [*rows, *half], max_dropped=0.01)


def test_times_in_the_future_are_not_read(tmp_path: Path) -> None:
    counted, _, _ = run(tmp_path, [transaction(1, A, B), transaction(2, A, B, block_timestamp=4_102_444_800)])
    assert counted == {"implausible_time": 1}


def test_text_ids_may_be_of_a_chain_before_ethereum(tmp_path: Path) -> None:
    rows = [
        transaction(number, "a", "b", block_timestamp=at) for number, at in enumerate([1_300_000_000, 1_200_000_000])
    ]
    counted, _, _ = run(tmp_path, rows, any_ids=True)
    assert counted == {"implausible_time": 1}


@pytest.mark.parametrize(
    ("unit", "note"),
    [
        (
            10**9,
            ["none of 120 values reaches 0.001 ether (the largest is 120,000,000,000 wei): value looks like gwei or"],
        ),
        (ETH, []),
        (10**24 * 5, ["the largest value is 600,000,000 ether, more than exist: value is in another unit"]),
    ],
)
def test_values_in_another_unit_than_wei_are_a_note(tmp_path: Path, unit: int, note: list[str]) -> None:
    path = write(tmp_path / "t.parquet", [transaction(number, A, B, number * unit) for number in range(1, 121)])
    tally, _, _ = stages(tmp_path / "work", path)
    assert len(tally.notes) == len(note)
    assert all(line.startswith(start) for line, start in zip(tally.notes, note, strict=True))


def test_more_unreadable_rows_than_allowed_are_an_error(tmp_path: Path) -> None:
    rows = [transaction(number, A, B) for number in range(98)]
    copies, later = [rows[0]] * 5, [transaction(200 + number, A, B, block_timestamp=2 * 10**9) for number in range(5)]
    lost = [transaction(300, A, B, "much"), transaction(301, "me", B)]
    with pytest.raises(
        InputError,
        match=r"t\.parquet: 2 of 110 rows cannot be read \(1\.82%\), more than max_dropped=0\.01; most are",
    ):
        run(tmp_path, [*rows, *copies, *later, *lost], as_of=19 * 10**8, max_dropped=0.01)
    shutil.rmtree(tmp_path / "work")
    counted, _, _ = run(tmp_path, [*rows, *copies, *later, lost[0]], as_of=19 * 10**8, max_dropped=0.01)
    assert counted == {"duplicate": 5, "later": 5, "no_value": 1}


def test_ether_is_read_exactly(duckdb: Any) -> None:
    cases = [
        ("0.105000000000000000", 105 * 10**15, False),
        ("3", 3 * ETH, False),
        ("7.", 7 * ETH, False),
        (".5", ETH // 2, False),
        ("0E-18", 0, False),
        ("1e-05", 10**13, False),
        ("1.5555555553999998e-08", 15_555_555_553, True),
        ("2.5E+3", 2_500 * ETH, False),
        ("115792089.237316195423570985", 115_792_089_237_316_195_423_570_985, False),
        ("0.0000000000000000019", 1, True),
        ("1e-40", 0, True),
        ("1e40", None, False),
        ("-1", None, False),
        ("", None, False),
        ("one", None, False),
        (None, None, False),
    ]
    column = ibis.memtable(pa.table({"eth": pa.array([spelled for spelled, *_ in cases])}))
    table = _formats.point_moved(column.mutate(spelled=column.eth), "eth", BuildInputs.decimals)
    result = duckdb.to_pyarrow(table.mutate(wei=_formats.integer(table.eth))).to_pylist()
    assert [(row["spelled"], row["wei"], row["point_cut"]) for row in result] == cases


@pytest.mark.parametrize(
    ("column", "wei"),
    [
        (pa.array(["79228162514264337593543950335", "5", "0009", "12.000"]), [None, 5, 9, 12]),
        (pa.array([9_007_199_254_740_993, -1]), [9_007_199_254_740_993, None]),
        (pa.array([2**63 + 1], pa.uint64()), [2**63 + 1]),
        (pa.array(["123456789012345678901234567"]).cast(pa.decimal128(38, 9)), [123456789012345678901234567]),
        (pa.array([(10**27 + 7).to_bytes(32, "big"), b"", b"\xff" * 32]), [10**27 + 7, 0, None]),
    ],
)
def test_wei_are_exact_from_any_type(duckdb: Any, column: pa.Array, wei: list[int | None]) -> None:
    table = ibis.memtable(pa.table({"value": column}))
    result = duckdb.to_pyarrow(table.select(wei=_formats.integer(table.value)))
    assert result.schema.field("wei").type == pa.decimal128(38, 0)
    assert result["wei"].to_pylist() == wei


def test_scientific_notation_is_exact(duckdb: Any) -> None:
    whole = {"1e+18": ETH, "1E18": ETH, "1.25e+18": 5 * ETH // 4, "12.500E+1": 125, "0e0": 0, "0E-9": 0, "0.00e-3": 0}
    whole |= {"1.23456789012345678901234567e26": 123456789012345678901234567, "5": 5, "12.000": 12}
    others = ["1e28", "1.25e1", "1e-1", "e5", "1e", "1e+100", "0x1e5", "-1e5", "", None]
    table = ibis.memtable(pa.table({"value": pa.array([*whole, *others])}))
    table = _formats.point_moved(table, "value")
    result = duckdb.to_pyarrow(table.select(wei=_formats.integer(table.value)))
    assert result["wei"].to_pylist() == [*whole.values(), *[None] * len(others)]


def test_bytes_may_be_hexadecimal_text(duckdb: Any) -> None:
    spelled = [f"0x{10**27 + 7:064x}", "0x0A", "0x", "0xg", "10", "0x" + "f" * 64, None]
    table = ibis.memtable(pa.table({"value_binary": pa.array(spelled), "value": pa.array(spelled)}))
    result = duckdb.to_pyarrow(table.select(bytes=_formats.wei(table.value_binary), text=_formats.wei(table.value)))
    assert result["bytes"].to_pylist() == [10**27 + 7, 10, *[None] * 5]
    assert result["text"].to_pylist() == [*[None] * 4, 10, None, None]


def test_floats_are_refused_as_inexact(tmp_path: Path) -> None:
    rows = [transaction(1, A, B) | {"value": 1e18}]
    with pytest.raises(InputError, match=r"t\.parquet: column 'value' holds float64, which cannot hold wei exactly"):
        run(tmp_path, rows)


def test_times_in_text(duckdb: Any) -> None:
    good = [
        "1500000000",
        "2017-07-14 02:40:00 UTC",
        "2017-07-14T02:40:00Z",
        "2017-07-14 02:40:00+00:00",
        "2017-07-14 02:40:00.7",
    ]
    bad = ["2017-02-31 00:00:00", "2017-07-14T02:40:00+02:00", "soon", "", None]
    table = ibis.memtable(pa.table({"time": pa.array([*good, *bad])}))
    result = duckdb.to_pyarrow(table.select(time=_formats.seconds(table.time)))
    assert result.schema.field("time").type == pa.int64()
    assert result["time"].to_pylist() == [1_500_000_000] * len(good) + [None] * len(bad)


@pytest.mark.parametrize("kind", [pa.timestamp("ns"), pa.timestamp("us", "UTC"), pa.timestamp("ms")])
def test_timestamps_are_cut_to_seconds(duckdb: Any, kind: pa.DataType) -> None:
    moment = pa.array([1_500_000_000_700_000], pa.timestamp("us")).cast(kind, safe=False)
    table = ibis.memtable(pa.table({"time": moment}))
    assert duckdb.to_pyarrow(table.select(time=_formats.seconds(table.time)))["time"].to_pylist() == [1_500_000_000]


def test_a_stage_of_other_types_is_refused() -> None:
    table = ibis.memtable(pa.table({"count": [1.0]}))
    with pytest.raises(InputError, match="edges: the engine wrote other columns than declared: count is float64"):
        check_types("edges", table, {"count": "int64"})


def test_every_rule_is_stated() -> None:
    assert all(rules.DROPPED.values())
    assert set(rules.CHANGED) < set(rules.STAGES["rows"])
