"""The page, the picture, JSON and CSV of a case file, and the command that writes them."""

import csv
import io
import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from mggcn.cli import main
from mggcn.errors import InputError
from mggcn.ethereum._build_files import BuildInputs
from mggcn.ethereum._case import Case, account_name, case_of
from mggcn.ethereum._case_page import COLUMNS, render, to_csv, to_json
from mggcn.ethereum._chain import open_chain
from mggcn.ethereum._flow_picture import picture
from mggcn.ethereum._words import ether, percent
from tests.unit.ethereum.transactions import ETH, A, B, C, D, address, transaction, write

DAY = 86_400
PAYERS = [address(0x100 + number) for number in range(9)]
LABELS = {A: "Phish", D: "Exchange", PAYERS[3]: "Mining"}


def ledger() -> list[dict[str, Any]]:
    """Nine payers pay A, the first is paid by D; A pays B and C; B pays D before and after; one transaction fails."""
    at = 1_500_000_000
    rows = [transaction(1, D, PAYERS[0], 50 * ETH, block_timestamp=at)]
    rows += [
        transaction(10 + number, payer, A, (9 - number) * ETH, block_timestamp=at + number * DAY)
        for number, payer in enumerate(PAYERS, 1)
    ]
    rows += [
        transaction(30, B, D, 7 * ETH, block_timestamp=at + 2 * DAY),
        transaction(31, A, B, 30 * ETH + 1, block_timestamp=at + 20 * DAY),
        transaction(32, A, C, 5 * ETH, block_timestamp=at + 21 * DAY),
        transaction(33, B, D, 29 * ETH, block_timestamp=at + 22 * DAY),
        transaction(34, A, C, ETH, block_timestamp=at + 23 * DAY, receipt_status=0),
    ]
    return rows


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    folder = tmp_path_factory.mktemp("case")
    file = write(folder / "t.parquet", ledger())
    with open_chain(BuildInputs((file,)), folder / "case") as chain:
        return case_of(chain, A, lambda names: {name: LABELS[name] for name in names if name in LABELS})


def test_beyond_a_payee_is_only_what_it_paid_since_it_was_paid(case: Case) -> None:
    (first, second) = case.sent.branches
    assert (first.address, first.amount.wei, second.address) == (B, 30 * ETH + 1, C)
    assert [(leaf.address, leaf.label, leaf.amount.wei) for leaf in first.beyond] == [(D, "Exchange", 29 * ETH)]
    assert [branch.address for branch in case.received.branches] == PAYERS[:6]
    assert (case.received.others.accounts, case.received.others.wei) == (2, 3 * ETH)  # the ninth sent no ether


def test_what_failed_is_listed_and_moves_nothing(case: Case) -> None:
    last = case.transactions[-1]
    assert (last.kind, last.moves, last.wei) == ("failed", False, 0)
    assert case.account.activity.failed == 1
    assert last.hash == f"0x{34:064x}"


def test_the_page_states_the_facts_of_the_json(case: Case) -> None:
    page, stated = render(case, "x.csv"), json.loads(to_json(case))
    table = page[page.index('<section id="counterparties">') :].split("</table>")[0]
    rows = [re.findall(r'<td[^>]* data-key="([^"]*)"', row) for row in table.split("<tr>")[2:]]
    assert [[row[0], row[1], row[2] or "0", row[5] or "0"] for row in rows] == [
        [one["address"], one["label"] or "", one["received"]["wei"], one["sent"]["wei"]]
        for one in stated["counterparties"]
    ]
    money = unescape(page[page.index('<section id="money">') :].split("</ul>")[0])
    assert re.findall("<li>(.*?)</li>", money) == stated["findings"]
    content = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    (amounts,) = content["data"].values()
    expected = {
        (period["start"], way): int(period[way]["wei"]) / ETH * (1 if way == "received" else -1)
        for period in stated["timeline"]
        for way in ("received", "sent")
        if int(period[way]["wei"])
    }
    assert {(row["start"][:10], row["way"]): row["ether"] for row in amounts} == expected
    names = content["transactions"]["columns"]
    listed = [dict(zip(names, row, strict=True)) for row in content["transactions"]["rows"]]
    keys = {"time": "time", "from": "sender", "to": "receiver", "wei": "wei", "fee_wei": "fee_wei", "kind": "kind"}
    assert [{key: row[key] for key in keys} for row in listed] == [
        {key: row[name] for key, name in keys.items()} for row in stated["transactions"]
    ]
    matter = re.findall("<h3>(0x[0-9a-f]{40})", page)
    assert matter == [one["account"]["address"] for one in stated["neighbours"]]


