"""What an experiment writes beside its ledger, in reports."""

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from mggcn._io.files import checksummed
from mggcn.errors import InputError, InputWarning
from mggcn.experiments import _sections as rows
from mggcn.experiments._page import render
from mggcn.experiments._records import pack
from mggcn.experiments._records import read_records as read
from mggcn.experiments._sections import ExperimentInfo, Row, Section
from tests import checksums
from tests.records import ledger, record

REFERENCE = {"accuracy": 0.9, "epoch_seconds": 0.5, "total_seconds": 43.0}
ROWS = (
    Row("worse, but first", "mlp", reference=REFERENCE, grows="O(b d^L)", specs=("0",)),
    Row("better", "gcn", specs=("1", "2"), reasons=("seed 1: no room",)),
    Row(
        "nothing",
        "sgc",
        reference={"accuracy": 0.8},
        grows="O(b d^L)",
        reasons=("cora: it is not public; ask its owners",),
    ),
)
INFO = ExperimentInfo("tiny", "A title", "Table 1", "accuracy", 2, "paper, other data")
DESCRIPTION = pack([Section("cora", ROWS, INFO)])
RECORDS = [record("mlp", test_accuracy=0.1), record("gcn"), record("other")]


def experiment(folder: Path, info: ExperimentInfo = INFO) -> Path:
    ledger(folder / "records.jsonl", [RECORDS[0], RECORDS[1]])
    (folder / "experiment.json").write_text(pack([Section("cora", ROWS, info)]))
    return folder


def columns_of(text: str) -> dict[str, list[str]]:
    head, _, *rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")][:5]
    return {name: values for name, *values in zip(head, *rows, strict=True)}


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> None:
    """Published results for a method, whatever its data and settings."""
    results = {"gcn": {"accuracy": 0.85, "total_seconds": 7.0}}
    monkeypatch.setattr(rows, "published_results", lambda _, method, __: results.get(method, {}))


@pytest.mark.usefixtures("published")
def test_a_section_has_the_experiments_titles_labels_and_numbers(tmp_path: Path) -> None:
    sections = read([experiment(tmp_path)])
    text = render(sections, "md")
    assert "## A title: cora\n\n2,708 nodes, split 1,208/500/1,000. Of the paper: Table 1\n" in text
    columns = columns_of(text)
    assert columns["method"] == ["worse, but first", "better", "nothing"]
    assert columns["paper, %"] == ["–", "85.0", "–"]
    assert columns["paper, other data, %"] == ["90.0", "–", "80.0"]
    assert columns["difference, points"] == ["–", "+1.00", "–"], "from the paper, never from a reference"
    assert columns["accuracy, %"] == ["10.00", "86.00", "not run: it is not public"]
    assert columns["epoch"] == ["250 ms", "250 ms", "–"]
    assert columns["to 99 %"] == ["1.75 s", "1.75 s", "–"]
    assert columns["growth (paper)"] == ["O(b d^L)", "–", "O(b d^L)"]
    assert columns["seeds"] == ["1 of 2", "1 of 2", "0 of 2"]
    assert not any("s)" in heading for heading in columns), "seconds are not what it measures"
    assert "- better, seed 1: no room\n- not run: it is not public; ask its owners\n" in text
    assert "SGC averages over neighbours once before training" in text
    assert "| A title: cora | better | 1 | mggcn train cora --method gcn " in text


@pytest.mark.usefixtures("published")
def test_an_experiment_on_time_shows_seconds(tmp_path: Path) -> None:
    timed = experiment(tmp_path, msgspec.structs.replace(INFO, measure="epoch_seconds"))
    text = render(read([timed]), "md")
    columns = columns_of(text)
    assert columns["epoch (paper, other data, s)"] == ["0.5", "–", "–"]
    assert columns["total (paper, other data, s)"] == ["43", "–", "–"]
    assert columns["total (paper, s)"] == ["–", "7", "–"]
    assert columns["total"] == ["9 s", "9 s", "–"]
    assert "on its own hardware" in text
    assert "paper, %" not in text


