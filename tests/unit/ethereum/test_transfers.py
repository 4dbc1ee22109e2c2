"""Traces and transfers of tokens as types of edges: every wei is counted once, and ids are never added up."""

import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyarrow import parquet

from mggcn.data import load_folder
from mggcn.errors import InputError
from mggcn.ethereum import BuildInputs, TimeSplit, build
from tests.skips import real_data
from tests.unit.ethereum.transactions import ETH, FEE, A, B, C, D, Row, address, counts, stages, transaction, write

E = address(0xE)
USD, CATS = address(0x100), address(0x200)
START = 1_500_000_000


def trace(number: int, position: str, source: Any, target: Any, value: int = ETH, **more: Any) -> Row:
    """A trace of transaction ``number`` in BigQuery's columns."""
    plain = {
        "transaction_hash": f"0x{number:064x}",
        "transaction_index": 0,
        "block_number": number,
        "block_timestamp": START + number,
        "from_address": source,
        "to_address": target,
        "value": str(value),
        "trace_type": "call",
        "call_type": "call",
        "trace_address": position,
        "error": None,
        "status": 1,
    }
    return plain | more


def token(number: int, log: int, contract: str, source: str, target: str, value: int, **more: Any) -> Row:
    """A transfer of a token in ethereum-etl's columns."""
    return {
        "token_address": contract,
        "from_address": source,
        "to_address": target,
        "value": str(value),
        "transaction_hash": f"0x{number:064x}",
        "log_index": log,
        "block_number": number,
        "block_timestamp": START + number,
    } | more


def built(folder: Path, *tables: list[Row], **options: Any) -> dict[tuple[str, ...], tuple[int, int]]:
    """Number and exact amount of transfers by sender, receiver, type and token; of a build from these tables."""
    files = [write(folder / f"{number}.parquet", rows) for number, rows in enumerate(tables)]
    build(BuildInputs(tuple(files), **({"max_dropped": 1} | options)), folder / "out")
    return transfers(folder / "out")


def transfers(folder: Path) -> dict[tuple[str, ...], tuple[int, int]]:
    return {
        (row["from_address"], row["to_address"], row["type"], row["token"]): (row["count"], int(row["amount"]))
        for row in parquet.read_table(folder / "transfers.parquet").to_pylist()
    }


def accounts_of(folder: Path) -> dict[str, Row]:
    return {row["address"]: row for row in parquet.read_table(folder / "out" / "accounts.parquet").to_pylist()}


def test_each_wei_is_counted_once_if_transactions_and_traces_are_given(tmp_path: Path) -> None:
    """A pays a contract C, which pays B and D; only the transaction has a fee."""
    paid = [transaction(1, A, C, 5 * ETH)]
    traced = [trace(1, "", A, C, 5 * ETH), trace(1, "0", C, B, 2 * ETH), trace(1, "1", C, D, 3 * ETH)]
    found = built(tmp_path, paid, traced)
    assert found == {
        (A, C, "transaction", ""): (1, 5 * ETH),
        (C, B, "internal", ""): (1, 2 * ETH),
        (C, D, "internal", ""): (1, 3 * ETH),
    }
    balances = {name: int(row["balance_wei"]) for name, row in accounts_of(tmp_path).items()}
    assert balances == {A: -5 * ETH - FEE, B: 2 * ETH, C: 0, D: 3 * ETH}


def test_traces_alone_hold_the_transactions(tmp_path: Path) -> None:
    traced = [trace(1, "", A, C, 5 * ETH), trace(1, "0", C, B, 2 * ETH), trace(2, "", B, A, 7)]
    assert built(tmp_path, traced) == {
        (A, C, "transaction", ""): (1, 5 * ETH),
        (C, B, "internal", ""): (1, 2 * ETH),
        (B, A, "transaction", ""): (1, 7),
    }


