"""The chart of accuracy against time in the documentation."""

import re
from itertools import combinations

import pytest
from generate import against_time, committed
from generate.labels import box_of, overlap, placed

from mggcn.experiments._sections import group
from mggcn.methods import METHODS
from tests.records import record


def test_the_first_page_shows_every_compared_method_by_name() -> None:
    text = against_time.first_page()
    [section] = [
        one
        for path in committed.packed()
        if committed.about(path) == "compare"
        for one in committed.sections(path)
        if one.dataset == "pubmed"
    ]
    compared = {row.method for row in section.measured}
    assert {"mg-gcn", "gcn", "sign"} <= compared <= set(METHODS)
    hints = re.findall(r"<title>(.*?)</title>", text)
    assert sorted(hint.partition(":")[0] for hint in hints) == sorted(compared)
    names = re.findall(r"<text[^>]*>([^<]*)</text>", text)
    assert compared <= set(names)
    assert f"{len(compared)} methods on Pubmed" in text
    ours = next(row for row in section.measured if row.method == "mg-gcn").figures
    assert any(hint.startswith(f"mg-gcn: {ours.accuracy * 100:.2f} ± ") for hint in hints)


def test_without_records_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(against_time, "packed", list)
    assert against_time.first_page() == "The methods have not been compared yet."


def test_any_records_can_be_drawn() -> None:
    (one,) = group([record("a<b")])
    assert "a&lt;b: 86.00 %, 2.5 s" in against_time.figure(one)
    (several,) = group([record(), record("mlp", seconds_to_best=0.0), record("mg-gcn", test_accuracy=0.9)])
    picture = against_time.figure(several)
    assert picture.count("<title>") == 3
    assert "NaN" not in picture


def test_labels_stay_apart_and_inside() -> None:
    size = (660.0, 480.0)
    points = [(300.0 + 14 * number, 200.0 + 9 * (number % 3), f"method-{number}") for number in range(9)]
    points.append((658.0, 3.0, "in the corner"))
    line = (0.0, 240.0, 660.0, 242.0)
    boxes = [box_of(label, text) for label, (_, _, text) in zip(placed(points, [line], size), points, strict=True)]
    assert sum(overlap(one, other) > 0 for one, other in combinations(boxes, 2)) == 0
    assert all(overlap(box, line) == 0 for box in boxes)
    assert all(left >= 0 and top >= 0 and right <= size[0] and bottom <= size[1] for left, top, right, bottom in boxes)
