"""Drawings of picks."""

import re
from xml.etree import ElementTree

from mggcn.explore import _drawing as drawing
from mggcn.explore._drawing import Picks

PICKS = Picks(("v", "a", "b", "c"), (0, 1, 0), (4, 30, 2, 7), (0, 1, None, 9))
SVG = "{http://www.w3.org/2000/svg}"


def test_steps_follow_the_edges_walked() -> None:
    assert PICKS.hops == (0, 1, 2, 1)
    assert PICKS.edges == [(0, 1), (1, 2), (0, 3)]


def test_a_drawing_shows_order_names_edges_and_classes() -> None:
    text = drawing.svg(PICKS, ["red", "green"])
    root = ElementTree.fromstring(text)  # noqa: S314
    assert root.find(f"{SVG}title").text == root.get("aria-label") == "Picks of v"  # type: ignore[union-attr]
    words = [each.text for each in root.iter(f"{SVG}text")]
    assert [word for word in words if word in ("v", "1", "2", "3")] == ["v", "1", "2", "3"]
    assert {"a", "b", "c"} <= set(words)
    assert len(list(root.iter(f"{SVG}polygon"))) == 3
    told = [each.text for each in root.iter(f"{SVG}title")]
    assert "b: pick 2, 2 steps from the target, degree 2, no label" in told
    assert len({drawing.colour(label) for label in (0, 1, None)}) == 3
    assert "stroke-dasharray" in re.search(r"<circle[^>]*/><text[^>]*>3<", text)[0]  # type: ignore[index]


def test_a_drawing_is_the_same_every_time_and_stands_alone() -> None:
    text = drawing.svg(PICKS)
    assert text == drawing.svg(PICKS)
    assert re.findall(r"https?://[^\"]+", text) == ["http://www.w3.org/2000/svg"]
    assert "id=" not in text
    assert len(text) < 6_000


def test_a_node_with_more_edges_is_larger() -> None:
    text = drawing.svg(Picks(("v", "leaf", "hub"), (0, 0), (3, 1, 5_000)))
    radius = {
        name: float(re.search(rf"<title>{name}:.*?</title><circle[^>]* r=\"([\d.]+)\"", text)[1])  # type: ignore[index]
        for name in ("leaf", "hub")
    }
    assert radius["hub"] > 1.5 * radius["leaf"]


def test_names_cannot_break_the_drawing() -> None:
    text = drawing.svg(Picks(("<script>", 'a"&b'), (0,), (1, 1), (0, 0)), ["<b>"])
    ElementTree.fromstring(text)  # noqa: S314
    assert "<script" not in text
    assert "<b>" not in text


def test_a_target_without_picks_is_drawn_alone() -> None:
    root = ElementTree.fromstring(drawing.svg(Picks(("alone",), (), (0,))))  # noqa: S314
    assert not list(root.iter(f"{SVG}polygon"))


def test_several_drawings_share_a_legend() -> None:
    root = ElementTree.fromstring(drawing.legend([PICKS, Picks(("w",), (), (99,), (1,))], ["red", "green"]))  # noqa: S314
    words = [each.text for each in root.iter(f"{SVG}text")]
    assert "size: degree, 2 to 99" in words
    assert words[-4:] == ["red", "green", "class 9", "no label"]
    assert "order of picking" in words[0]
    assert "order of picking" not in drawing.svg(PICKS)