def test_edges_have_the_types_of_their_transfers_and_their_own_amounts(tmp_path: Path) -> None:
    traced = [trace(1, "", A, C), trace(1, "0", C, A, 4 * ETH), trace(2, "", A, B, 0), trace(2, "0", A, B, 3 * ETH)]
    coins = [token(1, 0, USD, A, C, 10**13), token(3, 0, USD, D, E, 6)]
    built(tmp_path, traced, coins)
    data = load_folder(tmp_path / "out")
    assert data.graph.types == ("transaction", "internal", "token")
    names = [str(name) for name in data.ids_of(np.arange(data.num_nodes))]
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    entries = data.graph.relations
    assert entries is not None
    assert entries.number is not None
    for row, other, number in zip(entries.row_numbers(), entries.indices, entries.number, strict=True):
        found[names[row], names[other]].add(data.graph.types[number])
    one_way = {(A, C): {"transaction", "internal", "token"}, (A, B): {"transaction", "internal"}, (D, E): {"token"}}
    assert found == one_way | {(b, a): kinds for (a, b), kinds in one_way.items()}
    stored = {
        (names[row], names[other]): {name: values[entry] for name, values in data.edge_attributes.items()}
        for entry, (row, other) in enumerate(zip(*data.graph.edges(), strict=True))
    }
    assert stored[A, C] == {
        "count": 1,
        "value": 1.0,
        "internal_count": 0,
        "internal_value": 0.0,
        "token_count": 1,
        "first": START + 1,
        "last": START + 1,
    }
    assert (stored[C, A]["count"], stored[C, A]["value"], stored[C, A]["internal_value"]) == (1, 4.0, 4.0)
    assert (stored[A, B]["count"], stored[A, B]["value"], stored[A, B]["internal_count"]) == (2, 3.0, 1)
    assert (stored[D, E]["count"], stored[D, E]["value"], stored[D, E]["token_count"]) == (0, 0.0, 1)
    edges = parquet.read_table(tmp_path / "out" / "edges.parquet").to_pylist()
    assert {(row["from_address"], row["to_address"], int(row["value_wei"])) for row in edges} == {
        (A, C, ETH),
        (C, A, 4 * ETH),
        (A, B, 3 * ETH),
    }
    accounts = accounts_of(tmp_path)
    assert (accounts[D]["n_counterparties"], accounts[D]["out_tx"], accounts[D]["first_time"]) == (0, 0, 0)
    assert (accounts[A]["n_counterparties"], accounts[A]["out_degree"], accounts[A]["out_tx"]) == (2, 2, 3)


@pytest.mark.parametrize("kind", ["delegatecall", "callcode", "staticcall", "delegate_call"])
def test_calls_that_only_run_code_move_nothing(tmp_path: Path, kind: str) -> None:
    traced = [trace(1, "", A, C), trace(1, "0", C, D, 9 * ETH, call_type=kind)]
    tally, accounts, _ = stages(tmp_path / "work", write(tmp_path / "t.parquet", traced))
    assert counts(tally) == {"code_call": 1}
    assert {row["address"] for row in accounts} == {A, C}


def test_what_a_failed_trace_did_is_undone_with_all_below_it(tmp_path: Path) -> None:
    """Only the trace that failed says so, as in Geth's; 10 is not below 1."""
    bare = {"status": None}
    traced = [
        trace(1, "", A, C, 1, **bare),
        trace(1, "1", C, B, 2, error="out of gas", **bare),
        trace(1, "1,0", B, D, 4, **bare),
        trace(1, "1,0,3", D, E, 8, **bare),
        trace(1, "10", C, D, 16, **bare),
        trace(2, "", A, E, 32, error="Reverted", **bare),
        trace(2, "0", E, D, 64, **bare),
    ]
    assert built(tmp_path, traced) == {(A, C, "transaction", ""): (1, 1), (C, D, "internal", ""): (1, 16)}


