"""What a report is read from, and what is refused."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from mggcn.cli import main
from mggcn.errors import InputError
from mggcn.experiments._records import pack
from mggcn.experiments._records import read_records as read
from mggcn.experiments._sections import group
from mggcn.training import Epoch, record_content
from tests.records import RECORDS, ledger, record


def test_runs_ledgers_and_folders_of_them_are_read(tmp_path: Path) -> None:
    path = ledger(tmp_path / "all" / "compare" / "records.jsonl", RECORDS[:2])
    run = tmp_path / "all" / "run"
    run.mkdir()
    (run / "record.json").write_bytes(record_content(RECORDS[2], {}))
    methods = [
        [record.method for row in read([each])[0].rows for record in row.records]
        for each in (path, path.parent, run, run / "record.json")
    ]
    assert methods == [["gcn", "gcn"], ["gcn", "gcn"], ["mlp"], ["mlp"]]
    assert sum(row.done for section in read([tmp_path / "all", path]) for row in section.rows) == 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"test_accuracy": "high"}, r"field test_accuracy: expected float, got str \('high'\)"),
        ({"test_accuracy": float("nan")}, r"field test_accuracy: expected float > -1e\+300 \(nan\)"),
        ({"settings": []}, r"field settings: expected object, got array \(\[\]\)"),
        ({"dataset": {}}, "field 'dataset.name' is missing"),
        ({"surprise": 1}, ".*surprise"),
        ({"curve": 1}, ""),
        (
            {"curve": [asdict(Epoch(7, 1.0, 1.0, float("inf"), 1.0, 1.0))]},
            r"field curve\[0\].val_accuracy: expected float < 1e\+300 \(inf\)",
        ),
    ],
)
def test_bad_records_are_named(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = tmp_path / "record.json"
    path.write_text(json.dumps({"files": {}, **asdict(record())} | changes))
    with pytest.raises(InputError, match=rf"record.json: not a run record \({message}"):
        read([path])


@pytest.mark.parametrize("content", [None, "", "{\n", '{"spec": "x"}\n'])
def test_bad_input_is_one_line_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None
) -> None:
    path, out = tmp_path / "records.jsonl", tmp_path / "out" / "report.html"
    if content is not None:
        path.write_text(content)
    assert main(["report", str(path), "--out", str(out)]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"mggcn: error: {path}: ")
    assert err.count("\n") == 1
    assert not out.parent.exists()


def test_folders_without_records_and_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds neither a record\.json nor a records\.jsonl"):
        read([tmp_path])
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(InputError, match="neither a run folder nor"):
        read([tmp_path / "notes.txt"])


@pytest.mark.parametrize("named", ["records.jsonl", "experiment.json", "link"])
def test_what_is_read_is_not_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str], named: str) -> None:
    path = ledger(tmp_path / "records.jsonl")
    (tmp_path / "link").symlink_to(path)
    before = path.read_bytes()
    out = tmp_path / named
    assert main(["report", str(tmp_path), "--out", str(out), "--format", "md"]) == 2
    message = f"mggcn: error: --out: {out} is one of the files that the report is made of\n"
    assert capsys.readouterr().err == message
    assert path.read_bytes() == before


def test_packed_records_are_not_packed_onto_themselves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "packed.json"
    path.write_text(pack(group(RECORDS)))
    before = path.read_bytes()
    assert main(["report", str(path), "--out", str(path), "--format", "json"]) == 2
    assert "is one of the files that the report is made of" in capsys.readouterr().err
    assert path.read_bytes() == before


def test_hidden_folders_are_not_read(tmp_path: Path) -> None:
    for name in ("run", ".run.1a2b3c4d.mggcn-tmp", ".run.x.old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "record.json").write_bytes(record_content(record(seed=len(name)), {}))
    (tmp_path / ".other" / "checkpoint").mkdir(parents=True)
    (tmp_path / ".other" / "config.toml").write_text("")
    [section] = read([tmp_path])
    assert [run.seed for row in section.rows for run in row.records] == [3]
