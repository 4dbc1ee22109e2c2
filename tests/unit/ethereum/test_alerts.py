"""The list of alerts: who is in it, in which order, and what it says of each account."""

import json
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pytest
from pyarrow import parquet

import mggcn
from mggcn.cli import main
from mggcn.data import load_folder
from mggcn.errors import InputError, InputWarning
from mggcn.ethereum import BuildInputs, alerts, build, read_labels, simulate
from mggcn.ethereum._alerts import choose_class
from mggcn.runs._run import Run
from mggcn.training import probabilities_at_rate


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a simulated chain, its labels, a data set with Background, and a run."""
    folder = tmp_path_factory.mktemp("chain")
    simulate(folder / "chain.parquet", labels=folder / "labels.csv", scale=0.005)
    inputs = BuildInputs((folder / "chain.parquet",))
    build(inputs, folder / "accounts", labels=folder / "labels.csv", background=200)
    data = load_folder(folder / "accounts")
    mggcn.fit(data, "mlp", settings={"epochs": 20}).save(folder / "run")
    return folder


@pytest.fixture(scope="module")
def run(chain: Path) -> Run:
    return mggcn.load_run(chain / "run")


def test_unlabelled_accounts_are_listed_by_probability_and_known_ones_apart(chain: Path, run: Run) -> None:
    found, known = alerts(run, count=500, reasons=False), read_labels(chain / "labels.csv")[0]
    data = run.training_data
    p = run.predict().probabilities[:, data.classes.index("Phish")]
    ids = data.ids_of(np.arange(data.num_nodes)).tolist()
    order = [ids[node] for node in np.argsort(-p, kind="stable") if ids[node] not in known]
    assert [one.address for one in found.facts] == order[:500]
    assert [one.address for one in found.known_facts] == [
        ids[n] for n in np.argsort(-p, kind="stable") if ids[n] in known
    ]
    assert {one.label for one in found.facts} == {None}
    assert found.num_unlabelled == found.num_eligible == len(order)
    background = {ids[node] for node in np.flatnonzero(data.y == data.classes.index("Background"))}
    assert background <= set(order), "nothing is known of the accounts of Background"


def test_the_table_says_what_the_transactions_say(chain: Path, run: Run) -> None:
    frame = alerts(run, count=200).to_pandas()
    assert frame["position"].tolist() == list(range(1, 201))
    assert frame["reason_1"].notna().all()
    assert set(frame["model"]) == {"run"}
    query = f"""
    WITH pairs AS (FROM '{chain / "chain.parquet"}'
        WHERE receipt_status = 1 AND to_address <> '' AND from_address <> to_address),
    ends AS (SELECT from_address AS account, 0 AS received, value, block_timestamp AS time FROM pairs
        UNION ALL SELECT to_address, 1, value, block_timestamp FROM pairs)
    SELECT sum(received), count(*) - sum(received), sum(value) FILTER (received = 1), sum(value) FILTER (received = 0),
        strftime(to_timestamp(min(time)) AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%SZ'),
        strftime(to_timestamp(max(time)) AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%SZ')
    FROM ends WHERE account = ?
    """  # noqa: S608
    for address, row in frame.iterrows():
        ((received, sent, received_wei, sent_wei, first, last),) = duckdb.execute(query, [address]).fetchall()
        assert (row["received_transactions"], row["sent_transactions"]) == (received, sent)
        assert row["received_ether"] == float(Fraction(int(received_wei or 0), 10**18))
        assert row["sent_ether"] == float(Fraction(int(sent_wei or 0), 10**18))
        assert (row["first_time"], row["last_time"]) == (first, last)
        assert row["role"] == ("both" if received and sent else "payee" if received else "payer")


def test_only_accounts_as_asked_for_are_listed(run: Run) -> None:
    every = alerts(run, count=10**6, reasons=False)
    wanted = [
        one.address
        for one in every.facts
        if one.role in ("payee", "both") and one.in_tx + one.out_tx >= 5 and one.in_wei >= 5 * 10**17
    ]
    roles = ("payee", "both")
    some = alerts(run, count=30, min_transactions=5, min_received=Fraction("0.5"), roles=roles, reasons=False)
    assert [one.address for one in some.facts] == wanted[:30]
    assert some.num_eligible == len(wanted) < some.num_unlabelled
    assert some.to_pandas()["position"].tolist() == list(range(1, 31))


def test_probabilities_and_thresholds_at_a_base_rate(run: Run) -> None:
    data = run.training_data
    frame = alerts(run, base_rate=0.01, at_precision=0.5, reasons=False).to_pandas()
    share = (data.y[data.require_split().train] == data.classes.index("Phish")).mean()
    expected = probabilities_at_rate(frame["probability"].to_numpy(), share, 0.01)
    np.testing.assert_allclose(frame["probability_at_base_rate"], expected)
    assert (frame["probability_at_base_rate"] <= frame["probability"]).all()
    thresholds = run.predict(at_precision=0.5, base_rates={"Phish": 0.01}).thresholds
    assert thresholds is not None
    assert (frame["is_alert"] == (frame["probability"] >= thresholds.values[data.classes.index("Phish")])).all()


def test_labels_of_the_training_data_are_known_in_later_data_without_labels(chain: Path, run: Run) -> None:
    build(BuildInputs((chain / "chain.parquet",)), chain / "later")
    later = alerts(run, load_folder(chain / "later"), count=20, reasons=False)
    own = alerts(run, count=20, reasons=False)
    assert [one.address for one in later.known_facts] == [one.address for one in own.known_facts]
    assert [one.sentences("Phish") for one in later.facts] == [one.sentences("Phish") for one in own.facts]


def test_the_class_is_phish_or_the_only_one() -> None:
    assert choose_class(("Exchange", "Phish", "Background"), None) == "Phish"
    assert choose_class(("Background", "Hack"), None) == "Hack"
    assert choose_class(("Exchange", "Phish"), "Exchange") == "Exchange"
    with pytest.raises(InputError, match="label: name the class to rank accounts for; the run has Hack, Normal"):
        choose_class(("Hack", "Normal"), None)
    with pytest.raises(InputError, match="unknown class 'phish'; did you mean Phish"):
        choose_class(("Exchange", "Phish"), "phish")


def test_data_of_another_kind_is_refused(run: Run, small: mggcn.Dataset) -> None:
    with pytest.raises(InputError, match="small: alerts need a dataset folder that mggcn ethereum build has written"):
        alerts(run, small)


def test_values_in_another_unit_are_refused(chain: Path, run: Run, tmp_path: Path) -> None:
    build(BuildInputs((chain / "chain.parquet",), unit="TRX"), tmp_path / "trx", labels=chain / "labels.csv")
    with pytest.raises(InputError, match="values are in TRX, but alerts state amounts in ether"):
        alerts(run, load_folder(tmp_path / "trx"))


def test_a_method_without_gradients_lists_without_reasons(chain: Path) -> None:
    forest = mggcn.fit(load_folder(chain / "accounts"), "random-forest")
    with pytest.warns(InputWarning, match="random-forest: neither reasons"):
        frame = alerts(forest, count=5).to_pandas()
    assert frame["reason_1"].isna().all()
    assert len(frame) == 5


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_the_command_writes_both_lists_and_prints_both_precisions(
    chain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], suffix: str
) -> None:
    out = tmp_path / f"alerts.{suffix}"
    command = ["ethereum", "alerts", str(chain / "run"), "--out", str(out), "--count", "30", "--role", "payee"]
    assert main([*command, "--role", "both", "--base-rate", "0.01", "--at-precision", "0.5"]) == 0
    shown = capsys.readouterr().out
    known = tmp_path / f"alerts.known.{suffix}"
    assert f"60 accounts with a known label in {known}" in shown
    data = load_folder(chain / "accounts")
    split, is_phish = data.require_split(), data.y == data.classes.index("Phish")
    num_open = data.num_nodes - split.train.size - split.val.size
    share, of_all = is_phish[split.test].mean(), is_phish[split.test].sum() / num_open
    assert f"among the {split.test.size} test nodes, of which {share:.1%} are Phish: PR-AUC " in shown
    bound = f"if none of the {num_open - split.test.size:,} without a label is Phish ({of_all:.1%} are known to be)"
    assert f"\nat least, among all {num_open:,} nodes of the same period, {bound}: PR-AUC " in shown
    assert "for Phish where 1.00% of all nodes are Phish" in shown
    if suffix == "parquet":
        rows, others = (parquet.read_table(file).to_pylist() for file in (out, known))
    elif suffix == "jsonl":
        rows, others = ([json.loads(line) for line in file.read_text().splitlines()] for file in (out, known))
    else:
        rows, others = (duckdb.sql(f"FROM '{file}'").to_arrow_table().to_pylist() for file in (out, known))
    assert (len(rows), len(others)) == (30, 60)
    assert {row["role"] for row in rows} <= {"payee", "both"}
    assert {row["label"] for row in rows} == {None}
    assert {row["label"] for row in others} == set(read_labels(chain / "labels.csv")[0].values())
    assert f" {rows[0]['address']} " in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--class", "Fish"), "unknown class 'Fish'; did you mean Phish"),
        (("--min-received", "much"), "--min-received: 'much' is not an amount of ether"),
        (("--base-rate", "2"), "--base-rate: 2 is not a share above 0 and below 1"),
        (("--out", "a.txt"), "a.txt: predictions are written as .csv, .jsonl or .parquet, not .txt"),
    ],
)
def test_options_that_cannot_be_used(
    chain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    out = () if "--out" in words else ("--out", str(tmp_path / "a.csv"))
    assert main(["ethereum", "alerts", str(chain / "run"), *out, *words]) == 2
    assert message in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]