def test_a_transaction_whose_trace_failed_did_too(tmp_path: Path) -> None:
    """Before the Byzantium fork transactions have no status."""
    paid = [transaction(1, A, B, receipt_status=None), transaction(2, A, C, receipt_status=None)]
    found = built(tmp_path, paid, [trace(1, "", A, B, status=0), trace(2, "", A, C)])
    assert found == {(A, C, "transaction", ""): (1, ETH)}
    assert int(accounts_of(tmp_path)[A]["balance_wei"]) == -ETH - 2 * FEE


def test_creations_self_destructions_and_rewards(tmp_path: Path) -> None:
    made = {"trace_type": "create", "call_type": None}
    gone = {"trace_type": "suicide", "call_type": None}
    earned = {"trace_type": "reward", "call_type": None, "transaction_hash": None, "reward_type": "block"}
    traced = [
        trace(1, "", A, B, 5 * ETH),
        trace(1, "0", B, C, 3 * ETH, **made),
        trace(2, "0", C, D, 2 * ETH, **gone),
        trace(3, "", None, D, 7 * ETH, **earned),
    ]
    assert built(tmp_path, traced) == {
        (A, B, "transaction", ""): (1, 5 * ETH),
        (B, C, "internal", ""): (1, 3 * ETH),
        (C, D, "internal", ""): (1, 2 * ETH),
    }
    assert int(accounts_of(tmp_path)[D]["balance_wei"]) == 9 * ETH


def in_cryo(row: Row) -> Row:
    """A trace in cryo's columns; it leaves failed traces out."""
    kind = row["trace_type"]
    receiver = None if row["to_address"] is None else bytes.fromhex(row["to_address"][2:])
    return {
        "action_from": bytes.fromhex(row["from_address"][2:]),
        "action_to": None if kind == "create" else receiver,
        "action_value": row["value"],
        "action_call_type": {"callcode": "call_code"}.get(row["call_type"], row["call_type"]),
        "action_type": kind,
        "result_address": receiver if kind == "create" else None,
        "trace_address": row["trace_address"].replace(",", "_"),
        "transaction_position": row["transaction_index"],
        "transaction_hash": bytes.fromhex(row["transaction_hash"][2:]),
        "block_number": row["block_number"],
        "timestamp": row["block_timestamp"],
        "error": row["error"],
    }


def test_cryo_and_etherscan_give_the_transfers_of_bigquery(tmp_path: Path) -> None:
    traced = [
        trace(1, "", A, C, 5 * ETH),
        trace(1, "0", C, B, 2 * ETH),
        trace(1, "0,1", B, D, ETH, trace_type="create", call_type=None),
        trace(1, "1", C, E, 9, call_type="callcode"),
    ]
    paid = [transaction(1, A, C, 5 * ETH)]
    internal = [
        {"hash": row["transaction_hash"], "blockNumber": row["block_number"], "timeStamp": row["block_timestamp"]}
        | {"from": row["from_address"], "to": row["to_address"], "value": row["value"], "contractAddress": ""}
        | {"traceId": row["trace_address"].replace(",", "_"), "isError": 0}
        for row in traced[1:3]
    ]
    folders = [tmp_path / name for name in ("bigquery", "cryo", "etherscan", "all")]
    for folder in folders:
        folder.mkdir()
    expected = built(folders[0], paid, traced)
    assert expected == {
        (A, C, "transaction", ""): (1, 5 * ETH),
        (C, B, "internal", ""): (1, 2 * ETH),
        (B, D, "internal", ""): (1, ETH),
    }
    assert built(folders[1], paid, [in_cryo(row) for row in traced]) == expected
    assert built(folders[2], paid, internal) == expected
    assert built(folders[3], paid, traced, [in_cryo(row) for row in traced], internal) == expected


