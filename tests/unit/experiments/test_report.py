"""``mggcn report``: what the documents hold, and what is refused."""

import json
import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import mggcn
from mggcn.cli import main
from mggcn.data import save
from mggcn.data._dataset import Dataset
from mggcn.experiments import _sections as rows
from mggcn.experiments._page import Format, render
from mggcn.experiments._report_tables import commands, remarks
from mggcn.experiments._sections import Section, group
from mggcn.methods.published import published
from mggcn.runs import resolve
from mggcn.training._record import Epoch, RunRecord
from tests.records import RECORDS, ledger, record

FETCHED = re.compile(
    r"""(?:src|href|action|data)\s*=\s*["'`]?\s*(?:https?:)?//|url\(\s*["']?\s*(?:https?:)?//|@import"""
    r"""|\bimport\s*\(?\s*["'`]|\bfrom\s*["'`]https?:""",
    re.IGNORECASE,
)


def rendered(records: list[RunRecord], form: Format, published: float | None = None) -> str:
    """A document; ``published`` is the accuracy of the paper's GCN, whatever its data and settings."""
    with pytest.MonkeyPatch.context() as patch:
        if published is not None:
            results = {"gcn": {"accuracy": published}}
            patch.setattr(rows, "published_results", lambda _, method, __: results.get(method, {}))
        return render(group(records), form)


def section_of(*records: RunRecord) -> Section:
    (section,) = group(records)
    return section


@pytest.fixture(scope="module")
def page() -> str:
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    return rendered(RECORDS, "html", 0.868)


def embedded(page: str) -> dict[str, Any]:
    found = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


def values_of(held: dict[str, Any], chart: str) -> list[dict[str, Any]]:
    return held["data"][held["charts"][chart]["data"]["name"]]


def test_the_page_is_small_and_fetches_nothing(page: str) -> None:
    assert len(page.encode()) < 2_000_000
    assert [page[hit.start() : hit.end() + 40] for hit in FETCHED.finditer(page)] == []
    assert "default-src 'none'" in page
    assert "$schema" not in json.dumps(embedded(page))


def test_the_page_has_every_method_and_what_is_behind_it(page: str) -> None:
    for method in ("gcn", "mlp", "label-propagation", "sgc"):
        assert f'data-key="{method}">{method}</td>' in page
        assert f"--method {method} --device cpu" in page
    assert "86.50 ± 0.71" in page
    assert ">-0.30</td>" in page
    assert "commit abc&lt;d&gt;" in page
    assert "<pubmed>" not in page.split("<script", 1)[0]
    assert "viewport" in page
    assert "prefers-color-scheme: dark" in page
    assert "overflow-x" in page


def test_the_charts_have_titles_units_and_data(page: str) -> None:
    held = embedded(page)
    of_one = ("loss", "by_epoch", "confusion")
    of_several = ("budgets", "by_epoch", "confusion", "accuracy", "time", "memory")
    assert set(held["charts"]) == {f"{kind}0" for kind in of_several} | {f"{kind}1" for kind in of_one}
    assert len(held["data"]) == 6, "charts of the same values share them"
    for name, chart in held["charts"].items():
        assert f'id="{name}"' in page
        assert chart["title"].startswith(("cora: ", "<pubmed>: ", "Training"))
        assert re.search(r'"title": "[^"]*(, s|, %|, MiB|loss|share of the true class)"', json.dumps(chart))
    axis = held["charts"]["by_epoch0"]["encoding"]["x"]["axis"]
    assert (axis["tickMinStep"], axis["format"]) == (1, "d"), "there are no half epochs"
    rows = {one["method"]: one for one in values_of(held, "time0")}
    assert rows["gcn"]["accuracy"] == 86.5
    assert {name for name, one in rows.items() if one["front"]} == {"label-propagation", "gcn"}
    curve = [one for one in values_of(held, "by_epoch0") if one["method"] == "gcn"]
    assert [(one["epoch"], one["seconds"], one["accuracy"]) for one in curve] == [
        (1, 1.75, 60.0),
        (2, 2.5, 70.0),
        (3, 3.25, 80.0),
    ]


