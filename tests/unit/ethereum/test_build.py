"""The whole way from files to a dataset folder that trains."""

import json
import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from mggcn import fit
from mggcn._io import files
from mggcn.cli import main
from mggcn.data import load_folder
from mggcn.errors import InputError, require
from mggcn.ethereum import _account_features as features
from mggcn.ethereum import _pipeline as pipeline
from mggcn.ethereum._account_features import quotient
from mggcn.ethereum._build import build
from mggcn.ethereum._build_files import BuildInputs
from mggcn.ethereum._dates import parse_as_of
from tests.unit.ethereum.test_formats import write_csv
from tests.unit.ethereum.transactions import ETH, FEE, A, B, C, D, Row, address, transaction, write

DAY = 86_400


def ledger() -> list[Row]:
    """A pays B twice and C once; B pays back; C pays D, later."""
    at = 1_500_000_000
    return [
        transaction(1, A, B, 3 * ETH, block_timestamp=at),
        transaction(2, A, B, 2 * ETH + 1, block_timestamp=at + 2 * DAY),
        transaction(3, A, C, 7, block_timestamp=at + 3 * DAY),
        transaction(4, B, A, ETH, block_timestamp=at + 4 * DAY),
        transaction(5, C, D, 10 * ETH, block_timestamp=at + 50 * DAY),
    ]


@pytest.fixture
def built(tmp_path: Path) -> Path:
    build(BuildInputs((write(tmp_path / "t.parquet", ledger()),)), tmp_path / "out")
    return tmp_path / "out"


def test_the_thirteen_features(built: Path) -> None:
    data = load_folder(built)
    assert data.feature_names == (*features.THIRTEEN, *features.ROLE_FEATURES)
    assert data.ids_of(range(4)).tolist() == [A, B, C, D]
    expected = {
        "balance": Fraction(ETH - 5 * ETH - 1 - 7 - 3 * FEE, ETH),
        "in_degree": 1,
        "out_degree": 2,
        "n_counterparties": 2,
        "in_tx": 1,
        "out_tx": 3,
        "in_eth": 1,
        "out_eth": Fraction(5 * ETH + 8, ETH),
        "in_avg": 1,
        "out_avg": Fraction(5 * ETH + 8, 3 * ETH),
        "max_eth": 3,
        "active_days": 4,
        "tx_freq": Fraction(4, 5),
    }
    values = np.array([float(value) for value in expected.values()])
    assert tuple(expected) == features.THIRTEEN
    assert np.array_equal(data.x[0, :13], (np.sign(values) * np.log1p(np.abs(values))).astype(np.float32))


def test_roles_are_two_more_features_unless_they_are_left_out(built: Path, tmp_path: Path) -> None:
    data = load_folder(built)
    assert data.x[:, 13:].tolist() == [[0, 0], [0, 0], [0, 0], [0, 1]]  # of A, B, C and D, which never sent
    only_paid = write(tmp_path / "paid.parquet", ledger()[:1])
    assert build(BuildInputs((only_paid,)), tmp_path / "paid").dataset.x[:, 13:].tolist() == [[1, 0], [0, 1]]
    transactions = str(tmp_path / "t.parquet")
    assert main(["ethereum", "build", transactions, "--out", str(tmp_path / "plain"), "--no-roles", "--quiet"]) == 0
    plain = load_folder(tmp_path / "plain")
    assert plain.feature_names == features.THIRTEEN
    assert np.array_equal(plain.x, data.x[:, :13])
    assert set(plain.measures) == set(plain.feature_names)


def test_phrases_are_singular_for_one_and_never_quote_a_negative_balance(built: Path) -> None:
    data = load_folder(built)
    said = [data.measures[name].text(data.x[0, column]) for column, name in enumerate(data.feature_names)]
    missing = f"paid 4 ether more than came in: {features.PARTIAL}"
    assert said[:6] == [
        *(missing, "received from 1 account", "sent to 2 accounts", "transactions with 2 accounts"),
        *("received 1 transaction", "sent 3 transactions"),
    ]
    assert said[-2:] == ["has received", "has sent"]
    last = [data.measures[name].text(data.x[3, column]) for column, name in enumerate(data.feature_names)]
    assert last[-2:] == ["has received", "never sent"]


