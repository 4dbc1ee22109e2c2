"""The site builds without a warning, holds what it should, and fetches nothing."""

import inspect
import os
import re
import subprocess
import sys
from dataclasses import fields
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path

import pytest

from mggcn.cli import app
from mggcn.methods import METHODS

pytestmark = pytest.mark.slow

pytest.importorskip("mkdocs", reason="the site needs mkdocs: pip install 'mggcn[docs]'")

ROOT = Path(__file__).resolve().parents[2]
FETCHING = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "video": "src"}
RELATIONS = {"stylesheet", "icon", "preload", "modulepreload", "preconnect", "dns-prefetch", "prefetch", "manifest"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs") / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    told = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=told, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr, done.stderr
    return folder


class _Page(HTMLParser):
    """Collects what a browser fetches for a page, and the identifiers in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.identifiers: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.identifiers.add(given.get("id", ""))
        wanted = tag in FETCHING and (tag != "link" or set(given.get("rel", "").split()) & RELATIONS)
        if wanted and FETCHING[tag] in given:
            self.fetched.append(given[FETCHING[tag]])


def read(path: Path) -> _Page:
    return _Page(path.read_text())


def test_pages_fetch_nothing_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 40
    for page in pages:
        outside = [address for address in read(page).fetched if re.match(r"(\w+:)?//", address)]
        assert not outside, f"{page.relative_to(site)} fetches {outside}"
    for sheet in site.rglob("*.css"):
        outside = re.findall(r"(?:@import|url\()\s*[\"']?((?:https?:)?//[^\"')]+)", sheet.read_text())
        assert not outside, f"{sheet.relative_to(site)} fetches {outside}"


def test_every_method_has_a_page_with_its_settings(site: Path) -> None:
    for name, method in METHODS.items():
        text = (site / "methods" / f"{name}.html").read_text()
        for setting in [field.name for field in fields(method)]:
            assert f"<code>{setting}</code>" in text, f"{name}: {setting}"
        assert 'id="numbers"' in text


def test_every_command_is_in_the_reference(site: Path) -> None:
    found = read(site / "commands.html").identifiers

    def commands(one: object, place: str) -> list[str]:
        named = {id(one[name]): name for name in reversed([*one]) if not name.startswith("-")}  # type: ignore[call-overload, index]
        inner = named.values()  # the first name of each: others are in its text
        return [place, *(deeper for name in inner for deeper in commands(one[name], f"{place}-{name}"))]  # type: ignore[index]

    assert set(commands(app, "mggcn")) <= found


def test_every_committed_result_has_its_report(site: Path) -> None:
    text = (site / "results" / "index.html").read_text()
    committed = sorted((ROOT / "results").glob("*.json"))
    for path in committed:
        assert (site / "results" / f"{path.stem}.html").is_file()
        assert f'id="{path.stem}"' in text
    assert ("No records are committed yet" in text) == (not committed)


PACKAGES = ["data", "experiments", "explore", "methods", "nn", "runs", "sampling", "training"]


@pytest.mark.parametrize("package", ["", *PACKAGES])
def test_public_names_are_in_the_reference(site: Path, package: str) -> None:
    names = set().union(*(read(page).identifiers for page in (site / "api").glob("*.html")))
    module = import_module(f"mggcn.{package}".rstrip("."))
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert any(identifier.endswith(f".{name}") for identifier in names), name


def test_generated_parts_are_in_their_pages(site: Path) -> None:
    assert (site / "how-it-works.html").read_text().count("<figure><svg") == 5
    for page in site.rglob("*.html"):
        assert "<!-- insert:" not in page.read_text(), page