def test_traces_without_hashes_are_not_joined_with_transactions(tmp_path: Path) -> None:
    traced = [trace(1, "", A, C, transaction_hash=None), trace(1, "0", C, B, transaction_hash=None)]
    with pytest.raises(InputError, match=r"1\.parquet: traces without the hash of their transaction cannot be matched"):
        built(tmp_path, [transaction(1, A, C)], traced)


def test_each_token_has_its_own_amounts(tmp_path: Path) -> None:
    other = address(0x300)
    coins = [
        token(1, 0, USD, A, B, 5 * 10**12),
        token(1, 1, USD, A, B, 10**31),
        token(1, 2, other, A, B, 10**15),
        token(2, 0, USD.upper().replace("0X", ""), B, A, 7),
        token(2, 0, USD, B, A, 7),
    ]
    assert built(tmp_path, coins) == {
        (A, B, "token", USD): (2, 10**31 + 5 * 10**12),
        (A, B, "token", other): (1, 10**15),
        (B, A, "token", USD): (1, 7),
    }
    assert load_folder(tmp_path / "out").graph.types == ("token",)


def test_ids_of_single_items_are_never_added_up(tmp_path: Path) -> None:
    """Item 7 goes from A to B to C, item 8 to D; hashes as ids; small coins that two accounts pay alike."""
    small = address(0x300)
    items = [
        token(1, 0, CATS, A, B, 7),
        token(2, 0, CATS, B, C, 7),
        token(2, 1, CATS, B, D, 8),
        token(3, 0, USD, A, B, 2**255 + 9),
        token(3, 1, small, A, B, 500),
        token(4, 0, small, C, D, 500),
    ]
    tally, _, _ = stages(tmp_path / "work", write(tmp_path / "t.parquet", items))
    assert counts(tally) == {"token_id": 4}
    assert built(tmp_path, items) == {(A, B, "token", small): (1, 500), (C, D, "token", small): (1, 500)}


def test_a_copy_of_an_item_in_another_file_is_no_second_sender(tmp_path: Path) -> None:
    items = [token(1, 0, CATS, A, B, 7), token(2, 0, USD, A, B, 10**12)]
    again = [row | {"log_index": str(row["log_index"])} for row in items]
    assert built(tmp_path, items, again) == {(A, B, "token", USD): (1, 10**12)}


def test_a_column_of_standards_decides(tmp_path: Path) -> None:
    coins = [
        token(1, 0, USD, A, B, 5, token_type="ERC-20"),  # noqa: S106
        token(1, 1, CATS, A, B, 10**20, token_type="ERC721"),  # noqa: S106
        token(1, 2, E, A, B, 10**20, token_type="erc1155"),  # noqa: S106
    ]
    assert built(tmp_path, coins) == {(A, B, "token", USD): (1, 5)}


def test_cryo_and_etherscan_hold_erc20_alone(tmp_path: Path) -> None:
    row = token(1, 0, USD, A, B, 5)
    cryo = {name: bytes.fromhex(row[column][2:]) for name, column in (("erc20", "token_address"), *ENDS)}
    cryo |= {"value_binary": (5).to_bytes(32, "big"), "block_number": 1, "timestamp": START, "log_index": 0}
    etherscan = {"contractAddress": USD, "from": B, "to": C, "value": "6", "timeStamp": START, "hash": "0x5"}
    etherscan |= {"tokenSymbol": "USD", "tokenDecimal": "6", "gasUsed": "21000", "gasPrice": "10", "blockNumber": "3"}
    found = built(tmp_path, [cryo | {"transaction_hash": b"\1" * 32}], [etherscan])
    assert found == {(A, B, "token", USD): (1, 5), (B, C, "token", USD): (1, 6)}
    assert all(int(row["fee_wei"]) == 0 for row in accounts_of(tmp_path).values())