def test_the_graph_is_undirected_and_its_attributes_are_not(built: Path) -> None:
    data = load_folder(built)
    rows, columns = data.graph.edges()
    assert data.graph.direction == "both"
    assert list(zip(rows.tolist(), columns.tolist(), strict=True)) == [(0, 1), (0, 2), (1, 0), (2, 0), (2, 3), (3, 2)]
    attributes = {name: values.tolist() for name, values in data.edge_attributes.items()}
    at = 1_500_000_000
    assert attributes == {
        "count": [2, 1, 1, 0, 1, 0],
        "value": [5.0, 7e-18, 1.0, 0.0, 10.0, 0.0],
        "first": [at, at + 3 * DAY, at + 4 * DAY, 0, at + 50 * DAY, 0],
        "last": [at + 2 * DAY, at + 3 * DAY, at + 4 * DAY, 0, at + 50 * DAY, 0],
    }


def test_the_tables_beside_it_are_exact(built: Path) -> None:
    accounts, edges = (parquet.read_table(built / name) for name in ("accounts.parquet", "edges.parquet"))
    assert accounts.schema.field("balance_wei").type == pa.decimal128(38, 0)
    assert accounts["out_wei"].to_pylist()[0] == 5 * ETH + 8
    assert edges.to_pylist()[0] == {
        "from_address": A,
        "to_address": B,
        "src": 0,
        "dst": 1,
        "count": 2,
        "value_wei": Decimal(5 * ETH + 1),
        "first_time": 1_500_000_000,
        "last_time": 1_500_000_000 + 2 * DAY,
        "fee_wei": Decimal(2 * FEE),
    }
    meta = json.loads((built / "meta.json").read_text())
    assert meta["tables"] == {name: files.sha256(built / name) for name in ("accounts.parquet", "edges.parquet")}


def test_files_their_number_and_their_order_change_nothing(built: Path, tmp_path: Path) -> None:
    rows = ledger()
    parts = [write(tmp_path / f"{number}.parquet", [row]) for number, row in enumerate(rows)]
    write(tmp_path / "again.parquet", rows[1:3])
    build(BuildInputs((tmp_path / "again.parquet", *reversed(parts))), tmp_path / "other")
    assert load_folder(tmp_path / "other").digest == load_folder(built).digest
    for name in ("accounts.parquet", "edges.parquet"):
        assert parquet.read_table(tmp_path / "other" / name).equals(parquet.read_table(built / name))


def test_as_of_is_the_same_as_a_file_that_ends_there(tmp_path: Path) -> None:
    whole, early = write(tmp_path / "t.parquet", ledger()), write(tmp_path / "e.parquet", ledger()[:4])
    cut = build(BuildInputs((whole,), as_of=parse_as_of("2017-07-31")), tmp_path / "cut")
    assert cut.tally.dropped["later"] == 1
    assert cut.dataset.num_nodes == 3
    assert cut.dataset.digest == build(BuildInputs((early,)), tmp_path / "early").dataset.digest
    assert "as of 2017-07-31 23:59:59 UTC" in cut.dataset.source


@pytest.mark.parametrize(
    ("text", "second"),
    [
        ("2017-07-14", 1_500_076_799),
        ("20170714", 1_500_076_799),
        ("9999-12-31", 253_402_300_799),
        ("2017-07-14T02:40:00", 1_500_000_000),
        ("2017-07-14T04:40:00+02:00", 1_500_000_000),
        ("2017-07-14T02:40:00Z", 1_500_000_000),
    ],
)
def test_a_date_counts_to_its_end_and_a_time_to_its_second(text: str, second: int) -> None:
    assert parse_as_of(text) == second


@pytest.mark.parametrize("text", ["tomorrow", "2017-13-01", "1500000000", "9999-12-31T23:59:59-05:00"])
def test_other_dates_are_refused(text: str) -> None:
    with pytest.raises(InputError, match=f"as_of: '{text}' is neither a date"):
        parse_as_of(text)


@pytest.mark.parametrize(
    ("option", "name"),
    [
        (None, "ethereum:simulated-out"),
        ("mine", "simulated-mine"),
        ("ethereum:mine", "ethereum:simulated-mine"),
        ("simulated chain", "simulated chain"),
    ],
)
def test_simulated_rows_are_called_so_whatever_the_name(tmp_path: Path, option: str | None, name: str) -> None:
    path = write(tmp_path / "t.parquet", ledger())
    parquet.write_table(parquet.read_table(path).replace_schema_metadata({"simulation": "{}"}), path)
    assert build(BuildInputs((path,)), tmp_path / "out", name=option).dataset.name == name


def test_quotients_are_rounded_once() -> None:
    wei = [47_451_219_234_000_000_000, 10**27 + 1, -3, 0, 2**100 + 1]
    column = pa.array([Decimal(0), *map(Decimal, wei)], pa.decimal128(38, 0))[1:]
    assert quotient(column, unit=ETH).tolist() == [float(Fraction(value, ETH)) for value in wei]
    assert quotient(column, np.full(5, 7), unit=ETH).tolist() == [float(Fraction(value, 7 * ETH)) for value in wei]
    assert quotient(pa.array([2**62 + 1, 3])).tolist() == [float(2**62), 3.0]


