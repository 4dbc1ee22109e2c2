"""The user's own columns as features of accounts."""

from datetime import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
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
from mggcn.ethereum._dates import parse_as_of
from mggcn.runs._explaining import reasons_of
from mggcn.runs._scorer import Scorer
from tests.unit.ethereum.test_build import ledger
from tests.unit.ethereum.transactions import A, B, C, address, transaction, write

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
    data = built(transactions, f"{HEAD}{A[2:].upper()},3,NO\n{C},1,\n{address(99)},100,US\n")
    own = ("risk", "risk is empty", "country=NO", "country=US", "country is empty")
    assert data.feature_names == (*features.THIRTEEN, *features.ROLE_FEATURES, *own)
    assert np.array_equal(data.x[:, :15], plain.x)
    assert data.x[:, 15:].tolist() == [
        [3, 0, 1, 0, 0],
        [2, 1, 0, 0, 1],
        [1, 0, 0, 0, 1],
        [2, 1, 0, 0, 1],
    ]
    assert data.notes[0] == "own.csv: 2 of 4 accounts, risk, country; used as given"
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
    assert "note: own.csv: 120 of 120 accounts, risk; used as given" in capsys.readouterr().out
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


LATER = "2017-10-01"
DATES = ("2017-07-20", "2017-08-20")


def split_by_time(transactions: Path, own: str) -> Dataset:
    """Accounts of July, one of August and two of November, split at two dates, with features of their own."""
    folder, day = transactions.parent, 86_400
    late = [
        transaction(15, address(40), A, 1, block_timestamp=1_500_000_000 + 30 * day),
        transaction(16, address(50), address(51), 1, block_timestamp=1_500_000_000 + 110 * day),
    ]
    file = write(folder / "u.parquet", [*ledger(), *late])
    (folder / "l.csv").write_text(f"address,label\n{A},bad\n{C},good\n{address(40)},bad\n{address(50)},bad\n")
    (folder / "own.csv").write_text(own)
    out = folder / f"o{len(list(folder.iterdir()))}"
    split = TimeSplit.parse(f"time:{DATES[0]},{DATES[1]}")
    inputs = BuildInputs((file,))
    return build(inputs, out, labels=folder / "l.csv", own_features=folder / "own.csv", time_split=split).dataset


def column(data: Dataset, name: str) -> dict[str, float]:
    return dict(
        zip(
            data.ids_of(range(data.num_nodes)).tolist(), data.x[:, data.feature_names.index(name)].tolist(), strict=True
        )
    )


def test_each_account_has_the_latest_row_as_of_its_date(transactions: Path) -> None:
    rows = [
        (A, "2017-07-01", 1, "NO"),
        (A[2:], "2017-07-20", 2, "US"),
        (A.upper(), "2017-07-21T00:00:00", 3, "US"),
        (A, LATER, 4, "XX"),
        (C, "2017-08-20T23:59:59", 7, "NO"),
        (C, "2017-08-21", 8, "NO"),
        (B, "2017-07-19", 5, ""),
    ]
    data = split_by_time(
        transactions, "address,as_of,risk,country\n" + "".join(f"{a},{d},{x},{c}\n" for a, d, x, c in rows)
    )
    mean = (2 + 5) / 2  # of the training accounts
    assert data.feature_names[-5:] == ("risk", "risk is empty", "country=NO", "country=US", "country is empty")
    risk, empty, country = (column(data, name) for name in ("risk", "risk is empty", "country=US"))
    assert [risk[f"{A}{date}"] for date in (f"@{DATES[0]}", f"@{DATES[1]}", "")] == [2, 3, 4]
    assert [risk[f"{C}{date}"] for date in (f"@{DATES[0]}", f"@{DATES[1]}", "")] == [mean, 7, 8]
    assert [risk[f"{B}{date}"] for date in (f"@{DATES[0]}", f"@{DATES[1]}", "")] == [5, 5, 5]
    assert [country[f"{A}{date}"] for date in (f"@{DATES[0]}", f"@{DATES[1]}", "")] == [1, 1, 0], "XX has no feature"
    assert {account for account, is_empty in empty.items() if is_empty} == set(risk) - {
        *(f"{account}{date}" for account in (A, B) for date in (f"@{DATES[0]}", f"@{DATES[1]}", "")),
        C,
        f"{C}@{DATES[1]}",
    }
    assert "own.csv: 3 of 7 accounts, risk, country; the latest row as of each date" in data.notes


