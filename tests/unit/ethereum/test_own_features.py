"""The user's own columns as features of accounts."""

from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

import mggcn
from mggcn.cli import main
from mggcn.data import load_folder
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.ethereum import _account_features as features
from mggcn.ethereum._build import TimeSplit, build
from mggcn.ethereum._build_files import BuildInputs
from mggcn.runs._explaining import reasons_of
from mggcn.runs._scorer import Scorer
from tests.unit.ethereum.test_build import ledger
from tests.unit.ethereum.transactions import A, B, C, D, address, transaction, write

HEAD = "address,risk,country\n"


@pytest.fixture
def transactions(tmp_path: Path) -> Path:
    return write(tmp_path / "t.parquet", ledger())


def built(transactions: Path, text: str, name: str = "out") -> Dataset:
    table = transactions.parent / "own.csv"
    table.write_text(text)
    return build(BuildInputs((transactions,)), transactions.parent / name, own_features=table).dataset


def test_columns_follow_the_thirteen(transactions: Path) -> None:
    plain = build(BuildInputs((transactions,)), transactions.parent / "plain").dataset
    data = built(transactions, f"{HEAD}{A.upper().replace('0X', '0x')},3,NO\n{C},1,\n{address(99)},100,US\n")
    own = ("risk", "risk is empty", "country=NO", "country=US", "country is empty")
    assert data.feature_names == (*features.THIRTEEN, *features.ROLES, *own)
    assert np.array_equal(data.x[:, :15], plain.x)
    assert data.x[:, 15:].tolist() == [
        [3, 0, 1, 0, 0],
        [2, 1, 0, 0, 1],
        [1, 0, 0, 0, 1],
        [2, 1, 0, 0, 1],
    ]
    assert data.notes[0] == "own.csv: 2 of 4 accounts, risk, country; used as given at all dates"
    accounts = parquet.read_table(transactions.parent / "out" / "accounts.parquet")
    assert accounts["risk"].to_pylist() == [3, 2, 1, 2]
    assert accounts["country=NO"].to_pylist() == [1, 0, 0, 0]
    assert accounts["address"].to_pylist() == plain.ids_of(range(4)).tolist()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,risk\n", "column 'address' is missing"),
        ("address\n", "has no column but address"),
        (f"address,balance\n{A},1\n", "column 'balance' is one of the features of accounts; give it another name"),
        (f"address,risk\n{A},1\n{A},2\n", "line 3: address .* is listed twice"),
        ("address,risk\nme,1\n", "line 2: 'me' is not an address"),
        (f"address,risk\n{address(99)},1\n", "none of its 1 accounts has a transaction"),
        ("address,risk\n", "no rows"),
    ],
)
def test_tables_that_cannot_be_used(transactions: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        built(transactions, text)
    assert not (transactions.parent / "out").exists()


def test_a_run_learns_from_them_says_so_and_needs_them_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [address(number) for number in range(1, 121)]
    rows = [transaction(k, names[k], names[(k + 1) % 120], 10**18) for k in range(120)]
    file, labels, own = write(tmp_path / "t.parquet", rows), tmp_path / "l.csv", tmp_path / "own.csv"
    labels.write_text(
        "address,label\n" + "".join(f"{name},{'bad' * (k % 2) or 'good'}\n" for k, name in enumerate(names))
    )
    own.write_text("address,risk\n" + "".join(f"{name},{k % 2}\n" for k, name in enumerate(names)))
    command = ["ethereum", "build", str(file), "--labels", str(labels), "--quiet"]
    assert main([*command, "--features", str(own), "--out", str(tmp_path / "with")]) == 0
    assert "note: own.csv: 120 of 120 accounts, risk; used as given at all dates" in capsys.readouterr().out
    assert main([*command, "--out", str(tmp_path / "without")]) == 0
    data = load_folder(tmp_path / "with")
    run = mggcn.fit(data, "mlp", settings={"epochs": 60})
    assert run.record.test_accuracy == 1
    explained = run.explain(node=60)
    assert np.abs(explained.target).argmax() == explained.features.index("risk")
    bad = np.flatnonzero(run.predict().class_index == 0)[:5]
    assert [reasons[0] for reasons in reasons_of([Scorer.of(run, data)], bad, np.zeros(5, np.int64))] == ["risk 1"] * 5
    with pytest.raises(InputError, match="missing features that the run was trained on: 'risk'"):
        run.predict(load_folder(tmp_path / "without"))


def test_categories_are_said_by_name(transactions: Path) -> None:
    from mggcn.runs._explaining import _Words

    data = built(transactions, f"{HEAD}{A},3,NO\n{B},1,US\n")
    words, column = _Words(data, data.y, ("bad",)), data.feature_names.index("country=NO")
    assert (words.say(0, 0, column), words.say(1, 0, column)) == ("country=NO", "not country=NO")


def test_copies_of_a_split_by_time_have_them(transactions: Path) -> None:
    own, labels = transactions.parent / "own.csv", transactions.parent / "l.csv"
    own.write_text(f"address,risk\n{A},5\n")
    late = [transaction(6, address(50), address(51), 1, block_timestamp=1_500_000_000 + 100 * 86_400)]
    file = write(transactions.parent / "u.parquet", [*ledger(), *late])
    labels.write_text(f"address,label\n{A},bad\n{D},bad\n{address(50)},bad\n")
    split = TimeSplit.parse("time:2017-07-20,2017-10-01")
    data = build(
        BuildInputs((file,)), transactions.parent / "o", labels=labels, own_features=own, time_split=split
    ).dataset
    empty = data.x[:, data.feature_names.index("risk is empty")]
    assert set(data.ids_of(np.flatnonzero(empty == 0)).tolist()) == {A, f"{A}@2017-07-20", f"{A}@2017-10-01"}
