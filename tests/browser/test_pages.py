"""The page of a run and the report of several, in a real browser."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page

from mggcn.cli import main
from tests.browser.conftest import Watch

pytestmark = pytest.mark.slow

COMMITTED = sorted((Path(__file__).parents[2] / "results").glob("*.json"))
TUNED = [path for path in COMMITTED if path.stem.startswith("tuned-")]
RESULTS = [path for path in COMMITTED if path not in TUNED[1:]]  # the tables of tuned methods have the same columns


def all_charts_are_drawn(page: Page) -> None:
    page.wait_for_function(
        "[...document.querySelectorAll('.chart')].every((chart) => chart.querySelector('svg.marks path'))"
    )
    assert page.locator(".chart").count() > 0
    assert "could not be drawn" not in page.inner_text("body")


def everything_fits(page: Page) -> None:
    """Nothing has to be scrolled sideways, neither the page nor a table of it, opened parts included."""
    page.evaluate("document.querySelectorAll('section details').forEach((part) => { part.open = true })")
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    assert page.locator("table").count() > 0
    wide = page.locator("table").evaluate_all(
        """(tables) => tables.filter((table) => table.parentElement.scrollWidth > table.parentElement.clientWidth)
            .map((table) => table.rows[0].innerText)"""
    )
    assert wide == []


def test_tables_fit_1280_pixels(run_folder: Path, watch: Watch) -> None:
    watched = watch((run_folder / "report.html").as_uri(), width=1280)
    all_charts_are_drawn(watched.page)
    everything_fits(watched.page)


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_tables_of_committed_results_fit_1280_pixels(path: Path, watch: Watch, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    assert main(["report", str(path), "--out", str(out)]) == 0
    watched = watch(out.as_uri(), width=1280)
    all_charts_are_drawn(watched.page)
    everything_fits(watched.page)
    assert watched.page.title() == f"{watched.page.inner_text('h1')} · mggcn"
    watched.check()


def test_the_page_of_a_run_starts_with_what_matters(run_folder: Path, watch: Watch) -> None:
    page = watch((run_folder / "report.html").as_uri(), width=1280).page
    all_charts_are_drawn(page)
    assert page.title() == "mg-gcn on towns, seed 0 · mggcn"
    assert "95 % confidence interval" in page.inner_text(".facts")
    assert "Wilson interval for" in page.inner_text(".facts")
    loss, accuracy = (page.locator(name).bounding_box() for name in ("#loss0", "#by_epoch0"))
    assert loss["y"] == accuracy["y"], "side by side"
    assert loss["y"] + loss["height"] < 900, "on the first screen"
    assert page.locator("#loss0 path[aria-roledescription='line mark']").count() == 2


@pytest.mark.parametrize("width", [1280, 390])
def test_the_cells_of_the_confusion_matrix_are_light_squares(run_folder: Path, watch: Watch, width: int) -> None:
    page = watch((run_folder / "report.html").as_uri(), width=width, scheme="dark").page
    all_charts_are_drawn(page)
    cells = page.locator("#confusion0 .mark-rect.role-mark path")
    assert cells.count() == 16
    for cell in cells.all():
        box = cell.bounding_box()
        assert box["width"] == pytest.approx(box["height"], abs=1)
        red, green, blue = map(int, re.findall(r"\d+", cell.evaluate("(cell) => getComputedStyle(cell).fill")))
        assert 0.2126 * red + 0.7152 * green + 0.0722 * blue > 130
    assert page.locator("#confusion0").evaluate("(chart) => chart.scrollWidth <= chart.parentElement.clientWidth")


def test_the_page_of_a_run(run_folder: Path, watch: Watch) -> None:
    watched = watch((run_folder / "report.html").as_uri())
    page = watched.page
    all_charts_are_drawn(page)
    figures = page.locator("figure svg")
    assert figures.count() >= 4
    assert figures.first.bounding_box()["height"] > 80
    assert (
        page.locator("figcaption", has_text="true class").count()
        + page.locator("figcaption", has_text="correct").count()
    )
    names = page.locator("table:has(th:has-text('recall'))").first.locator("tbody td:first-child")
    assert names.all_inner_texts() == ["north", "east", "south", "west"]
    page.locator("th", has_text="class").first.click()
    assert names.all_inner_texts() == ["east", "north", "south", "west"]
    page.locator("th", has_text="class").first.click()
    assert names.all_inner_texts() == ["west", "south", "north", "east"]
    watched.check()


def test_the_page_of_a_run_on_a_phone_in_the_dark(run_folder: Path, watch: Watch) -> None:
    watched = watch((run_folder / "report.html").as_uri(), width=390, scheme="dark")
    all_charts_are_drawn(watched.page)
    assert watched.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert watched.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 23, 26)"
    watched.check()


def test_titles_fit_a_window_that_was_made_narrow(run_folder: Path, watch: Watch) -> None:
    watched = watch((run_folder / "report.html").as_uri(), width=1280)
    page = watched.page
    all_charts_are_drawn(page)
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_function(
        """[...document.querySelectorAll('.chart svg.marks')].every((chart) =>
            chart.getBoundingClientRect().right <= innerWidth &&
            [...chart.querySelectorAll('.role-title-text text')].every((title) =>
                title.getBoundingClientRect().right <= chart.getBoundingClientRect().right))"""
    )
    all_charts_are_drawn(page)
    watched.check()


def test_the_report_of_two_methods(
    run_folder: Path, watch: Watch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = str(run_folder.parent.parent / "towns")
    quick = ["--method", "mlp", "--epochs", "10", "--out", str(tmp_path), "--no-report", "--quiet"]
    assert main(["train", data, *quick]) == 0
    assert main(["report", str(run_folder), str(tmp_path), "--out", str(tmp_path / "report.html")]) == 0
    watched = watch((tmp_path / "report.html").as_uri())
    all_charts_are_drawn(watched.page)
    methods = watched.page.locator("table").first.locator("tbody td:first-child")
    assert sorted(methods.all_inner_texts()) == ["mg-gcn", "mlp"]
    watched.page.locator("table").first.locator("th").first.click()
    assert methods.all_inner_texts() == ["mg-gcn", "mlp"]
    watched.check()