ENDS = (("from_address", "from_address"), ("to_address", "to_address"))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["hash", "inputs", "outputs", "block_timestamp"], "several inputs and outputs"),
        (["hash", "input_count", "output_count", "fee"], "several inputs and outputs"),
        (["transaction_hash", "spent_transaction_hash", "value"], "several inputs and outputs"),
        (["from", "to", "tokenID", "timeStamp", "hash"], "ids of single items"),
        (["erc20", "from_address", "to_address", "token_id"], "ids of single items"),
    ],
)
def test_chains_of_several_inputs_and_tables_of_ids_are_refused(
    tmp_path: Path, columns: list[str], message: str
) -> None:
    with pytest.raises(InputError, match=rf"t\.parquet: .*{message}"):
        stages(tmp_path / "work", write(tmp_path / "t.parquet", [dict.fromkeys(columns, "1")]))


def test_a_split_by_time_has_types_as_of_each_date(tmp_path: Path) -> None:
    day = 86_400
    paid = [transaction(n, address(n), address(n + 1), block_timestamp=START + n * day) for n in range(30)]
    traced = [trace(n, "0", address(n), address(n + 2), block_timestamp=START + n * day) for n in range(30)]
    labels = tmp_path / "labels.csv"
    labels.write_text("address,label\n" + "".join(f"{address(n)[2:]},{'xy'[n % 2]}\n" for n in range(31)))
    files = tuple(write(tmp_path / f"{n}.parquet", rows) for n, rows in enumerate((paid, traced)))
    split = TimeSplit.parse("time:2017-07-24,2017-08-03")
    build(BuildInputs(files), tmp_path / "out", labels=labels, time_split=split)
    whole = load_folder(tmp_path / "out", mmap=False)
    assert whole.graph.types == ("transaction", "internal")
    assert whole.copies > 10
    alone = build(BuildInputs(files), tmp_path / "alone", labels=labels).dataset
    current = whole.num_current
    assert np.array_equal(whole.graph.relations.indptr[: current + 1], alone.graph.relations.indptr)
    early = build(BuildInputs(files, as_of=split.until[0]), tmp_path / "early").dataset
    last = whole.graph.relations.rows(whole.num_nodes - early.num_nodes, whole.num_nodes)
    assert np.array_equal(last.number, early.graph.relations.number)
    assert np.array_equal(last.indices - (whole.num_nodes - early.num_nodes), early.graph.relations.indices)


def test_another_unit_with_other_decimals(tmp_path: Path) -> None:
    rows = [{"a": A, "b": B, "v": "2500000", "t": START}, {"a": A, "b": C, "v": "1", "t": START}]
    columns = {"from": "a", "to": "b", "value": "v", "time": "t"}
    inputs = BuildInputs((write(tmp_path / "t.parquet", rows),), columns, decimals=6, unit="TRX")
    data = build(inputs, tmp_path / "out").dataset
    received = data.x[1, data.feature_names.index("in_eth")]
    assert received == pytest.approx(np.log1p(2.5))
    assert data.measures["in_eth"].text(float(received)) == "received 2.5 TRX"
    assert sorted(data.edge_attributes["value"].tolist()) == [0.0, 0.0, 1e-6, 2.5]
    assert "TRX of 6 decimals" in data.source
    eth = [row | {"v": "2.5"} for row in rows]
    inputs = BuildInputs((write(tmp_path / "e.parquet", eth),), {**columns, "eth": "v"} | {}, decimals=6, unit="TRX")
    del inputs.columns["value"]
    assert build(inputs, tmp_path / "eth").dataset.x[1, 6] == received


@pytest.mark.parametrize(("field", "value"), [("decimals", -1), ("decimals", 25), ("decimals", 6), ("unit", " ")])
def test_units_are_checked(field: str, value: Any) -> None:
    with pytest.raises(InputError, match=field):
        BuildInputs(("t.parquet",), **{field: value})


def lines(path: Path) -> Iterable[Row]:
    return (json.loads(line) for line in path.read_text().splitlines() if line.strip())


