"""Builds that are split by time: no account sees its future."""

from pathlib import Path

import numpy as np
import pytest

import mggcn
from mggcn.cli import main
from mggcn.data import load_folder
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.ethereum._build import TimeSplit, build
from mggcn.ethereum._build_files import BuildInputs
from mggcn.ethereum._dates import parse_as_of
from mggcn.ethereum._simulate import simulate
from mggcn.runs._matching import PART_NAMES, SplitIds

DATES = ("2017-10-31", "2018-10-31")


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("chain")
    simulate(folder / "chain.parquet", labels=folder / "chain.labels.csv", scale=0.02)
    return folder


@pytest.fixture(scope="module")
def data(chain: Path) -> Dataset:
    split = TimeSplit.parse(f"time:{','.join(DATES)}")
    return built(chain, "timed", time_split=split)


def built(chain: Path, name: str, as_of: str | None = None, **options: object) -> Dataset:
    until = None if as_of is None else parse_as_of(as_of)
    inputs = BuildInputs((chain / "chain.parquet",), as_of=until)
    return build(inputs, chain / name, labels=chain / "chain.labels.csv", **options).dataset


def test_each_part_is_as_if_the_files_ended_at_its_date(chain: Path, data: Dataset) -> None:
    snapshots = {
        part: built(chain, f"as-of-{part}", date)
        for part, date in (("train", DATES[0]), ("val", DATES[1]), ("test", None))
    }
    seen: set[str] = set()
    for part, nodes in data.require_split().parts().items():
        snapshot = snapshots[part]
        ids = [name.partition("@")[0] for name in data.ids_of(nodes).tolist()]
        labelled = set(snapshot.ids_of(np.flatnonzero(snapshot.y >= 0)).tolist())
        assert set(ids) == labelled - seen, part
        assert nodes.size > 5
        seen |= labelled
        there = snapshot.nodes_of(ids)
        assert np.array_equal(data.x[nodes], snapshot.x[there])
        assert np.array_equal(data.y[nodes], [data.classes.index(snapshot.classes[y]) for y in snapshot.y[there]])
        for node, other in zip(nodes.tolist(), there.tolist(), strict=True):
            neighbours = [name.partition("@")[0] for name in data.ids_of(data.graph.row(node)).tolist()]
            assert neighbours == snapshot.ids_of(snapshot.graph.row(other)).tolist()


def test_the_latest_accounts_come_first(chain: Path, data: Dataset) -> None:
    whole = load_folder(chain / "as-of-test") if (chain / "as-of-test").exists() else built(chain, "as-of-test")
    count = data.num_current
    assert count == whole.num_nodes
    assert np.array_equal(data.x[:count], whole.x)
    assert data.ids_of(range(count)).tolist() == whole.ids_of(range(count)).tolist()
    stored = int(data.graph.indptr[count])
    assert np.array_equal(data.graph.indices[:stored], whole.graph.indices)
    assert np.array_equal(data.edge_attributes["count"][:stored], whole.edge_attributes["count"])
    dates = {name.partition("@")[2] for name in data.ids_of(range(count, data.num_nodes)).tolist()}
    assert dates == set(DATES)
    assert data.source.endswith(f"split by time: train until {DATES[0]}, val until {DATES[1]}")


def test_accounts_are_recognised_without_their_dates(data: Dataset) -> None:
    split = data.require_split()
    parts = np.array(PART_NAMES)[SplitIds.of(data).parts_of(data, np.arange(data.num_nodes))]
    for part, nodes in split.parts().items():
        assert set(parts[nodes]) == {part}
        current = data.nodes_of([name.partition("@")[0] for name in data.ids_of(nodes).tolist()])
        assert set(parts[current]) == {part}
        assert (current < data.num_current).all()


def test_only_current_accounts_are_scored(data: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = mggcn.fit(data, "mlp", settings={"epochs": 3}).save(tmp_path / "run")
    assert run.predict().nodes.tolist() == list(range(data.num_current))
    out = tmp_path / "p.csv"
    assert main(["predict", str(run.path), "--out", str(out), "--at-precision", "0.5", "--top", "Phish:3"]) == 0
    printed = capsys.readouterr().out
    assert f"{data.require_split().test.size} test nodes: accuracy" in printed
    assert f"; {data.require_split().train.size} training nodes left out" in printed
    assert "@" not in out.read_text()
    members = np.bincount(data.y[data.require_split().val], minlength=data.num_classes)
    table = {line.split()[0]: line.split() for line in printed.splitlines() if line.split()}
    assert [int(table[name][3]) for name in data.classes] == members.tolist()


def test_the_command(chain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(chain / "chain.parquet"), "--labels", str(chain / "chain.labels.csv"), "--quiet"]
    command = ["ethereum", "build", *files, "--split", f"time:{','.join(DATES)}", "--background", "30"]
    assert main([*command, "--out", str(chain / "command")]) == 0
    out = capsys.readouterr().out
    data = load_folder(chain / "command")
    assert f"{data.copies:,} copies of accounts as of the dates of the split" in out
    assert f"ethereum:simulated-command: {data.num_current:,} accounts, " in out
    assert data.y[data.require_split().train].max() == data.classes.index("Background")


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("2018-01-01", "split: '2018-01-01' is neither random nor time:DATE,DATE"),
        ("time:2018-01-01", "split: 'time:2018-01-01' is neither random nor time:DATE,DATE"),
        ("time:2018-01-01,soon", "split: 'soon' is neither a date"),
        ("time:2018-02-01,2018-01-01", "split: 2018-02-01 is not before 2018-01-01"),
    ],
)
def test_dates_that_cannot_be_used(word: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        TimeSplit.parse(word)


def test_builds_that_cannot_be_split_by_time(chain: Path) -> None:
    split = TimeSplit.parse("time:2018-04-30,2018-08-31")
    assert split is not None
    inputs = BuildInputs((chain / "chain.parquet",))
    with pytest.raises(InputError, match="split: needs labels="):
        build(inputs, chain / "none", time_split=split)
    with pytest.raises(InputError, match="2018-08-31 is not before as_of"):
        built(chain, "none", "2018-06-30", time_split=split)
    balances = BuildInputs((chain / "chain.parquet",), balances=chain / "b.csv")
    with pytest.raises(InputError, match="balances=… are of one date"):
        build(balances, chain / "none", labels=chain / "chain.labels.csv", time_split=split)
    early = TimeSplit.parse("time:2001-01-01,2018-08-31")
    with pytest.raises(InputError, match="no row is left of"):
        built(chain, "none", time_split=early)
    assert not (chain / "none").exists()
