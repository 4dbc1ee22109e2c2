"""The page of a run and the report of several, in a real browser."""

from pathlib import Path

import pytest
from playwright.sync_api import Page

from mggcn.cli import main
from tests.browser.conftest import Watch


def all_charts_are_drawn(page: Page) -> None:
    page.wait_for_function(
        "[...document.querySelectorAll('.chart')].every((chart) => chart.querySelector('svg.marks path'))"
    )
    assert page.locator(".chart").count() > 0
    assert "could not be drawn" not in page.inner_text("body")


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
    names = page.locator("table:has(th:has-text('precision')) tbody td:first-child")
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