def test_the_page_of_an_experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("altair")
    monkeypatch.setattr("mggcn.experiments._page.vega", lambda: "")
    page = render(read([experiment(tmp_path)]), "html")
    assert "<h1>A title: cora</h1>" in page
    assert '<td class="words" data-key="">not run: it is not public</td>' in page
    assert "O(b d^L)" in page
    assert page.count('"method":"nothing"') == 0, "charts show what was run"


def test_an_experiment_none_of_which_could_be_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("altair")
    monkeypatch.setattr("mggcn.experiments._page.vega", lambda: "")
    (tmp_path / "experiment.json").write_text(pack([Section("cora", ROWS[2:], INFO)]))
    sections = read([tmp_path])
    assert "| nothing | 80.0 | not run: it is not public |" in render(sections, "md")
    assert "<h3>Accuracy</h3>" not in render(sections, "html")


def test_an_experiment_whose_ledger_was_emptied_is_mentioned(tmp_path: Path) -> None:
    folder = experiment(tmp_path)
    (folder / "records.jsonl").write_text("")
    with pytest.warns(InputWarning, match=r"records\.jsonl: holds no records"):
        (section,) = read([folder])
    assert not any(row.done for row in section.rows)


def test_a_folder_of_experiments_and_other_runs(tmp_path: Path) -> None:
    experiment(tmp_path / "tiny")
    ledger(tmp_path / "compare" / "records.jsonl", RECORDS)
    sections = read([tmp_path, tmp_path / "tiny", tmp_path / "tiny" / "experiment.json"])
    assert [section.title for section in sections] == ["A title: cora", "cora"]
    assert [row.label for row in sections[1].rows] == ["gcn", "other", "mlp"]


def test_packed_rows_hold_runs_instead_of_specs(tmp_path: Path) -> None:
    text = pack(read([experiment(tmp_path)]))
    assert "specs" not in text
    assert text.count('"runs"') == 2


def test_records_that_the_experiment_does_not_name_stand_apart(tmp_path: Path) -> None:
    ledger(tmp_path / "records.jsonl", [RECORDS[0], *[RECORDS[1]] * 2, RECORDS[2]])
    (tmp_path / "experiment.json").write_text(pack([Section("cora", ROWS, INFO)]))
    sections = read([tmp_path])
    assert [(one.title, len(one.measured)) for one in sections] == [("A title: cora", 2), ("cora", 1)]


def test_a_row_on_two_devices_is_two_rows(tmp_path: Path) -> None:
    ledger(tmp_path / "records.jsonl", [record("mlp"), RECORDS[1], replace(RECORDS[1], device="cuda")])
    (tmp_path / "experiment.json").write_text(pack([Section("cora", ROWS[1:], INFO)]))
    section = read([tmp_path])[0]
    assert [row.label for row in section.rows] == ["better (cpu)", "better (cuda)", "nothing"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "Expecting"),
        ("[]", "older version"),
        (json.dumps({"name": "tiny", "tables": []}), "older version"),
        (checksummed('{"format": "mggcn-records", "version": 2}').decode(), "field 'sections' is missing"),
        (DESCRIPTION.replace('"seeds":2', '"seeds":"two"'), r"seeds: expected int, got str \('two'\)"),
        (DESCRIPTION.replace('"label":"better"', '"label":7'), r"field label: expected str, got int \(7\)"),
        (DESCRIPTION.replace('"label":"better",', ""), "field 'label' is missing"),
        (DESCRIPTION.replace('"dataset":"cora"', '"dataset":7'), r"dataset: expected str, got int \(7\)"),
        (
            DESCRIPTION.replace('"accuracy":0.8', '"accuracy":"x"'),
            r"field reference\[...\]: expected float, got str \({'accuracy': 'x'}\)",
        ),
        (DESCRIPTION.replace('"seed 1: no room"', "null"), r"field reasons\[0\]: expected str, got null \(None\)"),
    ],
)
def test_a_description_that_is_something_else_is_refused_by_name(tmp_path: Path, content: str, message: str) -> None:
    content = checksums.with_own_checksum(content) if "checksum" in content else content
    (experiment(tmp_path) / "experiment.json").write_text(content)
    with pytest.raises(InputError, match=f"experiment.json: not the description of an experiment .*{message}"):
        read([tmp_path])
