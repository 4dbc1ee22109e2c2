"""A browser that is already on the machine, and pages whose errors and requests are recorded."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from mggcn.cli import main
from mggcn.data import save
from mggcn.data._dataset import Dataset
from mggcn.data._split import Split
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
    """A page, the errors and warnings of its console, and the addresses it requested."""

    page: Page
    errors: list[str] = field(default_factory=list)
    requested: list[str] = field(default_factory=list)

    def check(self) -> None:
        """There were no errors, and no requests to other machines."""
        assert self.errors == []
        assert self.requested
        for address in self.requested:
            parts = urlsplit(address)
            assert parts.scheme in ("file", "data", "blob") or parts.hostname == "127.0.0.1", address


Watch = Callable[..., Watched]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    executable = next((path for path in map(shutil.which, _NAMES) if path), None)
    if executable is None:
        pytest.skip(f"no browser: none of {', '.join(_NAMES)} is installed")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable, args=_ARGUMENTS)
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
            lambda message: watched.errors.append(message.text) if message.type in ("error", "warning") else None,
        )
        page.on("pageerror", lambda error: watched.errors.append(str(error)))
        page.on("request", lambda request: watched.requested.append(request.url))
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
    """A run folder that ``mggcn train`` wrote."""
    folder = tmp_path_factory.mktemp("trained")
    save(citations, folder / "towns")
    train = ["train", str(folder / "towns"), "--preset", "paper", "--epochs", "15"]
    assert main([*train, "--out", str(folder / "runs"), "--quiet"]) == 0
    return folder / "runs" / "towns-mg-gcn-seed0"
