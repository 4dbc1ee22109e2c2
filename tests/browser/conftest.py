"""A browser that is already on the machine, and pages that tell what went wrong in them."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from mggcn import storage
from mggcn.cli import main
from mggcn.dataset import Dataset, Split
from mggcn.graph import Graph
from mggcn.keys import Key

_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
_NAMES = ("chromium", "chromium-browser", "google-chrome")


@dataclass
class Watched:
    """A page, what its console complained of, and the addresses it asked for."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def check(self) -> None:
        """Nothing went wrong, and nothing was asked for outside this machine."""
        assert self.complaints == []
        assert self.asked
        for address in self.asked:
            parts = urlsplit(address)
            assert parts.scheme in ("file", "data", "blob") or parts.hostname == "127.0.0.1", address


Watch = Callable[..., Watched]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    found = next((path for path in map(shutil.which, _NAMES) if path), None)
    if found is None:
        pytest.skip(f"no browser: none of {', '.join(_NAMES)} is installed")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=_ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def watch(browser: Browser) -> Iterator[Watch]:
    pages: list[Page] = []

    def open_page(address: str, *, width: int = 1200, scheme: str = "light") -> Watched:
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce")
        pages.append(page)
        watched = Watched(page)
        page.on(
            "console",
            lambda message: watched.complaints.append(message.text) if message.type in ("error", "warning") else None,
        )
        page.on("pageerror", lambda error: watched.complaints.append(str(error)))
        page.on("request", lambda request: watched.asked.append(request.url))
        page.goto(address)
        return watched

    yield open_page
    for page in pages:
        page.close()


@pytest.fixture(scope="session")
def citations() -> Dataset:
    """Two hundred nodes in four classes with a few hubs; features and most edges follow the class."""
    rng = Key.of(11).generator()
    n, classes = 200, 4
    y = np.arange(n) % classes
    source = rng.integers(0, n, 1200)
    target = (rng.random(1200) ** 2 * n).astype(np.int64)
    keep = (y[source] == y[target]) | (rng.random(1200) < 0.1)
    x = (np.eye(classes)[y] + rng.normal(0, 0.6, (n, classes))).astype(np.float32)
    ids = np.array([f"0x{number:04X}{number * 7919 % 65536:04x}" for number in range(n)])
    graph = Graph.from_edges(source[keep], target[keep], n)
    names = ("north", "east", "south", "west")
    return Dataset("towns", graph, x, y.astype(np.int64), names, Split.stratified(y.astype(np.int64)), ids)


@pytest.fixture(scope="session")
def run_folder(citations: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``mggcn train`` leaves."""
    place = tmp_path_factory.mktemp("trained")
    storage.save(citations, place / "towns")
    assert main(["train", str(place / "towns"), "--epochs", "15", "--out", str(place / "runs"), "--quiet"]) == 0
    return place / "runs" / "towns-mg-gcn-seed0"
