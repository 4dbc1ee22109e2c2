"""Replays: each month knows what was revealed before, and nothing else."""

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import msgspec
import numpy as np
import pytest

from mggcn.cli import main
from mggcn.errors import InputError
from mggcn.ethereum._build_files import BuildInputs
from mggcn.ethereum._replay import QUEUES, Month, MonthCounts, Replay, ReplaySettings, replay
from mggcn.ethereum._replay_page import replay_by_month, replay_by_year, save_replay
from tests.unit.ethereum.transactions import ETH, Row, address, transaction, write

MONTHS = ["2017-11", "2017-12", "2018-01", "2018-02"]
SETTINGS = ReplaySettings("bad", 6, "2017-10", "2018-02", "mlp", {"epochs": "40"}, background=20)


def history() -> Iterator[tuple[str, str, Row]]:
    """The account that is new in a transaction, its label, and the transaction: seven months, each with 5 bad ones."""
    rng, number = np.random.default_rng(0), 0
    for month in range(7):
        first = date(2017, 8, 1) + timedelta(days=31 * month)
        start = int(datetime(first.year, first.month, 2, tzinfo=UTC).timestamp())
        for new in range(45):
            account = address(1_000 * (month + 1) + new)
            label = "bad" if new < 5 else "shop" if new < 10 else ""
            for _ in range(6 if label else 2):
                other = address(1_000 * (int(rng.integers(month + 1)) + 1) + 10 + int(rng.integers(35)))
                if other == account:
                    continue
                value = {"bad": 300, "shop": 20}.get(label, 1) * ETH + int(rng.integers(ETH))
                ends = (account, other) if label == "shop" else (other, account)
                number += 1
                yield account, label, transaction(number, *ends, value, block_timestamp=start + number)


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, rows = tmp_path_factory.mktemp("history"), list(history())
    write(folder / "t.parquet", [row for _, _, row in rows])
    write_labels(folder / "labels.csv", {account: label for account, label, _ in rows if label})
    return folder


def write_labels(path: Path, labels: dict[str, str]) -> Path:
    path.write_text("address,label\n" + "".join(f"{account},{label}\n" for account, label in labels.items()))
    return path


def labels_of(chain: Path) -> dict[str, str]:
    return dict(line.split(",") for line in (chain / "labels.csv").read_text().split()[1:])


def run(chain: Path, out: Path, labels: Path | None = None, **changes: object) -> Replay:
    settings = msgspec.structs.replace(SETTINGS, **changes)
    return replay(BuildInputs((chain / "t.parquet",)), out, labels=labels or chain / "labels.csv", settings=settings)


def months_in(out: Path) -> list[Month]:
    return [msgspec.json.decode(file.read_bytes(), type=Month) for file in sorted((out / "months").iterdir())]


@pytest.fixture(scope="module")
def done(chain: Path) -> tuple[Path, Replay]:
    return chain / "whole", run(chain, chain / "whole")


def first_seen() -> dict[str, str]:
    """The month in which each account is first seen."""
    months: dict[str, str] = {}
    for _, _, row in history():
        for end in (row["from_address"], row["to_address"]):
            months.setdefault(end, f"{datetime.fromtimestamp(row['block_timestamp'], UTC):%Y-%m}")
    return months


def test_each_queue_lists_unknown_accounts_once_and_what_the_labels_say(chain: Path, done: tuple[Path, Replay]) -> None:
    out, result = done
    labels, seen = labels_of(chain), first_seen()
    at_start = {account for account in labels if seen[account] <= "2017-10"}
    months = months_in(out)
    assert [month.month for month in months] == MONTHS
    for queue in QUEUES:
        before: set[str] = set()
        for month, counts in zip(months, result.months, strict=True):
            listed = [alert.address for alert in month.queues[queue]]
            assert len(set(listed)) == len(listed) == 6
            assert not before & set(listed)
            assert not at_start & set(listed)
            assert all(seen[account] <= month.month for account in listed)
            assert [alert.label for alert in month.queues[queue]] == [labels.get(account) for account in listed]
            p = [alert.probability for alert in month.queues[queue] if alert.probability is not None]
            assert p == sorted(p, reverse=True)
            assert len(p) == (0 if queue == "random" else 6)
            assert counts.found[queue] == sum(labels.get(account) == "bad" for account in listed)
            if queue == "retrained":
                bad = {account for account, label in labels.items() if label == "bad" and seen[account] <= month.month}
                assert month.known == len(bad & (at_start | before))
                assert month.to_find == len(bad) - month.known
                assert month.accounts == sum(month_seen <= month.month for month_seen in seen.values())
            before |= set(listed)


def test_models_find_what_chance_does_not(done: tuple[Path, Replay]) -> None:
    found = {queue: sum(month.found[queue] for month in done[1].months) for queue in QUEUES}
    assert found["retrained"] >= 18, "of 20"
    assert found["fixed"] >= 15
    assert found["random"] <= 8


def test_labels_that_were_not_revealed_change_nothing(chain: Path, done: tuple[Path, Replay], tmp_path: Path) -> None:
    months, labels, seen = months_in(done[0]), labels_of(chain), first_seen()
    opened = {alert.address for month in months for queue in QUEUES for alert in month.queues[queue]}
    swapped = {
        account: label if seen[account] <= "2017-10" or account in opened else {"bad": "shop", "shop": "bad"}[label]
        for account, label in labels.items()
    }
    assert swapped != labels
    run(chain, tmp_path / "swapped", write_labels(tmp_path / "labels.csv", swapped))
    assert [month.queues for month in months_in(tmp_path / "swapped")] == [month.queues for month in months]

    revealed = {alert.address for alert in months[0].queues["retrained"]}
    changed = {account: "shop" if account in revealed else label for account, label in labels.items()}
    run(chain, tmp_path / "changed", write_labels(tmp_path / "labels.csv", changed))
    other = months_in(tmp_path / "changed")
    addresses = [[[a.address for a in month.queues["retrained"]] for month in each] for each in (months, other)]
    assert addresses[0][0] == addresses[1][0]
    assert addresses[0][1:] != addresses[1][1:], "the model learns from what was revealed"
    fixed = [[[a.address for a in month.queues["fixed"]] for month in each] for each in (months, other)]
    assert fixed[0] == fixed[1]