@given(
    st.lists(
        st.tuples(st.integers(-(10**37), 10**37) | st.integers(-(2**70), 2**70), st.integers(1, 2**62)), min_size=1
    ),
    st.sampled_from([1, 3, ETH]),
)
def test_quotients_of_any_integers_are_rounded_once(pairs: list[tuple[int, int]], unit: int) -> None:
    """Products of a float with 53 bits and its neighbours lie between two floats, where rounding is decided."""
    pairs = [*pairs, *((int(float(value)) + step, 1) for value, _ in pairs for step in (-1, 0, 1))]
    column = pa.array([Decimal(value) for value, _ in pairs], pa.decimal128(38, 0))
    divisors = np.array([divisor for _, divisor in pairs])
    expected = [float(Fraction(value, divisor * unit)) for value, divisor in pairs]
    assert quotient(column, divisors, unit).tolist() == expected


@pytest.mark.parametrize("stages", [[], ["--stages", "work"], ["--stages", "file://{}/work"]])
def test_a_stage_is_removed_when_nothing_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stages: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "t.parquet", ledger())
    kept: dict[str, list[str]] = {}
    compute = pipeline.run

    def run(engine: Any, inputs: BuildInputs, on_stage: Any) -> Any:
        work = engine.work
        assert work.local.is_relative_to(tmp_path / "work") == bool(stages)

        def note(stage: str) -> None:
            on_stage(stage)
            kept[stage] = sorted(path.name for path in work.local.iterdir() if path.name not in ("rewritten", "spill"))

        tally = compute(engine, inputs, note)
        note("end")
        return tally

    monkeypatch.setattr(pipeline, "run", run)
    options = [option.format(tmp_path) for option in stages]
    assert main(["ethereum", "build", "t.parquet", "--out", "out", "--quiet", *options]) == 0
    assert kept == {
        "rows": [],
        "transactions": ["rows"],
        "accounts": ["transactions"],
        "edges": ["accounts", "transactions"],
        "links": ["accounts", "edges"],
        "features": ["accounts", "links"],
        "end": ["features", "links"],
    }
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "t.parquet"]


def test_a_class_without_an_account_is_left_out(tmp_path: Path) -> None:
    ring = write(tmp_path / "t.parquet", crowd(20))
    rows = [f"{address(number)},{'b' if number % 2 else 'c'}" for number in range(20)]
    (tmp_path / "l.csv").write_text("\n".join([*rows, f"{address(99)},a"]))
    built = build(BuildInputs((ring,)), tmp_path / "out", labels=tmp_path / "l.csv")
    assert (built.dataset.classes, built.labels, built.unknown) == (("b", "c"), 21, 1)
    assert np.array_equal(built.dataset.y, 1 - np.arange(20) % 2)


@pytest.mark.parametrize(("labels", "counts"), [("cbcb", "b 2, c 2"), ("", "none")])
def test_too_few_labels_name_their_file_and_the_counts(tmp_path: Path, labels: str, counts: str) -> None:
    ring = write(tmp_path / "t.parquet", crowd(20))
    rows = [f"{address(number)},{label}" for number, label in enumerate(labels)]
    (tmp_path / "few.csv").write_text("\n".join([*rows, f"{address(99)},a"]))
    message = rf"few\.csv: too few labelled accounts have a transaction \({counts}\) for a 7:1:2 split: split: \w+ is"
    with pytest.raises(InputError, match=message):
        build(BuildInputs((ring,)), tmp_path / "few", labels=tmp_path / "few.csv")
    assert not (tmp_path / "few").exists()


def crowd(num: int) -> list[Row]:
    """Accounts of two kinds in a ring: the first half pays small amounts often, the other large amounts once."""
    rows = []
    for number in range(num):
        often = number < num // 2
        for turn in range(5 if often else 1):
            value = ETH // 100 if often else 50 * ETH
            rows.append(transaction(len(rows), address(number), address((number + turn + 1) % num), value))
    return rows


