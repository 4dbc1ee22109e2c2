"""Facts about accounts: SQL over the transactions themselves, and Python, give the same for random accounts."""

import random
import re
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from mggcn.errors import InputError
from mggcn.ethereum import AccountTables, BuildInputs, build, read_labels, simulate
from mggcn.ethereum._account_features import PARTIAL as MISSING
from tests.skips import real_data
from tests.unit.ethereum.transactions import ETH, A, B, C, D, Row, address, transaction, write

NUM_ACCOUNTS = 200
PARTIAL = f"paid more than came in: {MISSING}"
E, F = address(0xE), address(0xF)

PAIRS = """
CREATE TABLE pairs AS
SELECT lower(from_address) AS payer, lower(to_address) AS payee, value::HUGEINT AS wei, block_timestamp AS time
FROM '{file}' WHERE {succeeded} AND payee <> '' AND payer <> payee
"""


def recomputed(database: Any, account: str, labels: dict[str, str]) -> dict[str, Any]:
    """Every fact about an account, from its transactions alone."""

    def rows(query: str, *values: object) -> list[Any]:
        found: list[Any] = database.execute(query, values).fetchall()
        return found

    sent = rows("SELECT payee, wei, time FROM pairs WHERE payer = ?", account)
    received = rows("SELECT payer, wei, time FROM pairs WHERE payee = ?", account)
    times = [time for *_, time in sent + received]
    dealings: dict[tuple[str, str | None], Any] = {}
    for way, moved in (("sent", sent), ("received", received)):
        by_other = defaultdict(list)
        for other, wei, time in moved:
            by_other[other].append((wei, time))
        for label in {labels.get(other) for other in by_other}:
            of_label = {other: found for other, found in by_other.items() if labels.get(other) == label}
            sums = {other: sum(wei for wei, _ in found) for other, found in of_label.items()}
            largest = min(sums, key=lambda other: (-sums[other], other))
            when = [time for found in of_label.values() for _, time in found]
            counts = (len(of_label), len(when), sum(sums.values()), min(when), max(when), largest, sums[largest])
            dealings[way, label] = counts
    query = """
    SELECT count(DISTINCT payer) FROM pairs WHERE wei > 0 AND payer NOT IN (SELECT address FROM labels)
        AND payer IN (SELECT payer FROM pairs WHERE payee = $account) AND payee <> $account
        AND payee IN (SELECT address FROM labels WHERE label = 'Phish')
    """
    ((victims,),) = database.execute(query, {"account": account}).fetchall()
    return {
        "label": labels.get(account),
        "in_tx": len(received),
        "out_tx": len(sent),
        "senders": len({payer for payer, *_ in received}),
        "receivers": len({payee for payee, *_ in sent}),
        "in_wei": sum(wei for _, wei, _ in received),
        "out_wei": sum(wei for _, wei, _ in sent),
        "first_time": min(times, default=0),
        "last_time": max(times, default=0),
        "dealings": dealings,
        "victims": {"Phish": victims} if victims else {},
    }


def compare(folder: Path, database: Any, labels: dict[str, str]) -> None:
    tables = AccountTables(folder)
    database.execute("CREATE TABLE labels (address VARCHAR, label VARCHAR)")
    database.executemany("INSERT INTO labels VALUES (?, ?)", [*labels.items()])
    every = [row for (row,) in database.execute(f"SELECT address FROM '{tables.accounts}' ORDER BY 1").fetchall()]  # noqa: S608
    rng = random.Random(0)  # noqa: S311
    accounts = rng.sample(every, NUM_ACCOUNTS - 40) + rng.sample(sorted(labels), 40)
    for facts in tables.facts(accounts):
        expected = recomputed(database, facts.address, labels)
        dealings = {
            (one.way, one.label): (
                *(one.accounts, one.transactions, one.wei, one.first, one.last, one.largest, one.largest_wei),
            )
            for one in facts.dealings
        }
        assert {name: getattr(facts, name) for name in expected} | {"dealings": dealings} == expected
        check_sentences(facts.sentences("Phish"), expected)