def test_the_charts_can_be_drawn(page: str) -> None:
    vl_convert = pytest.importorskip("vl_convert")
    held = embedded(page)
    for name in ("accuracy0", "time0", "budgets0", "by_epoch0"):
        chart = held["charts"][name]
        source = chart["data"]["name"]
        spec = chart | {"width": 300, "datasets": {source: held["data"][source]}}
        drawn = vl_convert.vegalite_to_svg(spec, vl_version=vl_convert.get_vegalite_versions()[-1])
        assert ">gcn<" in drawn
        assert "NaN" not in drawn


@pytest.mark.parametrize("epochs", [0, 1])
def test_records_without_a_curve_say_so(monkeypatch: pytest.MonkeyPatch, epochs: int) -> None:
    pytest.importorskip("altair")
    monkeypatch.setattr("mggcn.experiments._page.vega", lambda: "")
    text = rendered([replace(RECORDS[0], curve=RECORDS[0].curve[:epochs])], "html")
    assert "The records hold no curve" in text
    assert "loss0" not in text


def test_long_curves_are_thinned(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("altair")
    monkeypatch.setattr("mggcn.experiments._page.vega", lambda: "")
    long = [Epoch(n, 1.0, 1.0, 0.5, 0.25, 0.5) for n in range(1, 5001)]
    numbers = [one["epoch"] for one in values_of(embedded(rendered([record(curve=long)], "html")), "loss0")]
    assert (len(set(numbers)), numbers[0], numbers[-1]) == (150, 1, 5000)


def test_two_thousand_runs_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("altair")
    monkeypatch.setattr("mggcn.experiments._page.vega", lambda: " " * 900_000)
    long = [Epoch(n, 1.0, 1.0, 0.5 + n / 12345, 0.0123456, 0.05) for n in range(1, 301)]
    settings = {f"setting{n}": 0.001 for n in range(18)}
    records = [
        record(f"method-{n}", seed, dataset={"name": f"data{place}"}, curve=long, settings=settings)
        for place in range(8)
        for n in range(25)
        for seed in range(10)
    ]
    assert len(records) == 2_000
    page = rendered(records, "html")
    assert len(page.encode()) < 2_000_000
    assert len(values_of(embedded(page), "by_epoch0")) >= 25 * 2


def test_markdown() -> None:
    text = rendered(RECORDS, "md", 0.868)
    assert (
        "## cora\n\n2,708 nodes, split 1,208/500/1,000\n\n| method | paper, % | difference, points | accuracy, % |"
        in text
    )
    row = "| gcn | 86.8 | -0.30 | 86.50 ± 0.71 | 70.00 ± 0.00 | 250 ms | 1.75 s | 2.5 s | 3 | 100 MiB | 18 | 2 |"
    assert row in text.splitlines()
    command = "mggcn train cora --method gcn --device cpu --seed 0 --seeds 2 --preset paper --set lr=0.01 bias=true"
    assert f"| cora | gcn | 1 | {command} |" in text.splitlines()
    assert text.endswith("1. python 3.11, torch 2.6, commit abc&lt;d>\n")


def test_runs_that_did_not_converge_are_named_in_one_line() -> None:
    short = {"epochs": 3, "best_epoch": 3}
    records = [record(), record(seed=1, **short), record(seed=2, **short), record("mlp", **short), *RECORDS[3:4]]
    remark = "not converged, the best epoch is the last one: gcn (seed 1, 2), mlp"
    assert f"\n- {remark}\n" in rendered(records, "md")
    assert remarks(section_of(*records)) == [remark]
    assert remarks(section_of(*records[1:])) == ["not converged, the best epoch is the last one: all runs"]
    assert remarks(section_of(*RECORDS[:4])) == []


def test_signs_of_the_language_are_escaped() -> None:
    odd = record("a|b\\c\nd", dataset={"name": "<x> & y", "source": "of <b>"}, environment={"cpu": "<i> & |"})
    text = rendered([odd], "md")
    assert "## &lt;x> &amp; y\n\nof &lt;b>\n" in text
    assert "\n| a\\|b\\\\c d | 86.00 |" in text
    assert text.endswith("1. cpu &lt;i> &amp; \\|\n")


def test_labels_name_settings_and_devices_that_differ() -> None:
    records = [record(), record(settings={"lr": 0.5, "bias": True}), record(device="cuda"), record("mlp")]
    assert {row.label for row in section_of(*records).rows} == {
        "gcn (cpu, lr=0.01)",
        "gcn (cpu, lr=0.5)",
        "gcn (cuda)",
        "mlp (cpu)",
    }


def test_what_most_rows_of_a_method_share_is_not_in_a_label() -> None:
    usual = {"fine": True, "skip": True, "picks": 6}
    changed = [usual, {**usual, "fine": False}, {**usual, "skip": False}, {**usual, "picks": 3}]
    section = section_of(*(record("mg-gcn", settings=one) for one in changed))
    assert {row.label for row in section.rows} == {
        "mg-gcn",
        "mg-gcn (fine=false)",
        "mg-gcn (skip=false)",
        "mg-gcn (picks=3)",
    }


def test_a_label_is_never_there_twice() -> None:
    changed = [{"a": 1, "b": 1}, {"a": 1, "b": 1, "c": 1}, {"a": 1, "b": 1, "d": 1}]
    section = section_of(*(record(settings=one) for one in changed))
    assert len({row.label for row in section.rows}) == 3


def test_versions_of_a_method_are_rows_of_their_own() -> None:
    section = section_of(record(), record(method_version=2), record(seed=1, method_version=2))
    assert {row.label: row.done for row in section.rows} == {"gcn (version 1)": 1, "gcn (version 2)": 2}


def test_a_run_given_twice_counts_once_and_seeds_may_have_gaps() -> None:
    section = section_of(record(), record(), record(seed=1), record(seed=5))
    [row] = section.rows
    assert row.done == 3
    assert [re.search(r"--seed .*? --preset", one)[0] for one in commands(section, row)] == [
        "--seed 0 --seeds 2 --preset",
        "--seed 5 --seeds 1 --preset",
    ]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = ledger(tmp_path / "records.jsonl"), tmp_path / "deep" / "report.md"
    assert main(["report", str(path), "--out", str(out), "--format", "md"]) == 0
    assert capsys.readouterr().out.startswith(f"5 runs in {out}, ")
    assert "| mlp |" in out.read_text()


def test_the_paper_is_shown_for_the_same_data_and_settings_only(tmp_path: Path) -> None:
    defaults = resolve("gcn", "cora", preset="paper").settings
    data = {"name": "cora", "digest": published().data["cora"]}
    random_split = {"name": "cora", "digest": "0" * 64, "source": "LINQS cora; random split"}
    records = [
        record(settings=defaults, dataset=data),
        record(settings={**defaults, "threads": 3}, seed=1, dataset=data),
        record(settings={**defaults, "lr": 0.5}, dataset=data),
        record("mlp", dataset=data),
        record("sgc", settings=resolve("sgc", "cora").settings, dataset=random_split),
    ]
    out = tmp_path / "report.md"
    assert main(["report", str(ledger(tmp_path / "records.jsonl", records)), "--out", str(out), "--format", "md"]) == 0
    text = out.read_text()
    rows = [row.strip("| ").split(" | ") for row in text.splitlines() if "100 MiB" in row]
    paper = {row[0]: row[1] for row in rows if len(row) == 12}
    assert paper == {
        "gcn": "86.8",
        "gcn (threads=3)": "86.8",
        "gcn (lr=0.5)": "–",
        "mlp": "–",
    }
    assert [row[0] for row in rows if len(row) == 10] == ["sgc"], "no column for the paper where data differ"


def test_without_altair_it_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    out = tmp_path / "report.html"
    assert main(["report", str(ledger(tmp_path / "records.jsonl")), "--out", str(out)]) == 2
    assert capsys.readouterr().err == "mggcn: error: report needs altair: pip install 'mggcn[report]'\n"
    assert not out.exists()
    assert main(["report", str(tmp_path / "records.jsonl"), "--out", str(out), "--format", "md"]) == 0


def test_commands_train_older_records_again(small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record names the settings that its version had; the others must not come from our recipe."""
    monkeypatch.chdir(tmp_path)
    data = save(small, tmp_path / "data")
    run = mggcn.fit(data, settings={"epochs": 2}, preset="paper", device="cpu")
    newer = ("hops", "fine_norm", "input_dropout", "label_smoothing", "consistency", "averaging", "draws")
    older = {name: value for name, value in run.record.settings.items() if name not in newer}
    section = section_of(replace(run.record, settings=older))
    (line,) = commands(section, section.rows[0])
    assert main([*shlex.split(line)[1:], "--quiet", "--no-report"]) == 0
    again = mggcn.load_run("runs/small-mg-gcn-seed0")
    assert again.record.settings == run.record.settings
    for name, weight in run.model.state_dict().items():
        assert torch.equal(weight, again.model.state_dict()[name])
