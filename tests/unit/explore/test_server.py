"""The explorer's server: long answers delay nobody, and other sites start none."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

import mggcn
from mggcn.data._dataset import Dataset
from mggcn.explore._explorer import Explorer
from tests.serving import served


@pytest.fixture
def explorer(small: Dataset) -> Explorer:
    run = mggcn.fit(small, settings={"epochs": 1, "picks": 4}, device="cpu")
    return Explorer(run, small)


class Blocked(Explorer):
    """Answers about influence only when it is released."""

    started, released = threading.Semaphore(0), threading.Event()

    def influence(self, node: int, draws: int) -> dict[str, Any]:
        self.started.release()
        assert self.released.wait(60)
        return super().influence(node, draws)


@pytest.fixture
def blocked(explorer: Explorer) -> Iterator[Blocked]:
    Blocked.started, Blocked.released = threading.Semaphore(0), threading.Event()
    yield Blocked(explorer.scorer.run, explorer.dataset)
    Blocked.released.set()


def status(address: str, **headers: str) -> int:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        with urlopen(Request(address, headers=names)) as answer:  # noqa: S310
            answer.read()
            return int(answer.status)
    except HTTPError as error:
        with error:
            return error.code


def test_others_are_answered_while_one_is_computed(blocked: Blocked) -> None:
    with served(blocked) as address, ThreadPoolExecutor(1) as pool:
        long = pool.submit(status, f"{address}/api/influence?id=node-5&draws=200")
        assert blocked.started.acquire(timeout=60)
        assert status(f"{address}/api/about") == 200
        assert not long.done()
        blocked.released.set()
        assert long.result() == 200


def test_a_refused_request_is_told_so(explorer: Explorer) -> None:
    with served(explorer, most_connections=0) as address:
        assert status(f"{address}/api/about") == 503


def test_an_error_while_answering_is_an_error_of_this_answer_alone(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Explorer, "suggest", fail)
    with served(explorer) as address:
        assert status(f"{address}/api/search?q=n") == 500
        assert status(f"{address}/api/about") == 200


@pytest.mark.parametrize("path", ["/", "/api/about", "/api/influence?id=node-5&draws=200"])
def test_other_sites_start_nothing(blocked: Blocked, path: str) -> None:
    with served(blocked) as address:
        for site in ("cross-site", "same-site", "anything"):
            assert status(address + path, Sec_Fetch_Site=site) == 403
        assert not blocked.started.acquire(blocking=False)
        blocked.released.set()
        for site in ("same-origin", "none"):
            assert status(address + path, Sec_Fetch_Site=site) == 200