def test_the_csv_file_has_every_transaction_exactly(case: Case) -> None:
    header, *rows = csv.reader(io.StringIO(to_csv(case)))
    assert tuple(header) == COLUMNS
    assert len(rows) == len(case.transactions) == 12
    sent = dict(zip(header, rows[9], strict=True))
    assert (sent["direction"], sent["wei"], sent["ether"]) == ("out", str(30 * ETH + 1), "30.000000000000000001")
    assert (sent["from_label"], sent["to_label"]) == ("Phish", "")


@pytest.mark.parametrize(("sides", "width", "box"), [(("received", "sent"), 1118, 124), (("received",), 356, 98)])
def test_no_two_boxes_overlap_and_every_name_is_in_its_box(case: Case, sides: Any, width: int, box: int) -> None:
    drawn = picture(case, {"Phish": "#0072B2"}, sides, width, box)
    boxes = []
    for group in re.findall(r'<g class="(?:box|account)">.*?</g>', drawn, re.DOTALL):
        x, y, wide, high = map(
            float, re.search(r'<rect x="(.*?)" y="(.*?)" width="(.*?)" height="(.*?)" rx', group).groups()
        )
        assert wide == box
        assert x + wide <= width + 1
        for left, base in re.findall(r'<text x="(.*?)" y="(.*?)"', group):
            assert x < float(left) < x + wide
            assert y + 8 <= float(base) <= y + high
        boxes.append((x, y, x + wide, y + high))
    assert len(boxes) >= 8
    for number, (left, top, right, bottom) in enumerate(boxes):
        for other in boxes[number + 1 :]:
            assert other[0] >= right or other[2] <= left or other[1] >= bottom or other[3] <= top


def test_widths_of_arrows_are_amounts(case: Case) -> None:
    drawn = picture(case, {}, ("sent",), 356, 98)
    widths = {}
    for title, path in re.findall(r'<g class="arrow[^>]*><title>(0x\w+).*?<path d="(.*?)"', drawn):
        tip, lower = re.search(r" (\S+)V(\S+?)C", path).groups()
        widths[title] = float(lower) - float(tip)
    assert widths[B] / widths[C] == pytest.approx(6, abs=0.05)
    assert widths[D] / widths[B] == pytest.approx(29 / 30, abs=0.01)


@pytest.mark.parametrize("text", [A, A.upper().replace("0X", "0x"), A[2:], f" {A[2:].upper()} "])
def test_addresses_in_any_case_and_without_0x_are_one_account(text: str) -> None:
    assert account_name(text) == A


def test_what_is_no_address() -> None:
    with pytest.raises(InputError, match="'0xabc' is not an address"):
        account_name("0xabc")
    assert account_name("Bob", any_ids=True) == "Bob"


def test_the_command_writes_three_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = write(tmp_path / "t.parquet", ledger()), tmp_path / "out" / "a.html"
    assert main(["ethereum", "case", A[2:].upper(), str(file), "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "Sent 35 ether in 2 transactions to 2 accounts" in printed
    assert sorted(path.name for path in out.parent.iterdir()) == ["a.csv", "a.html", "a.json"]
    assert json.loads(out.with_suffix(".json").read_text())["account"]["address"] == A
    assert not re.search(r'(?:src|href)="(?!#)', out.read_text().split("<script")[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([address(0xFF)], "no transaction of this account in t.parquet"),
        (["0x12"], "'0x12' is not an address"),
        ([A, "--dataset", "accounts"], "--dataset: has an effect only with --run"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    file = write(tmp_path / "t.parquet", ledger())
    account, *options = arguments
    assert main(["ethereum", "case", account, str(file), "--out", str(tmp_path / "a.html"), *options]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]


@pytest.mark.parametrize(
    ("wei", "text"),
    [
        (0, "0"),
        (1, "0.000000000000000001"),
        (ETH, "1"),
        (1234567 * ETH // 1000, "1,235"),
        (123456 * ETH // 10**6, "0.1235"),
    ],
)
def test_amounts_in_words(wei: int, text: str) -> None:
    assert ether(wei) == text


def test_shares_are_never_rounded_to_nothing_or_all() -> None:
    shares = [percent(part, 1000) for part in (0, 1, 10, 920, 990, 999, 1000)]
    assert shares == ["0 %", "less than 1 %", "1 %", "92 %", "99 %", "more than 99 %", "100 %"]