def test_later_rows_change_nothing_at_earlier_dates(transactions: Path) -> None:
    head, early = "address,as_of,risk,country\n", f"{A},2017-07-01,1,NO\n{C},2017-07-02,,US\n{B},{DATES[1]},6,NO\n"
    texts = [
        head + early,
        f"{head}{early}{A},{LATER},900,XX\n{C},{LATER},-4,\n{address(50)},{LATER},,YY\n",
        f"{head}{early}{A},2017-08-21,55,NO\n",
    ]
    one, *others = (split_by_time(transactions, text) for text in texts)
    for other in others:
        assert other.feature_names == one.feature_names
        assert other.encoding == one.encoding
        assert np.array_equal(other.x[other.num_current :], one.x[one.num_current :])
        assert not np.array_equal(other.x, one.x)
    between = split_by_time(transactions, f"{head}{early}{A},2017-07-21,900,XX\n")
    is_train = np.char.endswith(one.ids_of(range(one.num_nodes)).astype(str), DATES[0])
    assert between.encoding == one.encoding
    assert np.array_equal(between.x[is_train], one.x[is_train])
    assert not np.array_equal(between.x[one.num_current :], one.x[one.num_current :]), "validation sees it"


def test_without_a_split_by_time_the_latest_row_as_of_the_build_counts(transactions: Path) -> None:
    own = transactions.parent / "own.csv"
    own.write_text(f"address,as_of,risk\n{A},2017-07-01,1\n{A},2017-07-20,2\n{A},2017-09-01,3\n{B},2017-09-01,9\n")
    found = []
    for number, until in enumerate([None, parse_as_of("2017-08-01")]):
        inputs = BuildInputs((transactions,), as_of=until)
        data = build(inputs, transactions.parent / f"o{number}", own_features=own).dataset
        found.append([column(data, "risk")[A], column(data, "risk is empty")[B]])
    assert found == [[3, 0], [2, 1]]


@pytest.mark.parametrize("kind", ["date32", "timestamp"])
def test_dates_of_parquet_files_are_read(transactions: Path, kind: str) -> None:
    days = [datetime(2017, 7, 1), datetime(2017, 7, 20), datetime(2017, 10, 1)]
    dates = pa.array([day.date() for day in days]) if kind == "date32" else pa.array(days, pa.timestamp("us"))
    parquet.write_table(
        pa.table({"address": [A] * 3, "as_of": dates, "risk": [1, 2, 3]}), transactions.parent / "o.parquet"
    )
    inputs = BuildInputs((transactions,), as_of=parse_as_of("2017-08-01"))
    data = build(inputs, transactions.parent / "out", own_features=transactions.parent / "o.parquet").dataset
    assert column(data, "risk")[A] == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"address,risk\n{A},5\n", "own.csv: a split by time needs a column 'as_of' with the date of each row"),
        (f"address,as_of\n{A},2017-07-01\n", "own.csv: has no column but address and as_of"),
        (f"address,as_of,risk\n{A},1.7.2017,5\n", "own.csv: line 2: column 'as_of': '1.7.2017' is neither a date"),
        (f"address,as_of,risk\n{A},,5\n", "own.csv: line 2: column 'as_of': '' is neither a date"),
        (
            f"address,as_of,risk\n{A},2017-07-01,5\n{A[2:]},2017-07-01,6\n",
            f"own.csv: line 3: address '{A[2:]}' is listed twice as of 2017-07-01",
        ),
        (
            f"address,as_of,risk\n{A},{LATER},5\n",
            "own.csv: no row is as of the date of the training accounts or earlier",
        ),
        (
            f"address,as_of,risk\n{A},2017-07-01,5\n{A},{LATER},high\n",
            "own.csv: line 3: column 'risk': 'high' is not a number, as in earlier rows",
        ),
    ],
)
def test_tables_that_cannot_be_used_in_a_split_by_time(transactions: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        split_by_time(transactions, text)
    assert message in str(error.value)
    assert not list(transactions.parent.glob("o[0-9]*"))
