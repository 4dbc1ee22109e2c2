"""What a crawl finds when it starts: files that no crawl wrote, another crawl's journal, accounts of other chains."""

from pathlib import Path

import pytest

from mggcn._io.files import checksummed
from mggcn.cli import main
from mggcn.errors import InputError
from mggcn.ethereum._crawl import Store
from mggcn.ethereum._label_lists import addresses
from tests.unit.ethereum.transactions import A, B


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("journal", [None, b"", b'{"seed"', b"my notes"])
@pytest.mark.parametrize("transactions", [b'{"hash": "0x1"}\n', b""])
def test_transactions_that_no_crawl_wrote_are_left_alone(
    tmp_path: Path, journal: bytes | None, transactions: bytes
) -> None:
    files = {"transactions.jsonl": transactions} | ({} if journal is None else {"journal.log": journal})
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=r"transactions\.jsonl: not written by a crawl"):
        Store(tmp_path, 0, "x")
    assert contents(tmp_path) == files


@pytest.mark.parametrize(
    ("journal", "message"),
    [
        (b"my notes", "line 1: not a line of a crawl's journal"),
        (b"my\nnotes", "line 1: not a line of a crawl's journal"),
        (
            checksummed('{"type": "begun", "seed": 1, "accounts": "x", "chain": 1}', " ") + b"\n",
            "begun with seed 1, not 0",
        ),
        (
            b'{"type": "begun", "seed": 0, "accounts": "x", "chain": 1}\n',
            r"line 1: not a line .*its checksum is missing",
        ),
        (checksummed('{"type": "begun", "seed": 0}', " ") + b"\n", "line 1: not a line of a crawl's journal"),
    ],
)
def test_a_journal_that_is_refused_is_left_alone(tmp_path: Path, journal: bytes, message: str) -> None:
    (tmp_path / "journal.log").write_bytes(journal)
    with pytest.raises(InputError, match=message):
        Store(tmp_path, 0, "x")
    assert contents(tmp_path) == {"journal.log": journal}


def test_the_command_refuses_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ETHERSCAN_API_KEY", "none")
    labels, out = tmp_path / "labels.csv", tmp_path / "out"
    labels.write_text(f"address,label\n{A},ICO\n")
    out.mkdir()
    (out / "transactions.jsonl").write_bytes(b"mine\n")
    assert main(["ethereum", "crawl", "--labels", str(labels), "--out", str(out)]) == 2
    message = "not written by a crawl, journal.log does not list it; choose another folder"
    assert capsys.readouterr().err == f"mggcn: error: {out / 'transactions.jsonl'}: {message}\n"
    assert contents(out) == {"transactions.jsonl": b"mine\n"}


def test_accounts_of_other_chains_are_not_fetched(tmp_path: Path) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text(f"address,chainId,label\n{A},1,ICO\n{B},10,ICO\n")
    assert addresses(labels) == [A]
    labels.write_text("address,label\nbnb10whzywcrge79,ICO\n")
    with pytest.raises(InputError, match=r"labels\.csv: no addresses of Ethereum"):
        addresses(labels)