def test_ids_among_the_real_tokens_are_those_whose_events_have_four_topics(tmp_path: Path) -> None:
    """In the logs of the same blocks ERC-721 has the id as a topic; sums are those of Python's integers."""
    folder = real_data("ethereum_samples") / "ethereum_etl"
    file = folder / "test_stream_blocks_17173049_17173050_expected_token_transfers.json"
    logs = list(lines(folder / "test_stream_blocks_17173049_17173050_expected_logs.json"))
    topic = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
    items = {log["address"] for log in logs if log["topics"][:1] == [topic] and len(log["topics"]) == 4}
    assert len(items) >= 5
    build(BuildInputs((file,)), tmp_path / "out")
    found = transfers(tmp_path / "out")
    kept = {key[3] for key in found}
    assert not kept & items
    rows = [row for row in lines(file) if row["from_address"] != row["to_address"]]
    expected: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for row in rows:
        if row["token_address"] in kept:
            key = (row["from_address"], row["to_address"], "token", row["token_address"])
            expected[key].append(row["value"])
    assert found == {key: (len(values), sum(values)) for key, values in expected.items()}
    left_out = {row["token_address"] for row in rows} - kept - items
    assert sum(row["token_address"] in left_out for row in rows) <= 6, "coins with few small transfers"


@pytest.mark.parametrize("name", ["2112234_2112234", "508110_508110"])
def test_real_traces_of_a_stream(tmp_path: Path, name: str) -> None:
    file = real_data("ethereum_samples") / "ethereum_etl" / f"test_stream_blocks_{name}_expected_traces.json"
    _, accounts, _ = stages(tmp_path / "work", file)
    found = {row["address"]: row["balance_wei"] for row in accounts}
    expected: dict[str, int] = defaultdict(int)
    for row in lines(file):
        expected[row["to_address"]] += row["value"]
        if row["from_address"]:
            expected[row["from_address"]] -= row["value"]
    assert found == expected


def test_real_traces_with_subtraces_errors_and_a_self_destruction(tmp_path: Path) -> None:
    """Sums by hand. 100 ether went in; what callcode repeats stayed there. The failed ether did not go."""
    folder = real_data("ethereum_samples") / "ethereum_etl"
    names = [
        f"test_export_traces_job_block_with_{what}_expected_traces.csv" for what in ("subtraces", "error", "suicide")
    ]
    blocks = tmp_path / "blocks.csv"
    blocks.write_text("number,timestamp\n" + "".join(f"{n},{START}\n" for n in (1000000, 1000895, 1011973)))
    _, accounts, _ = stages(tmp_path / "work", *(folder / name for name in names), blocks=blocks)
    found = {row["address"]: row["balance_wei"] for row in accounts}
    assert found == {
        "0x39fa8c5f2793459d6622857e7d9fbb4bd91766d3": -100 * ETH,
        "0xc083e9947cf02b8ffc7d3090ae9aea72df98fd47": 100 * ETH,
        "0x32be343b94f860124dc4fee278fdcbd38c102d88": -437194980000000000,
        "0xdf190dc7190dfba737d7777a163445b7fff16133": 437194980000000000,
        "0x2a65aca4d5fc5b5c859090a6c34d164135398226": 5 * ETH,
        "0xad9253df75b066c67aff5cdd9d6d2b9245444726": 0,
        "0x9288fe5be3be048b5c7a68bfd4b9a0746b7e4a00": -1100000000000000000,
        "0xe05ff93a9978bbb48356accc74088f3841fc5d72": 1100000000000000000,
        "0x63a9975ba31b0b9626b34300f7f627147df1f526": 5 * ETH,
        "0x83973747eec131bf9a08ac64fb1a518e891bdf4b": 50000000000000000,
        "0x474faa5018639791952fae334e2911700ac7fe9b": -50000000000000000,
        "0x738db714c08b8a32a29e0e68af00215079aa9c5c": 5 * ETH,
    }