def test_the_commands_build_train_predict(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "t.parquet", crowd(60))
    labels = [f"{address(number)},{'often' if number < 30 else 'once'}" for number in range(60)]
    (tmp_path / "labels.csv").write_text("\n".join(["address,label", *labels, f"{address(999)},once"]) + "\n")
    assert main(["ethereum", "build", "t.parquet", "--labels", "labels.csv", "--out", "accounts", "--seed", "3"]) == 0
    output = capsys.readouterr()
    assert "60 of 61 labelled accounts have a transaction" in output.out
    assert "often     21    3     6" in output.out
    assert "features" in output.err
    assert main(["train", "accounts", "--set", "epochs=30", "--quiet"]) == 0
    assert main(["predict", "runs/ethereum-accounts-mg-gcn-seed0", "--out", "accounts.parquet"]) == 0
    scored = parquet.read_table("accounts.parquet").to_pydict()
    assert scored["address"] == [address(number) for number in range(60)]
    right = [kind == ("often" if number < 30 else "once") for number, kind in enumerate(scored["class"])]
    assert np.mean(right) > 0.8
    record = json.loads(Path("runs/ethereum-accounts-mg-gcn-seed0/record.json").read_text())
    assert (record["settings"]["hidden"], record["settings"]["scaling"]) == (128, "standard")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["t.parquet"], "--out: the dataset folder to make is missing"),
        (["none.parquet", "--out", "o"], "none.parquet: no such file"),
        (["t.parquet", "--out", "o", "--labels", "no.csv"], "no.csv: no such file"),
        (["t.parquet", "--out", "o", "--memory", "lots"], "--memory: 'lots' is not an amount of memory such as 4GB"),
        (["t.parquet", "--out", "o", "--memory=-1GB"], "--memory: '-1GB' is not an amount of memory such as 4GB"),
        (
            ["t.parquet", "--out", "o", "--memory", "0GB"],
            "--memory: '0GB' is too little; an engine needs at least 500MB",
        ),
        (["t.parquet", "--out", "o", "--memory", "1KB", "--engine", "spark"], "--memory: '1KB' is too little"),
        (["t.parquet", "--out", "o", "--max-dropped", "5"], 'Invalid value "5.0" for --max-dropped. Must be <= 1.'),
        (["t.parquet", "--out", "o", "--stages", "t.parquet"], "t.parquet is not a folder"),
        (["t.parquet", "--out", "o", "--stages", "nowhere://b"], "--stages: nowhere://b: cannot be read ("),
        (["t.parquet", "--out", "here"], "here: already exists"),
        (["t.parquet", "--out", "here", "--overwrite"], "here: not a dataset folder, so it is not replaced"),
        (["t.parquet", "--out", "t.parquet", "--overwrite"], "t.parquet: not a dataset folder, so it is not replaced"),
        (["a.b.c.d", "--engine", "sql"], "'a.b.c.d' is not the name of a table"),
        (["t", "--engine", "sql", "--dialect", "bigqueri"], "unknown dialect 'bigqueri'; did you mean bigquery?"),
    ],
)
def test_bad_arguments_are_one_line_and_leave_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "t.parquet", ledger())
    (tmp_path / "here").mkdir()
    assert main(["ethereum", "build", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here", "t.parquet"]


def test_values_in_scientific_notation_are_not_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = crowd(20)
    write(tmp_path / "t.parquet", rows)
    write_csv(tmp_path / "t.csv", [row | {"value": f"{Decimal(row['value']).normalize():e}"} for row in rows])
    assert "e+16" in (tmp_path / "t.csv").read_text()
    for file in ("t.parquet", "t.csv"):
        assert main(["ethereum", "build", file, "--out", file[2:], "--name", "one", "--quiet"]) == 0
    assert load_folder("parquet").digest == load_folder("csv").digest
    write_csv(tmp_path / "half.csv", [*rows[1:], rows[0] | {"value": "0.5"}])
    capsys.readouterr()
    assert main(["ethereum", "build", "half.csv", "--out", "half", "--quiet"]) == 2
    error = capsys.readouterr().err
    assert "half.csv: 1 of 60 rows cannot be read (1.67%), more than --max-dropped 0.01; most are 'no value'" in error
    assert error.count("\n") == 1
    assert not Path("half").exists()
    assert main(["ethereum", "build", "half.csv", "--out", "half", "--quiet", "--max-dropped", "0.02"]) == 0


@pytest.mark.parametrize("method", ["mg-gcn", "graphsage-mean"])
def test_scores_do_not_depend_on_unrelated_accounts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)

    def chain(start: int, first: int) -> list[Row]:
        return [
            transaction(start + number, address(first + 7 * a), address(first + 7 * b), int(value) * ETH)
            for number, (a, b, value) in enumerate(rng.integers(1, 90, (500, 3)))
            if a != b
        ]

    old, new = chain(0, 100_000), chain(1_000, 100_003)  # the new addresses are between the old ones
    before, after = write(tmp_path / "before.parquet", old), write(tmp_path / "after.parquet", [*old, *new])
    labels = [f"{address(100_000 + 7 * number)},{'odd' if number % 2 else 'even'}" for number in range(1, 60)]
    Path("labels.csv").write_text("\n".join(labels))
    build(BuildInputs((before,)), tmp_path / "one", labels=Path("labels.csv"))
    build(BuildInputs((after,)), tmp_path / "two", labels=Path("labels.csv"))
    one, two = load_folder("one"), load_folder("two")
    ids = one.ids_of(range(one.num_nodes)).tolist()
    nodes = two.nodes_of(ids)
    assert two.num_nodes > 1.8 * one.num_nodes
    assert not np.array_equal(nodes, np.arange(one.num_nodes))
    run = fit(one, method, settings={"epochs": 5}, device="cpu")
    scores = [run.predict(data, data.nodes_of(ids)).probabilities for data in (one, two)]
    assert np.ptp(scores[0][:, 0]) > 0.01
    assert np.abs(scores[0] - scores[1]).max() < 1e-6


def test_unlabelled_accounts_as_a_class(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "t.parquet", crowd(60))
    labels = [f"{address(number)},{'often' if number < 30 else 'once'}" for number in range(10, 40)]
    Path("labels.csv").write_text("\n".join(labels))
    command = ["ethereum", "build", "t.parquet", "--labels", "labels.csv", "--quiet"]
    assert main([*command, "--out", "closed"]) == 0
    capsys.readouterr()
    assert main([*command, "--out", "open", "--background", "10"]) == 0
    out = capsys.readouterr().out
    assert "30 of 30 labelled accounts have a transaction\n10 unlabelled accounts of similar degrees are the" in out
    closed, opened = load_folder("closed"), load_folder("open")
    assert opened.classes == ("often", "once", "Background")
    assert (opened.y == 2).sum() == 10
    assert np.array_equal(np.where(opened.y == 2, -1, opened.y), closed.y)
    assert "up to 10 unlabelled accounts as Background" in opened.source
    assert [int((opened.y[part] == 2).sum()) for part in opened.split.parts().values()] == [7, 1, 2]
    assert main(["ethereum", "build", "t.parquet", "--out", "other", "--background", "5"]) == 2
    assert "--background: needs labelled accounts" in capsys.readouterr().err
    assert not Path("other").exists()


def test_a_label_background_is_one_of_the_class_background(tmp_path: Path) -> None:
    file, labels = write(tmp_path / "t.parquet", crowd(60)), tmp_path / "labels.csv"
    members = [f"{address(number)},{'often' if number < 30 else 'once'}" for number in range(10, 40)]
    labels.write_text("\n".join([*members, f"{address(50)},background", f"{address(51)},Background"]))
    built = build(BuildInputs((file,)), tmp_path / "d", labels=labels, background=10)
    data = built.dataset
    assert data.classes == ("often", "once", "Background")
    assert (data.y[data.nodes_of([address(50), address(51)])] == 2).all()
    assert (data.y == 2).sum() == 2 + built.background
    assert 8 <= built.background <= 10


def test_a_folder_that_is_read_is_not_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = write(tmp_path / "t.parquet", ledger())
    assert main(["ethereum", "build", "t.parquet", "--out", "d"]) == 0
    assert main(["ethereum", "build", str(file.rename(tmp_path / "d" / "t.parquet")), "--out", "d", "--overwrite"]) == 2
    assert "d: holds t.parquet, which is not of the data set, so it is not replaced" in capsys.readouterr().err
    assert (tmp_path / "d" / "t.parquet").is_file()


@pytest.mark.parametrize("dialect", ["bigquery", "snowflake", "trino", "databricks"])
def test_the_stages_as_sql(capsys: pytest.CaptureFixture[str], dialect: str) -> None:
    table = "bigquery-public-data.crypto_ethereum.transactions"
    assert main(["ethereum", "build", table, "--engine", "sql", "--dialect", dialect, "--as-of", "2020-01-01"]) == 0
    output = capsys.readouterr().out
    assert output.count("CREATE TABLE ") == 6
    assert "1577923199" in output
    assert not re.search(r"\nORDER BY", output), "no table is sorted as a whole"
    if dialect == "bigquery":
        assert "`block_timestamp` < TIMESTAMP('2020-01-02T00:00:00+00:00')" in output
        assert "`bigquery-public-data`.`crypto_ethereum`.`transactions`" in output
        assert "FLOAT" not in output


def test_a_missing_library_is_named_with_its_extra() -> None:
    require("json", "ethereum")
    with pytest.raises(InputError, match=r"this needs no_such_library: pip install 'mggcn\[spark\]'"):
        require("no_such_library", "spark")
