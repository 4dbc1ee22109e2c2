"""The crawl against a local server: paging, faults, choice of neighbours, and going on after being killed."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from mggcn.cli import main
from mggcn.cli.display import StageDisplay
from mggcn.data import load_folder
from mggcn.errors import InputError
from mggcn.ethereum._crawl import Crawled, Store, crawl, draw
from mggcn.ethereum._etherscan import Cursor, Etherscan, RateLimit, key_from_environment
from mggcn.keys import Key
from tests.skips import real_data
from tests.unit.ethereum.fake_etherscan import KEY, FakeEtherscan, record, refusal, serving

LABELLED = [f"0x{number:040x}" for number in (1, 2, 3)]
NEIGHBOURS = [f"0x{number:040x}" for number in range(100, 160)]


def town() -> dict[str, list[dict[str, str]]]:
    """Three labelled accounts, each with twenty neighbours, who have a friend each; one has no transactions."""
    accounts: dict[str, list[dict[str, str]]] = {}
    for number, neighbour in enumerate(NEIGHBOURS):
        account = LABELLED[number % 3]
        friend = f"0x{number + 10_000:040x}"
        paid, passed = (
            record(10 + number, number, neighbour, account),
            record(50 + number, 1000 + number, neighbour, friend),
        )
        for owner, row in ((account, paid), (neighbour, paid), (neighbour, passed), (friend, passed)):
            accounts.setdefault(owner, []).append(row)
    accounts[LABELLED[0]].insert(0, record(0, 9999, "GENESIS", LABELLED[0]))
    accounts[LABELLED[1]].append(record(99, 9998, LABELLED[1], ""))
    return accounts


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeEtherscan]:
    monkeypatch.setenv("ETHERSCAN_API_KEY", KEY)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serving(town()) as server:
        yield server


@pytest.fixture(autouse=True)
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between two tries, in seconds; no time is spent on them."""
    seconds: list[float] = []
    monkeypatch.setattr("tenacity.nap.time", SimpleNamespace(sleep=seconds.append))
    return seconds


def api(server: FakeEtherscan, key: str = KEY) -> Etherscan:
    return Etherscan(key, 1e6, server.url)


def listed(server: FakeEtherscan, account: str, cursor: Cursor | None = None) -> list[str]:
    return [record["hash"] for page, _ in api(server).pages(account, cursor) for record in page]


