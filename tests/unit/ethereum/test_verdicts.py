"""Verdicts of analysts: what they make of labels, and that none is used for a time before its date."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

from mggcn.cli import main
from mggcn.data import load_folder
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.ethereum._build import TimeSplit, build
from mggcn.ethereum._build_files import BuildInputs
from mggcn.ethereum._dates import parse_as_of
from mggcn.ethereum._label_lists import read_labels
from mggcn.ethereum._simulate import simulate
from mggcn.ethereum._verdicts import Verdict, read_verdicts, write_verdicts
from tests.unit.ethereum.transactions import A, B, C

HEAD = "address,verdict,date,name,label\n"
TRAIN, VAL = "2017-10-31", "2018-10-31"


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("chain")
    simulate(folder / "chain.parquet", labels=folder / "labels.csv", scale=0.02)
    return folder


def built(chain: Path, tmp_path: Path, verdicts: Sequence[Verdict], **options: object) -> Dataset:
    write_verdicts(tmp_path / "verdicts.csv", verdicts)
    as_of = options.pop("as_of", None)
    inputs = BuildInputs((chain / "chain.parquet",), as_of=parse_as_of(str(as_of)) if as_of else None)
    out = tmp_path / f"d{len(list(tmp_path.iterdir()))}"
    files = {"labels": chain / "labels.csv", "verdicts": tmp_path / "verdicts.csv"}
    return build(inputs, out, **(files | options)).dataset


def labels_of(data: Dataset) -> dict[str, str]:
    """The label of each labelled account by the arrays."""
    nodes = np.flatnonzero(data.y >= 0)
    return dict(zip(data.ids_of(nodes).tolist(), (data.classes[y] for y in data.y[nodes]), strict=True))


def plain_labels(chain: Path) -> dict[str, str]:
    return read_labels(chain / "labels.csv")[0]


def test_each_verdict_has_its_outcome_from_its_date_on(chain: Path, tmp_path: Path) -> None:
    known = labels_of(
        build(BuildInputs((chain / "chain.parquet",)), tmp_path / "p", labels=chain / "labels.csv").dataset
    )
    phish = sorted(account for account, label in known.items() if label == "Phish")
    other = next(account for account, label in known.items() if label == "Exchange")
    everyone = parquet.read_table(chain / "chain.parquet")["from_address"].to_pylist()
    unknown = next(account for account in everyone if account not in known)
    verdicts = [
        Verdict(phish[0], "false alarm", "2018-03-01", "ann"),
        Verdict(phish[1].upper().replace("0X", ""), "unsure", "2018-03-01", "ann"),
        Verdict(other.upper(), "confirmed", "2018-03-02T12:00:00", "bob", "phish"),
        Verdict(unknown, "false alarm", "2018-03-01", "ann"),
        Verdict(unknown, "confirmed", "2018-05-01", "bob", "Phish"),
        Verdict("0x" + "9" * 40, "unsure", "2018-05-01", "bob"),
    ]
    early = known | {phish[0]: "Background", unknown: "Background"}
    del early[phish[1]]
    late = early | {other: "Phish", unknown: "Phish"}
    data = built(chain, tmp_path, verdicts)
    assert labels_of(data) == late
    counts = "2 confirmed, 1 false alarm, 2 unsure; 1 later or replaced; 1 of accounts without a transaction"
    assert data.notes == (f"verdicts of verdicts.csv: {counts}",)
    table = parquet.read_table(tmp_path / "d2" / "accounts.parquet", columns=["address", "label"]).to_pylist()
    assert {row["address"]: row["label"] for row in table if row["label"]} == late
    there = set(
        labels_of(
            build(
                BuildInputs((chain / "chain.parquet",), as_of=parse_as_of("2018-03-02T11:59:59")),
                tmp_path / "q",
                labels=chain / "labels.csv",
            ).dataset
        )
    )
    for moment, expected in (("2018-03-02T11:59:59", early), ("2018-03-02T12:00:00", early | {other: "Phish"})):
        found = labels_of(built(chain, tmp_path, verdicts, as_of=moment))
        assert {account for account in found if account in known} == there - {phish[1]}
        assert found.items() <= expected.items()
    before = built(chain, tmp_path, verdicts, as_of="2018-02-28")
    assert labels_of(before).items() <= known.items()
    assert before.classes[-1] == "Background"


def training_data(data: Dataset) -> Mapping[str, object]:
    """All that a method may read before it is tested: split, labels, features and edges of the copies."""
    split, count = data.require_split(), data.num_current
    stored = int(data.graph.indptr[count])
    nodes = np.concatenate([split.train, split.val])
    return {
        "classes": data.classes,
        "train": data.ids_of(split.train).tolist(),
        "val": data.ids_of(split.val).tolist(),
        "y": data.y[nodes].tolist(),
        "copies": data.y[count:].tolist(),
        "x": data.x.tobytes(),
        "rows": np.diff(data.graph.indptr[count:]).tolist(),
        "neighbours": data.graph.indices[stored:].tolist(),
        "amounts": data.edge_attributes["value"][stored:].tolist(),
    }


@pytest.mark.parametrize("background", [0, 60])
def test_no_verdict_is_used_for_a_time_before_its_date(chain: Path, tmp_path: Path, background: int) -> None:
    split = TimeSplit.parse(f"time:{TRAIN},{VAL}")
    known = plain_labels(chain)
    accounts = sorted(known)[:90] + [f"0x{number:040x}" for number in range(3)]
    everyone = sorted(set(parquet.read_table(chain / "chain.parquet")["from_address"].to_pylist()) - known.keys())
    accounts += everyone[:: len(everyone) // 200]
    rng = np.random.default_rng(background)

    def verdicts(dates: Sequence[str], seed: int) -> list[Verdict]:
        drawn = np.random.default_rng(seed).choice(["confirmed", "false alarm", "unsure"], len(accounts))
        return [
            Verdict(account, kind, date, "ann", "Phish" if kind == "confirmed" else "")
            for account, kind, date in zip(accounts, drawn.tolist(), dates, strict=True)
        ]

    def data(listed: Sequence[Verdict]) -> Dataset:
        return built(chain, tmp_path, listed, time_split=split, background=background)

    days = rng.choice(["2017-06-01", TRAIN, "2017-11-01", "2018-11-01", "2019-02-01"], len(accounts)).tolist()
    first = verdicts(days, 1)
    late = {number for number, day in enumerate(days) if day > VAL}
    other = [
        two if number in late else one for number, (one, two) in enumerate(zip(first, verdicts(days, 2), strict=True))
    ]
    without = [one for number, one in enumerate(first) if number not in late]
    one, changed, removed = data(first), data(other), data(without)
    assert training_data(one) == training_data(changed) == training_data(removed)
    assert labels_of(one) != labels_of(changed), "but later labels differ"

    after_training = {number for number, day in enumerate(days) if day > TRAIN}
    other = [
        two if k in after_training else one for k, (one, two) in enumerate(zip(first, verdicts(days, 3), strict=True))
    ]
    changed, split_one = data(other), one.require_split()
    split_changed = changed.require_split()
    assert one.ids_of(split_one.train).tolist() == changed.ids_of(split_changed.train).tolist()
    assert one.y[split_one.train].tolist() == changed.y[split_changed.train].tolist()
    assert one.ids_of(split_one.val).tolist() != changed.ids_of(split_changed.val).tolist()

    early = [number for number, day in enumerate(days) if day <= TRAIN]
    other = [
        two if number in early else one for number, (one, two) in enumerate(zip(first, verdicts(days, 4), strict=True))
    ]
    assert training_data(data(other))["y"] != training_data(one)["y"], "earlier verdicts are used"


def test_the_drawn_background_does_not_depend_on_verdicts(chain: Path, tmp_path: Path) -> None:
    plain = build(BuildInputs((chain / "chain.parquet",)), tmp_path / "p", labels=chain / "labels.csv", background=80)
    drawn = {account for account, label in labels_of(plain.dataset).items() if label == "Background"}
    assert len(drawn) == plain.background > 60
    freed, alarm = min(drawn), sorted(plain_labels(chain))[0]
    verdicts = [
        Verdict(freed, "confirmed", "2018-01-01", "ann", "Phish"),
        Verdict(alarm, "false alarm", "2018-01-01", "a"),
    ]
    found = labels_of(built(chain, tmp_path, verdicts, background=80))
    assert {account for account, label in found.items() if label == "Background"} == drawn - {freed} | {alarm}


def test_the_command(chain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    phish = next(account for account, label in plain_labels(chain).items() if label == "Phish")
    file = tmp_path / "verdicts.csv"
    file.write_text(f"address;verdict;date;name\n{phish};False_Alarm;2018-01-31;ann\n")
    command = ["ethereum", "build", str(chain / "chain.parquet"), "--verdicts", str(file), "--quiet"]
    assert main([*command, "--labels", str(chain / "labels.csv"), "--out", str(tmp_path / "d")]) == 0
    out = capsys.readouterr().out
    assert "note: verdicts of verdicts.csv: 0 confirmed, 1 false alarm, 0 unsure\n" in out
    data = load_folder(tmp_path / "d")
    assert data.classes[data.y[data.nodes_of([phish])[0]]] == "Background"
    assert main([*command, "--out", str(tmp_path / "e")]) == 2
    assert "--verdicts: needs labelled accounts" in capsys.readouterr().err
    assert not (tmp_path / "e").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("address,verdict,date\n", "line 1: column 'name' is missing"),
        (
            f"{HEAD}{A},guilty,2018-01-01,ann,Phish\n",
            "line 2: verdict 'guilty' is none of confirmed, false alarm, unsure",
        ),
        (f"{HEAD}{A},confirmed,2018-01-01,ann,\n", "line 2: a confirmed account needs a class in the column 'label'"),
        (f"{HEAD}{A},confirmed,2018-01-01,ann,Pish\n", "line 2: unknown class 'Pish'; did you mean Phish"),
        (f"{HEAD}{A},confirmed,2018-01-01,ann,Background\n", "line 2: unknown class 'Background'"),
        (f"{HEAD}{A},unsure,31.1.2018,ann,\n", "line 2: date: '31.1.2018' is neither a date"),
        (f"{HEAD}{A},unsure,2018-01-31,,\n", "line 2: the name of the analyst is empty"),
        (f"{HEAD}0x12,unsure,2018-01-31,ann,\n", "line 2: '0x12' is not an address"),
        (
            f"{HEAD}{A},unsure,2018-01-31,ann,\n{A},false alarm,2018-01-31,bob,\n",
            f"line 3: {A} is false alarm at 2018-01-31, and unsure by ann at the same time",
        ),
        (HEAD, "no verdicts"),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "verdicts.csv"
    file.write_text(text)
    with pytest.raises(InputError) as error:
        read_verdicts(file, {"Phish", "Exchange"})
    assert str(error.value).startswith(f"{file}: {message}")


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    verdicts = (
        Verdict(A, "unsure", "2018-01-31", "ann, the first"),
        Verdict(B, "false alarm", "2018-02-28", "bob"),
        Verdict(C, "confirmed", "2018-02-28T12:00:00", "bob", "Phish"),
    )
    write_verdicts(tmp_path / "v.csv", reversed(verdicts))
    assert read_verdicts(tmp_path / "v.csv", {"Phish"}).all == (verdicts[0], verdicts[2], verdicts[1])


def test_a_class_of_which_no_account_has_a_transaction_cannot_be_confirmed(chain: Path, tmp_path: Path) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text((chain / "labels.csv").read_text() + f"0x{'8' * 40},Mixer\n")
    known = next(iter(plain_labels(chain)))
    with pytest.raises(InputError, match=f"verdicts.csv: {known} is confirmed as Mixer, a class of which no account"):
        built(chain, tmp_path, [Verdict(known, "confirmed", "2018-01-01", "ann", "Mixer")], labels=labels)


def test_addresses_are_one_account_in_any_spelling(tmp_path: Path) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text(f"address,label\n{A[2:].upper()},Phish\n0X{A[2:]},Phish\n{A},Phish\n{B[2:]},Exchange\n")
    assert read_labels(labels)[0] == {A: "Phish", B: "Exchange"}