def test_a_replay_that_stopped_continues(chain: Path, done: tuple[Path, Replay], tmp_path: Path) -> None:
    def stop(month: MonthCounts) -> None:
        if month.month == MONTHS[1]:
            raise KeyboardInterrupt

    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        replay(BuildInputs((chain / "t.parquet",)), out, labels=chain / "labels.csv", settings=SETTINGS, on_month=stop)
    assert sorted(path.name for path in out.iterdir()) == ["months", "settings.json"]
    first = {path: path.stat().st_mtime_ns for path in (out / "months").iterdir()}
    assert sorted(path.stem for path in first) == MONTHS[:2]
    assert run(chain, out) == done[1]
    assert all(path.stat().st_mtime_ns == before for path, before in first.items())
    for month in MONTHS:
        name = f"{month}.json"
        assert (out / "months" / name).read_bytes() == (done[0] / "months" / name).read_bytes()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"k": 7}, "holds a replay with k 6, not 7; name another folder"),
        ({"seed": 1}, "holds a replay with seed 0, not 1; name another folder"),
        ({"label": "worse"}, "unknown class 'worse'; valid: bad, shop"),
        ({"start": "2018"}, "start: '2018' is not a month such as 2018-01"),
        ({"until": "2018-13"}, "until: '2018-13' is not a month"),
        ({"until": "2017-10"}, "until: 2017-10 is not after 2017-10"),
        ({"k": 0}, "k: 0 is less than 1"),
    ],
)
def test_settings_that_cannot_be_used(
    chain: Path, done: tuple[Path, Replay], changes: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        run(chain, done[0], **changes)


def test_a_start_without_known_accounts_leaves_nothing(chain: Path, tmp_path: Path) -> None:
    labels = {account: label for account, label in labels_of(chain).items() if first_seen()[account] > "2017-10"}
    file = write_labels(tmp_path / "labels.csv", labels | {address(1_020): "shop", address(1_021): "shop"})
    with pytest.raises(InputError, match="start: 0 accounts of bad were seen until the end of 2017-10, and 5 are"):
        run(chain, tmp_path / "out", file)
    assert not (tmp_path / "out").exists()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    with pytest.raises(InputError, match="other: not the folder of a replay, so nothing is written there"):
        run(chain, tmp_path / "other")


def test_tables_have_the_share_of_each_period(tmp_path: Path) -> None:
    def month(name: str, to_find: int, found: int) -> MonthCounts:
        listed = dict.fromkeys(QUEUES, 10)
        return MonthCounts(name, 100, 7, to_find, listed, {"retrained": found, "fixed": 1, "random": 0})

    result = Replay(SETTINGS, [month("2017-12", 20, 6), month("2018-01", 4, 3), month("2018-02", 2, 0)])
    assert replay_by_month(result).texts == [
        ["2017-12", "100", "7", "20", "10", "60.0", "10.0", "0.0", "100.0"],
        ["2018-01", "100", "7", "4", "10", "30.0", "10.0", "0.0", "40.0"],
        ["2018-02", "100", "7", "2", "10", "0.0", "10.0", "0.0", "20.0"],
    ]
    assert [row[0:1] + row[4:] for row in replay_by_year(result).texts] == [
        ["2017", "10", "60.0", "10.0", "0.0", "100.0"],
        ["2018", "20", "15.0", "10.0", "0.0", "30.0"],
        ["all", "30", "30.0", "10.0", "0.0", "53.3"],
    ]
    save_replay(result, tmp_path)
    assert msgspec.json.decode((tmp_path / "replay.json").read_bytes(), type=Replay) == result
    html = (tmp_path / "replay.html").read_text()
    content = json.loads(html.partition('<script type="application/json" id="data">')[2].partition("</script>")[0])
    (values,) = content["data"].values()
    assert {(one["method"], one["month"]): one["precision"] for one in values}["retrained", "2018-01-31"] == 30.0
    assert content["charts"]["replay"]["data"]["name"] in content["data"]


def test_the_command(chain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["ethereum", "replay", str(chain / "t.parquet"), "--labels", str(chain / "labels.csv")]
    command += ["--until", "2017-11", "--method", "mlp", "--set", "epochs=40", "--background", "20", "--device", "cpu"]
    out = tmp_path / "out"
    assert main([*command, "--out", str(out), "--top", "bad:6", "--from", "2017-10"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("2017-11: retrained ")
    assert " were to find among " in printed
    assert "| year | accounts | known bad | bad to find | alerts | retrained, % | fixed, % | random, % |" in printed
    assert {path.name for path in out.iterdir()} == {
        "months",
        "settings.json",
        "replay.html",
        "replay.json",
        "table.md",
    }
    for options, message in (
        (["--top", "bad", "--from", "2017-10"], "--top: 'bad' is not of the form CLASS:K"),
        (["--top", "bad:6", "--from", "soon"], "--from: 'soon' is not a month such as 2018-01"),
    ):
        assert main([*command, "--out", str(tmp_path / "no"), *options]) == 2
        assert message in capsys.readouterr().err
    assert not (tmp_path / "no").exists()
