"""``mggcn explore`` in a real browser."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import mggcn
from mggcn.data._dataset import Dataset
from mggcn.data._features import Measure
from mggcn.explore._explorer import Explorer
from tests.browser.conftest import Watch
from tests.serving import served

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address(run_folder: Path, citations: Dataset) -> Iterator[str]:
    with served(Explorer(mggcn.load_run(run_folder), citations)) as url:
        yield url


def look_up(page: Page, name: str) -> None:
    page.get_by_label("Node id or address").fill(name)
    page.get_by_role("button", name="Look up").click()


def wait_for_charts(page: Page) -> None:
    for container in ("probabilities", "graph", "effects"):
        page.wait_for_selector(f"#{container} svg.marks path", state="attached")


def test_the_search_box_suggests_and_finds(address: str, citations: Dataset, watch: Watch) -> None:
    watched = watch(address)
    page, wanted = watched.page, str(citations.ids_of([37])[0])
    wait_for_charts(page)
    page.get_by_label("Node id or address").fill("0x002")
    page.wait_for_selector("#suggestions option", state="attached")
    suggested = page.locator("#suggestions option").evaluate_all("(options) => options.map((option) => option.value)")
    assert wanted in suggested
    look_up(page, wanted.lower())
    expect(page.locator("#name")).to_have_text(wanted)
    expect(page.locator("#facts")).to_contain_text("east")
    watched.check()


def test_picks_are_drawn_as_a_graph_and_listed(address: str, citations: Dataset, watch: Watch) -> None:
    watched = watch(f"{address}/#{citations.ids_of([12])[0]}")
    page = watched.page
    wait_for_charts(page)
    nodes, lines = page.locator("#graph .mark-symbol path"), page.locator("#graph .mark-path path")
    expect(page.locator("#picks tbody tr")).not_to_have_count(0)
    count = page.locator("#picks tbody tr").count()
    assert count >= 5
    expect(nodes).to_have_count(1 + count)
    assert lines.count() >= count
    shares = page.locator("#picks tbody td:nth-child(3)")
    values = [float(text) for text in shares.all_inner_texts()]
    assert values == sorted(values, reverse=True)
    page.locator("#picks th", has_text="picked in").click()
    assert [float(text) for text in shares.all_inner_texts()] == sorted(values)
    watched.check()


@pytest.mark.parametrize("width", [1280, 390])
def test_the_graph_and_its_title_stay_in_their_container(address: str, watch: Watch, width: int) -> None:
    watched = watch(address, width=width)
    page = watched.page
    wait_for_charts(page)
    page.wait_for_load_state("networkidle")
    frame = page.locator("#graph svg.marks").bounding_box()
    assert frame is not None
    for mark in page.locator("#graph .role-title-text text, #graph .mark-symbol path").all():
        box = mark.bounding_box()
        assert box is not None
        assert frame["x"] <= box["x"] <= frame["x"] + frame["width"] - box["width"]
        assert frame["y"] <= box["y"] <= frame["y"] + frame["height"] - box["height"]
    watched.check()


def test_a_node_of_the_graph_can_be_dragged(address: str, watch: Watch) -> None:
    watched = watch(address)
    page = watched.page
    wait_for_charts(page)
    target = page.locator("#graph .mark-symbol path").first
    target.scroll_into_view_if_needed()
    before = target.bounding_box()
    assert before is not None
    x, y = before["x"] + before["width"] / 2, before["y"] + before["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y + 40, steps=4)
    page.mouse.up()
    page.wait_for_timeout(300)
    after = target.bounding_box()
    assert after is not None
    assert abs(after["x"] - before["x"] - 60) < 30
    watched.check()


def test_leaving_one_out_in_one_draw_and_in_many(address: str, watch: Watch) -> None:
    watched = watch(address)
    page = watched.page
    wait_for_charts(page)
    expect(page.locator("#influence-note")).to_contain_text("In the draw of the evaluation")
    expect(page.locator("#influence tbody tr")).to_have_count(5)
    page.get_by_label("Leave one out in").select_option("32")
    expect(page.locator("#influence-note")).to_contain_text("On average over 32 draws")
    assert page.locator("#influence tbody tr").count() > 5
    watched.check()


def test_contributions_of_features_are_listed(address: str, citations: Dataset, watch: Watch) -> None:
    watched = watch(f"{address}/#{citations.ids_of([12])[0]}")
    page = watched.page
    wait_for_charts(page)
    expect(page.locator("#attributions-note")).to_contain_text("points by this node's own features")
    expect(page.locator("#attributions tbody tr")).to_have_count(min(20, citations.num_features))
    watched.check()


def test_picks_whose_ids_shorten_alike_have_a_bar_each(run_folder: Path, citations: Dataset, watch: Watch) -> None:
    names = [f"0xtowns-{number:04}-harbour" for number in range(citations.num_nodes)]
    alike = replace(citations, node_ids=np.array(names))
    with served(Explorer(mggcn.load_run(run_folder), alike)) as url:
        watched = watch(f"{url}/#{names[12]}")
        page = watched.page
        wait_for_charts(page)
        assert page.locator("#effects .role-axis-label text").all_text_contents().count("0xtowns-…bour") == 5
        bars = page.locator("#effects .mark-rect path")
        assert len({round(bar.bounding_box()["y"]) for bar in bars.all()}) == 5
        assert set(page.locator("#probabilities .role-axis-label text").all_text_contents()) >= set(citations.classes)
        bars.first.hover()
        expect(page.locator("#vg-tooltip-element")).to_contain_text(
            page.locator("#influence a").first.get_attribute("title")
        )
        watched.check()


def test_a_neighbour_is_a_click_away_and_nobody_is_an_error(address: str, watch: Watch) -> None:
    watched = watch(address)
    page = watched.page
    wait_for_charts(page)
    link = page.locator("#neighbours a").first
    name = link.inner_text()
    link.click()
    expect(page.locator("#name")).to_have_text(name)
    wait_for_charts(page)
    watched.check()
    look_up(page, "nobody")
    expect(page.get_by_role("alert")).to_have_text("towns: no node has the id 'nobody'")
    expect(page.locator("#node")).to_be_hidden()


def test_an_address_that_cannot_be_decoded_is_an_id_that_nobody_has(address: str, watch: Watch) -> None:
    watched = watch(f"{address}/#%")
    expect(watched.page.get_by_role("alert")).to_have_text("towns: no node has the id '%'")
    assert [text for text in watched.errors if "400" not in text] == []


def test_on_a_phone_in_the_dark(address: str, watch: Watch) -> None:
    watched = watch(address, width=390, scheme="dark")
    wait_for_charts(watched.page)
    assert watched.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert watched.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 23, 26)"
    watched.check()


def test_a_phone_that_is_rotated(address: str, watch: Watch) -> None:
    watched = watch(address, width=844)
    page, graph = watched.page, watched.page.locator("#graph svg.marks")
    wait_for_charts(page)
    page.wait_for_load_state("networkidle")
    expect(graph).to_have_attribute("width", "804")
    count = len(watched.requested)
    page.get_by_label("Node id or address").fill("0x00")
    page.set_viewport_size({"width": 390, "height": 844})
    expect(graph).to_have_attribute("width", "350")
    wait_for_charts(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.set_viewport_size({"width": 844, "height": 390})
    expect(graph).to_have_attribute("width", "804")
    expect(page.get_by_label("Node id or address")).to_have_value("0x00")
    assert [url for url in watched.requested[count:] if "/api/search" not in url] == []
    watched.check()


def test_a_page_that_only_grows_higher_is_not_drawn_again(address: str, watch: Watch) -> None:
    watched = watch(address, width=390)
    page = watched.page
    wait_for_charts(page)
    page.wait_for_load_state("networkidle")
    page.evaluate("document.querySelector('#graph svg.marks').classList.add('first')")
    page.set_viewport_size({"width": 390, "height": 700})
    page.wait_for_timeout(500)
    assert page.locator("#graph svg.first").count() == 1
    watched.check()


def test_a_method_without_picks(citations: Dataset, watch: Watch) -> None:
    run = mggcn.fit(citations, "mlp", device="cpu", settings={"epochs": 5})
    with served(Explorer(run, citations)) as url:
        watched = watch(url)
        expect(watched.page.locator("#without-picks")).to_contain_text("mlp scores a node without picks")
        watched.page.wait_for_selector("#probabilities svg.marks path", state="attached")
        expect(watched.page.locator("#graph")).to_be_hidden()
        expect(watched.page.locator("#neighbours tbody tr")).not_to_have_count(0)
        watched.check()


def test_payments_units_and_logits_fit_a_width_of_1280(run_folder: Path, citations: Dataset, watch: Watch) -> None:
    graph = citations.graph
    count = graph.num_stored
    attributes = {
        "count": np.where(np.arange(count) % 3, 12, 0),
        "value": np.linspace(0, 1234567.891, count),
        "first": np.full(count, 1_500_000_000),
        "last": np.full(count, 1_560_000_000),
    }
    measures = {"north": Measure("{} ether", "ether", is_log=True)}
    ids = np.array([f"0x{number:040x}" for number in range(citations.num_nodes)])
    names = ("north", "east", "south", "west")
    data = replace(
        citations, node_ids=ids, edge_attributes=attributes, measures=measures, feature_names=names, checked=True
    )
    run = mggcn.load_run(run_folder)
    steep = replace(run, record=replace(run.record, temperature=run.record.temperature / 300))
    with served(Explorer(steep, data)) as url:
        watched = watch(f"{url}/#{ids[12]}", width=1280)
        page = watched.page
        wait_for_charts(page)
        expect(page.locator("#neighbours tbody tr")).not_to_have_count(0)
        expect(page.locator("#neighbours thead")).to_contain_text("received from it, ether")
        expect(page.locator("#neighbours tbody")).to_contain_text("2017-07-14 to 2019-06-08")
        expect(page.locator("#neighbours tbody a").first).to_have_text(re.compile("^0x000000…[0-9a-f]{4}$"))
        expect(page.locator("#features tbody")).to_contain_text("ether")
        expect(page.locator("#attributions thead")).to_contain_text("of this node, logits")
        expect(page.locator("#influence thead")).to_contain_text("change, logits")
        page.wait_for_load_state("networkidle")
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280
        for part in page.locator(".scroll").all():
            assert part.evaluate("(part) => part.scrollWidth - part.clientWidth") <= 0, part.get_attribute("id")
        watched.check()
