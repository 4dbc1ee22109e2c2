"""The part of a report on rankings."""

import json
from dataclasses import asdict
from typing import Any

import pytest

from mggcn.experiments import _classes as ranking
from mggcn.experiments._page import render
from mggcn.experiments._records import pack, unpack
from mggcn.experiments._sections import group
from mggcn.training._record import Alerts, Ranking, RunRecord
from tests.records import record


def ranked(seed: int = 0, method: str = "gcn", **changes: Any) -> RunRecord:
    fields = {
        "pr_auc": [0.5 + seed / 10, None],
        "roc_auc": [0.75, 1.0],
        "ks": [1, 2, 5, 10],
        "precision_at": [[1.0, 0.5, 0.4, 0.3], [0.0, 0.0, 0.2, 0.1]],
        "alerts": [Alerts(0.95, [0.875, None], [3, 0], [4, 0], [3 - seed, 0])],
    }
    return record(method, seed, ranking=Ranking(**(fields | changes)))


def test_a_line_for_each_class() -> None:
    (section,) = group([ranked(), ranked(1)])
    table = ranking.ranking_table(section.rows)
    assert table.headings[:5] == ["class", "test nodes", "PR-AUC, %", "ROC-AUC, %", "P@10, %"]
    assert table.texts == [
        ["class 0", "4", "55.0", "75.0", "30.0", "0.8750", "4", "62.5", "62.5"],
        ["class 1", "4", "–", "100.0", "10.0", "–", "0", "–", "0.0"],
    ]
    assert section.rows[0].figures.pr_auc == pytest.approx(0.55)
    assert section.rows[0].figures.roc_auc == pytest.approx(0.875)


def test_methods_have_lines_of_their_own_and_older_records_none() -> None:
    (section,) = group([ranked(), ranked(method="mlp"), record("sgc")])
    table = ranking.ranking_table(section.rows)
    assert sorted({row[0] for row in table.texts}) == ["gcn", "mlp"]
    assert {row.label: row.figures.pr_auc is None for row in section.rows} == {"gcn": False, "mlp": False, "sgc": True}
    assert ranking.ranking_table(group([record("sgc")])[0].rows).texts == []


def test_a_page_has_the_ranking_and_its_curve() -> None:
    pytest.importorskip("altair")
    vl_convert = pytest.importorskip("vl_convert")
    sections = group([ranked(), ranked(1)])
    page = render(sections, "html")
    assert "<h3>Ranking</h3>" in page
    assert "PR-AUC" in render(sections, "md")
    assert "<h3>Ranking</h3>" not in render(group([record()]), "html")
    spec = ranking.ranking_chart("x", sections[0].rows[0])
    assert spec is not None
    (values,) = spec["datasets"].values()
    assert [(one["k"], one["precision"]) for one in values[:2]] == [(1, 100.0), (2, 50.0)]
    svg = vl_convert.vegalite_to_svg({**spec, "width": 300})
    assert "class 0" in svg


def test_rankings_are_packed_and_read_again() -> None:
    one = ranked(pr_auc=[1 / 3, None])
    _, (read,) = unpack(json.loads(pack(group([one]))), {})
    assert read.ranking is not None
    assert read.ranking.pr_auc == [0.333333, None]
    assert read.ranking.alerts == one.ranking.alerts


def test_rankings_of_other_classes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"field ranking\.roc_auc has 1 entries for 2 classes"):
        RunRecord.of(asdict(ranked(roc_auc=[0.5])))
    with pytest.raises(ValueError, match=r"ranking\.precision_at has other lengths"):
        RunRecord.of(asdict(ranked(ks=[1])))
    assert RunRecord.of(asdict(ranked())).ranking == ranked().ranking