def lines(folder: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in (folder / "transactions.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("count", [0, 1, 999, 1000, 1001, 10_000, 12_345])
def test_paging_gives_every_record_once(server: FakeEtherscan, count: int) -> None:
    rows = [record(number // 7, number, LABELLED[0], LABELLED[1]) for number in range(count)]
    server.accounts["0xa"] = rows
    assert listed(server, "0xa") == [row["hash"] for row in rows]
    assert len(set(server.calls)) == len(server.calls)


def test_a_block_that_fills_pages_is_listed_once(server: FakeEtherscan) -> None:
    blocks = [1] * 8500 + [2] * 2700 + [3] * 500
    server.accounts["0xa"] = [record(block, number, "0xa", "0xb") for number, block in enumerate(blocks)]
    assert listed(server, "0xa") == [row["hash"] for row in server.accounts["0xa"]]
    assert ("0xa", 2, 1) in server.calls


def test_a_block_beyond_the_window_is_an_error(server: FakeEtherscan) -> None:
    server.accounts["0xa"] = [record(7, number, "0xa", "0xb") for number in range(10_001)]
    with pytest.raises(InputError, match="10,000 transactions in block 7"):
        listed(server, "0xa", Cursor(7))


def test_faults_that_pass_are_tried_again_with_growing_pauses(server: FakeEtherscan, naps: list[float]) -> None:
    server.faults = [
        refusal("Max rate limit reached, please use API Key for higher rate limit"),
        (429, b"slow down"),
        (503, b""),
        (200, b'{"status": "1", "message": "OK", "result": [{"blockNumb'),
        (200, b"<html>one moment</html>"),
        (200, b'{"status": "1", "message": "OK", "result": [{"hash": "0x1"}]}'),
        refusal("", "Query Timeout occured. Please select a smaller result dataset"),
    ]
    client = api(server)
    pages = list(client.pages(LABELLED[2]))
    assert [len(page) for page, _ in pages] == [20]
    assert (client.calls, client.retries) == (8, 7)
    assert len(naps) == 7
    assert all(0.5 * 0.5 * 2**number <= nap <= 1.5 * 0.5 * 2**number for number, nap in enumerate(naps))


def test_a_slow_answer_is_given_up_and_asked_for_again(server: FakeEtherscan, monkeypatch: pytest.MonkeyPatch) -> None:
    server.pause = 0.6
    monkeypatch.setattr("tenacity.nap.time", SimpleNamespace(sleep=lambda _: setattr(server, "pause", 0.0)))
    client = Etherscan(KEY, 1e6, server.url, timeout=0.2)
    assert len(next(client.pages(LABELLED[2]))[0]) == 20
    assert client.retries == 1


def test_a_pause_that_the_server_asks_for_is_kept(server: FakeEtherscan, naps: list[float]) -> None:
    server.retry_after = "7"
    server.faults = [(429, b"")] * 6
    assert len(next(api(server).pages(LABELLED[2]))[0]) == 20
    assert naps == [7, 7, 7, 7, 8, 16]
    server.retry_after = "86400"
    server.faults = [(503, b"")]
    next(api(server).pages(LABELLED[2]))
    assert naps[6:] == [60]


def test_a_lasting_fault_ends_in_one_line(server: FakeEtherscan) -> None:
    server.faults = [(500, b"")] * 8
    with pytest.raises(InputError, match=r"gave up after 8 tries \(HTTP 500\); run it again"):
        list(api(server).pages(LABELLED[0]))


def test_a_server_that_is_not_there_is_tried_again() -> None:
    client = Etherscan(KEY, 1e6, "http://127.0.0.1:9/v2/api")
    with pytest.raises(InputError, match="gave up after 8 tries"):
        list(client.pages(LABELLED[0]))


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (refusal("Invalid API Key"), "Etherscan refused the key in ETHERSCAN_API_KEY"),
        (refusal("Too many invalid api key attempts, please try again later"), "refused the key"),
        (refusal("Max daily rate limit reached"), "daily"),
        (refusal("Error! Invalid address format"), "Invalid address format"),
        ((403, b""), "HTTP 403"),
        ((302, b"http://127.0.0.1:9/elsewhere"), "HTTP 302"),
    ],
)
def test_faults_that_stay_stop_at_once(server: FakeEtherscan, fault: tuple[int, bytes], message: str) -> None:
    server.faults = [fault]
    client = api(server)
    with pytest.raises(InputError, match=message):
        list(client.pages(LABELLED[0]))
    assert client.calls == 1


def test_the_rate_is_kept() -> None:
    now = [0.0]
    limit = RateLimit(4.0, clock=lambda: now[0], sleep=lambda seconds: now.__setitem__(0, now[0] + seconds))
    for _ in range(9):
        limit.wait()
    assert now[0] == pytest.approx(2.0)
    now[0] += 60
    for _ in range(9):
        limit.wait()
    assert now[0] == pytest.approx(64.0)
    with pytest.raises(InputError, match="rate"):
        RateLimit(0)


def test_all_neighbours_of_a_labelled_account_and_a_part_of_theirs(server: FakeEtherscan, tmp_path: Path) -> None:
    done = crawl(api(server), LABELLED, tmp_path, two_hop=0.3, seed=5)
    key = Key.of(5).fold("two-hop")
    selected = sorted((name for name in NEIGHBOURS if draw(name, key) < 0.3), key=lambda name: draw(name, key))
    assert [account for account, _, _ in server.calls] == LABELLED + selected
    assert done == Crawled((3, 3), (len(selected), len(selected)), 62 + 2 * len(selected), 0, 3 + len(selected), 0)
    assert 8 < len(selected) < 30
    expected = {row["hash"] for account in LABELLED for row in server.accounts[account]}
    assert {record["hash"] for record in lines(tmp_path)} >= expected


def test_a_finished_crawl_fetches_nothing_and_a_larger_part_only_the_rest(
    server: FakeEtherscan, tmp_path: Path
) -> None:
    crawl(api(server), LABELLED, tmp_path, two_hop=0.2)
    before = list(server.calls)
    content = (tmp_path / "transactions.jsonl").read_bytes()
    assert crawl(api(server), LABELLED[::-1], tmp_path, two_hop=0.2).calls == 0
    assert (tmp_path / "transactions.jsonl").read_bytes() == content
    crawl(api(server), LABELLED, tmp_path, two_hop=1.0)
    assert sorted(account for account, _, _ in server.calls) == sorted(LABELLED + NEIGHBOURS)
    assert server.calls[: len(before)] == before


def test_limits_on_accounts_and_transactions(server: FakeEtherscan, tmp_path: Path) -> None:
    assert crawl(api(server), LABELLED, tmp_path / "a", max_accounts=2).labelled == (2, 3)
    assert crawl(api(server), LABELLED, tmp_path / "a", two_hop=1, max_accounts=8).neighbours == (5, 5)
    server.accounts[LABELLED[0]] = [record(n, n, LABELLED[0], NEIGHBOURS[0]) for n in range(4_000)]
    done = crawl(api(server), LABELLED[:1], tmp_path / "b", two_hop=0, max_transactions=1_500)
    assert (done.records, done.cut) == (2_000, 1)
    assert crawl(api(server), LABELLED[:1], tmp_path / "b", two_hop=0, max_transactions=1_500).calls == 0


def test_a_fault_in_the_middle_of_an_account_is_gone_on_from(server: FakeEtherscan, tmp_path: Path) -> None:
    rows = [record(n // 3, n, LABELLED[0], NEIGHBOURS[n % 9]) for n in range(11_500)]
    server.accounts[LABELLED[0]] = rows
    whole = crawl(api(server), LABELLED, tmp_path / "whole")
    asked, server.calls = server.calls, []
    for fetched in (4, 10, 11):
        with pytest.raises(InputError, match="gave up"):
            _fail_after(server, fetched, tmp_path / "broken")
    assert crawl(api(server), LABELLED, tmp_path / "broken") == Crawled(
        whole.labelled, whole.neighbours, whole.records, 0, whole.calls - 11, 0
    )
    assert server.calls == asked
    assert lines(tmp_path / "broken") == lines(tmp_path / "whole")


def _fail_after(server: FakeEtherscan, fetched: int, folder: Path) -> None:
    answer = server.answer

    def failing(query: dict[str, str]) -> tuple[int, bytes]:
        return answer(query) if len(server.calls) < fetched else (500, b"")

    server.answer = failing  # type: ignore[method-assign]
    try:
        crawl(api(server), LABELLED, folder)
    finally:
        del server.answer


@pytest.mark.slow
def test_killed_crawls_go_on_with_nothing_fetched_twice(server: FakeEtherscan, tmp_path: Path) -> None:
    server.accounts[LABELLED[1]] = [record(n, n, LABELLED[1], NEIGHBOURS[n % 60]) for n in range(2_500)]
    labels = tmp_path / "labels.csv"
    labels.write_text("address,label\n" + "".join(f"{account},Mining\n" for account in LABELLED))
    crawl(api(server), LABELLED, tmp_path / "whole", two_hop=0.3)
    asked, server.calls = server.calls, []
    server.pause = 0.01
    command = [
        sys.executable,
        "-m",
        "mggcn",
        "ethereum",
        "crawl",
        "--labels",
        str(labels),
        "--two-hop",
        "0.3",
        "--rate",
    ]
    command += ["1000", "--base-url", server.url, "--out", str(tmp_path / "killed")]
    for until in (2, 10):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=dict(os.environ))
        while len(server.calls) < until and process.poll() is None:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        _, shown = process.communicate()
        assert process.returncode == -signal.SIGKILL, shown
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=dict(os.environ))
    assert (tmp_path / "killed" / "transactions.jsonl").read_bytes() == (
        tmp_path / "whole" / "transactions.jsonl"
    ).read_bytes()
    again = Counter(server.calls) - Counter(asked)
    assert again.total() <= 2  # the call that was on its way at each kill
    assert set(server.calls) == set(asked)
    everything = (
        done.stdout
        + done.stderr
        + "".join(path.read_text() for path in (tmp_path / "killed").iterdir() if path.is_file())
    )
    assert KEY not in everything
    assert "labelled accounts 3 of 3" in done.stdout


def test_whatever_a_kill_leaves_is_cut_off(tmp_path: Path) -> None:
    page = [record(1, 1, "0xa", "0xb"), record(2, 2, "0xa", "0xb")]
    with Store(tmp_path, 0, "x") as store:
        store.add("0xa", page, Cursor(0, 2, ("0x2",)))
        store.add("0xa", page[:1], None)
        store.add("0xb", page, None)
    journal, kept = (tmp_path / "journal.log").read_bytes(), (tmp_path / "transactions.jsonl").read_bytes()
    starts = [0, *(position + 1 for position, byte in enumerate(journal) if byte == ord("\n"))]
    for length in {*range(0, len(journal), 7), *starts, *(start - 1 for start in starts[1:])}:
        (tmp_path / "journal.log").write_bytes(journal[:length])
        whole = sum(start <= length for start in starts) - 1
        if whole:
            (tmp_path / "transactions.jsonl").write_bytes(kept + b'{"torn')
        else:
            (tmp_path / "transactions.jsonl").unlink(missing_ok=True)
        with Store(tmp_path, 0, "x") as store:
            assert store.count == [0, 0, 2, 3, 5][whole]
            assert store.position("0xa") == ((Cursor(0, 2, ("0x2",)), 2) if whole == 2 else (Cursor(), 0))
            assert store.finished == [set(), set(), set(), {"0xa"}, {"0xa", "0xb"}][whole]
            assert len(list(store.records())) == store.count


def test_a_folder_of_another_crawl_is_refused(server: FakeEtherscan, tmp_path: Path) -> None:
    crawl(api(server), LABELLED, tmp_path, two_hop=0)
    with pytest.raises(InputError, match="begun with seed 0, not 1"):
        crawl(api(server), LABELLED, tmp_path, seed=1)
    with pytest.raises(InputError, match="other labelled accounts"):
        crawl(api(server), LABELLED[:2], tmp_path)
    with Store(tmp_path / "busy", 0, "x"), pytest.raises(InputError, match="another process is writing"):
        Store(tmp_path / "busy", 0, "x")
    (tmp_path / "transactions.jsonl").write_bytes(b"")
    with pytest.raises(InputError, match="the file is damaged"):
        crawl(api(server), LABELLED, tmp_path)
    (tmp_path / "journal.log").write_bytes(b"[]\n")
    with pytest.raises(InputError, match="line 1: not a line"):
        crawl(api(server), LABELLED, tmp_path)


def test_another_chain_is_crawled_and_not_mixed_with_the_first(
    server: FakeEtherscan, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text(f"address,label\n{LABELLED[0]},ICO\n")
    command = ["ethereum", "crawl", "--labels", str(labels), "--out", str(tmp_path / "out"), "--base-url", server.url]
    server.chain = 137
    assert main([*command, "--chain-id", "137", "--rate", "1000000", "--two-hop", "0"]) == 0
    assert len(lines(tmp_path / "out")) == 21
    capsys.readouterr()
    assert main([*command, "--quiet"]) == 2
    assert "out: begun with chain 137, not 1" in capsys.readouterr().err


def internal(block: int, number: int, trace: int, source: str, target: str) -> dict[str, str]:
    """An internal transaction with the fields that Etherscan gives."""
    fields = record(block, number, source, target)
    dropped = ("nonce", "gasPrice", "cumulativeGasUsed", "confirmations", "txreceipt_status")
    return {name: fields[name] for name in fields if name not in dropped} | {"traceId": str(trace), "type": "call"}


def test_internal_transactions_have_their_own_file_which_build_reads(server: FakeEtherscan, tmp_path: Path) -> None:
    contract, payee = f"0x{5:040x}", f"0x{6:040x}"
    server.internal[LABELLED[0]] = [internal(7, 1, trace, contract, LABELLED[0]) for trace in range(1200)]
    server.internal[contract] = [internal(9, 2, 0, contract, payee)]
    done = crawl(api(server), LABELLED[:1], tmp_path / "crawl", two_hop=1.0, internal=True)
    assert done.internal == 1201
    stored = lines(tmp_path / "crawl" / "internal")
    assert len({(row["hash"], row["traceId"]) for row in stored}) == len(stored) == 1201
    assert done.neighbours == (21, 21), "the contract is a neighbour, too"
    calls = server.calls.copy()
    assert crawl(api(server), LABELLED[:1], tmp_path / "crawl", two_hop=1.0, internal=True).internal == 1201
    assert server.calls == calls
    assert main(["ethereum", "build", str(tmp_path / "crawl"), "--out", str(tmp_path / "data"), "--quiet"]) == 0
    data = load_folder(tmp_path / "data")
    (node,) = data.nodes_of([LABELLED[0]])
    start, stop = data.graph.indptr[node : node + 2]
    assert data.nodes_of([contract])[0] in data.graph.indices[start:stop]


def test_a_crawl_without_internal_transactions_gets_them_later(server: FakeEtherscan, tmp_path: Path) -> None:
    crawl(api(server), LABELLED[:1], tmp_path, two_hop=0)
    server.internal[LABELLED[0]] = [internal(7, 1, 0, LABELLED[1], LABELLED[0])]
    server.calls.clear()
    assert crawl(api(server), LABELLED[:1], tmp_path, two_hop=0, internal=True).internal == 1
    assert len(server.calls) == 1


def test_a_server_that_does_not_answer_is_shown(
    server: FakeEtherscan, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text(f"address,label\n{LABELLED[0]},ICO\n")
    server.faults = [(503, b""), refusal("Max rate limit reached")]
    command = ["ethereum", "crawl", "--labels", str(labels), "--out", str(tmp_path / "out"), "--base-url", server.url]
    assert main([*command, "--two-hop", "0", "--rate", "1000000"]) == 0
    shown = capsys.readouterr().err.splitlines()
    assert shown[0] == "labelled accounts: 0 of 1"
    assert re.fullmatch(r"labelled accounts: HTTP 503; try 2 of 8 in [01] s", shown[1])
    assert re.fullmatch(r"labelled accounts: Max rate limit reached; try 3 of 8 in [012] s", shown[2])
    assert shown[3] == "labelled accounts: 1 of 1"


def test_the_key_is_not_logged(server: FakeEtherscan, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)
    server.faults = [(500, b""), refusal(f"{KEY}: try again")]
    list(api(server).pages(LABELLED[0]))
    assert "stamina" in {record.name for record in caplog.records}
    assert all(KEY not in str(vars(record)) + record.getMessage() for record in caplog.records)


def test_a_missing_library_is_one_line_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mggcn.errors.find_spec", lambda _: None)
    with pytest.raises(InputError, match=r"^this needs httpx: pip install 'mggcn\[crawl\]'$"):
        Etherscan(KEY)


def test_the_key_is_never_shown(
    server: FakeEtherscan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text(f"address,label\n{LABELLED[0]},ICO\n")
    command = ["ethereum", "crawl", "--labels", str(labels), "--out", str(tmp_path / "out"), "--base-url", server.url]
    server.faults = [refusal(f"Invalid API Key {KEY}")]
    assert main(command) == 2
    errors = capsys.readouterr().err
    assert "refused the key in ETHERSCAN_API_KEY: Invalid API Key …" in errors
    assert len(errors.splitlines()) == 2  # the stage and the error
    server.faults = [(400, f"bad {KEY}".encode())]
    assert main([*command, "--quiet"]) == 2
    shown = capsys.readouterr()
    assert KEY not in errors + shown.out + shown.err
    assert all(KEY not in path.read_text() for path in (tmp_path / "out").iterdir())
    monkeypatch.setenv("ETHERSCAN_API_KEY", " ")
    assert main(command) == 2
    assert "ETHERSCAN_API_KEY: the environment variable" in capsys.readouterr().err
    with pytest.raises(InputError):
        key_from_environment()


@pytest.mark.parametrize("url", ["http://api.etherscan.io/v2/api", "ftp://127.0.0.1/", "api.etherscan.io"])
def test_the_key_is_not_sent_in_the_clear(url: str) -> None:
    with pytest.raises(InputError, match="not an https address"):
        Etherscan(KEY, url=url)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--two-hop", "1.5"], "--two-hop: 1.5 is not between 0 and 1"),
        (["--chain-id", "0"], "--chain-id: 0 is not the number of a chain"),
        (["--max-accounts", "0"], "--max-accounts: 0"),
        (["--rate", "-1"], "rate: -1"),
    ],
)
def test_bad_options_are_one_line(
    server: FakeEtherscan, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text(f"address,label\n{LABELLED[0]},ICO\n")
    command = ["ethereum", "crawl", "--labels", str(labels), "--out", str(tmp_path / "out"), "--base-url", server.url]
    assert main([*command, *options]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    labels.write_text("address,label\n0x12,ICO\n")
    assert main(command) == 2
    assert f"{labels}: line 2: '0x12' is not an address" in capsys.readouterr().err


def test_lines_tell_the_time_left(capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    shown = StageDisplay(clock=lambda: now[0])
    for done in range(5, 11):
        shown.update("accounts", done, 10)
        now[0] += 100.0
    assert capsys.readouterr().err.splitlines()[:3] == [
        "accounts: 5 of 10",
        "accounts: 6 of 10, about 0:06:40 left",
        "accounts: 7 of 10, about 0:05:00 left",
    ]


def test_a_recorded_answer_is_crawled_and_kept_as_it_was(server: FakeEtherscan, tmp_path: Path) -> None:
    logged = json.loads(real_data("ethereum_samples/etherscan_api/get_normal_txs_by_address.json").read_text())
    account = logged["kwargs"]["address"]
    server.accounts = {account: logged["res"]}
    done = crawl(api(server), [account], tmp_path, two_hop=1.0)
    assert lines(tmp_path) == logged["res"]
    ends = {end for row in logged["res"] for end in (row["from"], row["to"])} - {account, "GENESIS", ""}
    assert done.neighbours == (len(ends), len(ends))


def test_build_reads_what_was_crawled(server: FakeEtherscan, tmp_path: Path) -> None:
    crawl(api(server), LABELLED, tmp_path / "crawl", two_hop=1.0)
    assert main(["ethereum", "build", str(tmp_path / "crawl"), "--out", str(tmp_path / "data"), "--quiet"]) == 0
    accounts = {end for rows in server.accounts.values() for row in rows for end in (row["from"], row["to"])}
    assert load_folder(tmp_path / "data").num_nodes == len(accounts - {"GENESIS", ""})