def check_sentences(sentences: list[str], expected: dict[str, Any]) -> None:
    """Every number and class in a sentence is one of the recomputed facts."""
    for text in sentences:
        if text == PARTIAL:
            continue
        way = text.split()[0]
        number = expected["receivers" if way == "sent" else "senders"]
        whole = expected["out_wei" if way == "sent" else "in_wei"]
        if share := re.fullmatch(r"\w+ (\d+) % of its ether \w+ one account, a known (\w+)", text):
            *_, wei = expected["dealings"][way, share[2]]
            assert int(share[1]) <= 100 * Decimal(wei) / whole < int(share[1]) + 1
            continue
        found = re.fullmatch(
            r"\w+ (?:to|from) ([\d,]+) accounts?, (?:(all|[\d,]+) of them )?(?:a )?known (\w+)( victims?)?", text
        )
        assert found is not None, text
        assert int(found[1].replace(",", "")) == number
        count = expected["victims"][found[3]] if found[4] else expected["dealings"][way, found[3]][0]
        stated = found[2] or "1"
        assert (number if stated == "all" else int(stated.replace(",", ""))) == count


def test_facts_of_random_accounts_are_those_that_sql_computes_from_the_transactions(tmp_path: Path) -> None:
    chain, labels = tmp_path / "chain.parquet", tmp_path / "labels.csv"
    simulate(chain, labels=labels, scale=0.005)
    build(BuildInputs((chain,)), tmp_path / "accounts", labels=labels, background=200)
    with duckdb.connect() as database:
        database.execute(PAIRS.format(file=chain, succeeded="receipt_status = 1"))
        compare(tmp_path / "accounts", database, read_labels(labels)[0])


def test_facts_of_random_real_accounts_are_those_that_sql_computes_from_the_transactions(tmp_path: Path) -> None:
    folder = real_data("ethereum_real")
    chain, labels = folder / "transactions.parquet", folder / "labels_etherscan.csv"
    build(BuildInputs((chain,)), tmp_path / "accounts", labels=labels)
    with duckdb.connect() as database:
        database.execute(PAIRS.format(file=chain, succeeded="true"))
        compare(tmp_path / "accounts", database, read_labels(labels)[0])


def ledger() -> list[Row]:
    """A and B pay the phisher C; A and D pay E, which sends nearly all to the exchange F; B deals with F too."""
    moved = [(A, C, ETH), (B, C, ETH), (A, E, 2 * ETH), (D, E, 3 * ETH), (E, F, 4 * ETH), (E, A, 0), (B, F, 9 * ETH)]
    return [transaction(number, *row) for number, row in enumerate(moved)]


@pytest.fixture
def tables(tmp_path: Path) -> AccountTables:
    build(BuildInputs((write(tmp_path / "t.parquet", ledger()),)), tmp_path / "out")
    return AccountTables(tmp_path / "out", {C: "Phish", F: "Exchange"})


def test_sentences_state_the_facts_of_a_small_ledger(tables: AccountTables) -> None:
    said = {facts.address: facts.sentences("Phish") for facts in tables.facts([A, B, C, D, E, F])}
    assert said == {
        A: ["sent to 2 accounts, 1 of them a known Phish", PARTIAL],
        B: [
            "sent to 2 accounts, 1 of them a known Phish",
            "sent 90 % of its ether to one account, a known Exchange",
            PARTIAL,
        ],
        C: [],
        D: [PARTIAL],
        E: [
            "received from 2 accounts, 1 of them a known Phish victim",
            "sent 100 % of its ether to one account, a known Exchange",
        ],
        F: ["received from 2 accounts, 1 of them a known Phish victim"],
    }


def test_roles_say_who_only_sent_or_received(tables: AccountTables) -> None:
    assert [facts.role for facts in tables.facts([B, C, E])] == ["payer", "payee", "both"]


def test_a_share_is_rounded_down(tmp_path: Path) -> None:
    moved = [(A, C, 10**6 - 1), (A, B, 1), (D, C, ETH)]
    rows = [transaction(number, *row) for number, row in enumerate(moved)]
    build(BuildInputs((write(tmp_path / "t.parquet", rows),)), tmp_path / "out")
    first, other = AccountTables(tmp_path / "out", {C: "Exchange"}).facts([A, D])
    assert first.sentences()[0] == "sent 99 % of its ether to one account, a known Exchange"
    assert other.sentences()[0] == "sent to 1 account, a known Exchange"


def test_other_labels_replace_those_of_the_table(tables: AccountTables) -> None:
    others = AccountTables(tables.accounts.parent, {E: "Phish"})
    facts, phisher = others.facts([D, E])
    assert (facts.sentences("Phish")[0], phisher.label) == ("sent to 1 account, a known Phish", "Phish")
    assert not phisher.victims  # its own payers are victims of nobody else


def test_an_account_without_a_transaction_is_an_error(tables: AccountTables) -> None:
    with pytest.raises(InputError, match=rf"accounts.parquet: no account '{address(99)}'"):
        tables.facts([A, address(99)])


def test_a_folder_without_tables_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"accounts\.parquet: no such file; facts need a folder that"):
        AccountTables(tmp_path)
