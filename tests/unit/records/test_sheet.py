"""What an experiment says of its runs, in reports."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mggcn.errors import InputError
from mggcn.records.lines import sections
from mggcn.records.sheet import DataTable, Entry, Sheet, without_folders
from mggcn.report import Source, read, render
from tests.records import ledger, record

ENTRIES = (
    Entry(
        "worse, but first", "mlp", {"accuracy": 0.9, "epoch_seconds": 0.5, "total_seconds": 43.0}, "O(b d^L)", ("0",)
    ),
    Entry("better", "gcn", {}, "", ("1", "2"), ("seed 1: no room",)),
    Entry("nothing", "sgc", {"accuracy": 0.8}, "O(b d^L)", (), ("cora: it is not public; ask its owners",)),
)
SHEET = Sheet("tiny", "A title", "Table 1", "accuracy", 2, (DataTable("cora", ENTRIES),))
RECORDS = [record("mlp", test_accuracy=0.1), record("gcn"), record("other")]


def experiment(folder: Path, sheet: Sheet = SHEET) -> Path:
    ledger(folder / "records.jsonl", [RECORDS[0], RECORDS[1]])
    (folder / "experiment.json").write_text(sheet.to_json())
    return folder


def test_a_section_has_the_experiments_titles_labels_and_numbers(tmp_path: Path) -> None:
    text = render(read([experiment(tmp_path)]), "md")
    assert "## A title: cora\n\n2,708 nodes, split 1,208/500/1,000. Of the paper: Table 1\n" in text
    head, _, *rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")][:5]
    assert [row[0] for row in rows] == ["worse, but first", "better", "nothing"]
    columns = {name: values for name, *values in zip(head, *rows, strict=True)}
    assert columns["paper, %"] == ["90.0", "–", "80.0"]
    assert columns["difference, points"] == ["-80.00", "–", "–"]
    assert columns["accuracy, %"] == ["10.00", "86.00", "not run: it is not public"]
    assert columns["epoch (paper, s)"] == ["0.5", "–", "–"]
    assert columns["epoch"] == ["250 ms", "250 ms", "–"]
    assert columns["to 99 %"] == ["1.75 s", "1.75 s", "–"]
    assert columns["total (paper, s)"] == ["43", "–", "–"]
    assert columns["total"] == ["9 s", "9 s", "–"]
    assert columns["growth (paper)"] == ["O(b d^L)", "–", "O(b d^L)"]
    assert columns["seeds"] == ["1 of 2", "1 of 2", "0 of 2"]
    assert "- better, seed 1: no room\n- not run: it is not public; ask its owners\n" in text
    assert "on its own hardware" in text
    assert "SGC averages over neighbours once before training" in text
    assert "| tiny: cora | better | 1 | mggcn train cora --method gcn " in text
    assert r"& $O(b d^L)$ &" in render(read([tmp_path]), "latex")


def test_the_page_of_an_experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("altair")
    monkeypatch.setattr("mggcn.report.page.vega", lambda: "")
    page = render(read([experiment(tmp_path)]), "html")
    assert '<a href="#s0">tiny: cora</a>' in page
    assert '<td class="words" data-key="">not run: it is not public</td>' in page
    assert "O(b d<sup>L</sup>)" in page
    assert page.count('"method":"nothing"') == 0, "charts show what was run"


def test_an_experiment_none_of_which_could_be_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("altair")
    monkeypatch.setattr("mggcn.report.page.vega", lambda: "")
    (tmp_path / "experiment.json").write_text(replace(SHEET, tables=(DataTable("cora", ENTRIES[2:]),)).to_json())
    sources = read([tmp_path])
    assert "| nothing | 80.0 | not run: it is not public |" in render(sources, "md")
    assert "<h3>Accuracy</h3>" not in render(sources, "html")


def test_a_folder_of_experiments_and_other_runs(tmp_path: Path) -> None:
    experiment(tmp_path / "tiny")
    ledger(tmp_path / "compare" / "records.jsonl", RECORDS)
    found = sections(read([tmp_path, tmp_path / "tiny", tmp_path / "tiny" / "experiment.json"]), lambda _: None)
    assert [section.title for section in found] == ["A title: cora", "cora"]
    assert [line.label for line in found[1].lines] == ["gcn", "other", "mlp"]


def test_records_that_the_experiment_does_not_name_stand_apart() -> None:
    source = Source({"0": RECORDS[0], "stale": RECORDS[2]}, SHEET)
    found = sections([source], lambda _: None)
    assert [(one.title, len(one.run)) for one in found] == [("A title: cora", 1), ("cora", 1)]


def test_a_line_on_two_devices_is_two_lines() -> None:
    source = Source({"1": RECORDS[1], "2": replace(RECORDS[1], device="cuda")}, SHEET)
    (section,) = sections([source], lambda _: None)
    assert [line.label for line in section.lines] == ["worse, but first", "better (cpu)", "better (cuda)", "nothing"]


def test_a_sheet_is_read_as_it_was_written() -> None:
    assert Sheet.from_json(SHEET.to_json()) == SHEET


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "Expecting"),
        ("[]", "list indices"),
        (json.dumps({"tables": []}), "missing"),
        (SHEET.to_json().replace('"seeds": 2', '"seeds": "two"'), "field seeds is 'two'"),
        (SHEET.to_json().replace('"label": "better"', '"label": 7'), "field label is 7"),
        (SHEET.to_json().replace('"grows"', '"grow"'), "grow"),
        (SHEET.to_json().replace('"dataset": "cora"', '"dataset": 7'), "field dataset is 7"),
        (SHEET.to_json().replace('"accuracy": 0.8', '"accuracy": "x"'), "field paper is {'accuracy': 'x'}"),
        (SHEET.to_json().replace('"seed 1: no room"', "null"), "field reasons is .None"),
    ],
)
def test_a_sheet_that_is_something_else_is_refused_by_name(tmp_path: Path, content: str, told: str) -> None:
    (experiment(tmp_path) / "experiment.json").write_text(content)
    with pytest.raises(InputError, match=f"experiment.json: not what an experiment says of its runs .*{told}"):
        read([tmp_path])


def test_messages_keep_the_last_part_of_a_path() -> None:
    told = "no folder /home/me/data/cora; see https://example.org/a/b and docs/data.md, 1/2"
    assert without_folders(told) == "no folder …/cora; see https://example.org/a/b and docs/data.md, 1/2"
