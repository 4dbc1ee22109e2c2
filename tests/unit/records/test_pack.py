"""Packed records: small, without paths of this machine, and as good as the records they are made of."""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from mggcn.errors import InputError
from mggcn.records.lines import sections
from mggcn.records.record import Epoch, RunRecord
from mggcn.records.sheet import DataTable, Entry, Sheet
from mggcn.report import Source, read, render
from tests.records import RECORDS, record

SHEET = Sheet(
    "tiny",
    "A title",
    "Table 1",
    "accuracy",
    3,
    (
        DataTable(
            "cora",
            (
                Entry("plain", "mlp", {"accuracy": 0.5, "total_seconds": 12.5}, "O(b)", ("a", "b", "c")),
                Entry("graph", "gcn", {}, "", ("d", "e"), ("seed 2: no room",)),
            ),
        ),
        DataTable("mine", (Entry("plain", "mlp", {"accuracy": 0.6}, reasons=("mine: it is not public",)),)),
    ),
)
RUNS = {
    "a": record("mlp"),
    "b": record("mlp", 1, val_loss=math.nan, test_accuracy=0.123456789),
    "c": record("mlp", device="cuda"),
    "d": record("gcn", environment={"python": "3.12"}),
}


def packed(sources: list[Source], tmp_path: Path) -> tuple[str, list[Source]]:
    text = render(sources, "json")
    (tmp_path / "packed.json").write_text(text)
    return text, read([tmp_path / "packed.json"])


@pytest.mark.parametrize(
    "sources", [[Source.of(RECORDS)], [Source(RUNS, SHEET)], [Source(RUNS, SHEET), Source.of(RECORDS)]]
)
def test_the_same_documents_come_of_it(sources: list[Source], tmp_path: Path) -> None:
    text, again = packed(sources, tmp_path)
    for form in ("md", "latex"):
        assert render(again, form) == render(sources, form)
    assert render(again, "json") == text


def test_a_line_of_text_for_each_line_of_the_tables(tmp_path: Path) -> None:
    text, _ = packed([Source(RUNS, SHEET)], tmp_path)
    lines = [json.loads(line.rstrip(",")) for line in text.splitlines() if '"label"' in line]
    assert [(one["label"], one.get("device")) for one in lines] == [
        ("plain", "cpu"),
        ("plain", "cuda"),
        ("graph", "cpu"),
        ("plain", None),
    ]
    assert lines[0]["runs"]["test_accuracy"] == [0.86, 0.123457]
    assert lines[0]["runs"]["val_loss"] == [0.5, None]
    assert "temperature" not in lines[0]["runs"], "what has its default is left out"
    assert [one.get("environments") for one in lines] == [[0, 0], [0], [1], None]


def test_the_first_curve_is_kept_with_its_times(tmp_path: Path) -> None:
    long = [Epoch(n, 1.0, 1.0, n / 1000, 0.25, 0.5) for n in range(1, 778)]
    runs = [record(seed=seed, curve=long) for seed in (0, 1)]
    _, [again] = packed([Source.of(runs)], tmp_path)
    first, second = again.records.values()
    assert second.curve == []
    assert len(first.curve) == 100
    assert (first.curve[0].number, first.curve[-1].number) == (1, 777)
    spent = 0.0
    for epoch in first.curve:
        spent += epoch.train_seconds + epoch.eval_seconds
        assert spent == pytest.approx(0.75 * epoch.number)


def test_a_run_takes_less_than_a_kilobyte(tmp_path: Path) -> None:
    third = 1 / 3
    curve = [Epoch(n, third * n, third, third, third, third) for n in range(1, 401)]
    matrix = [[100 * (i == j) + 10 for i in range(7)] for j in range(7)]
    settings = {f"a setting {n}": third for n in range(26)}
    runs = [record(seed=n, curve=curve, test_confusion=matrix, settings=settings, val_loss=third) for n in range(20)]
    text, _ = packed([Source.of(runs)], tmp_path)
    assert len(text.encode()) < 20 * 1_000


def test_absolute_paths_are_left_out(tmp_path: Path) -> None:
    there = [record(dataset={"name": "mine", "path": path}) for path in ("/home/me/mine", "data/mine")]
    text, again = packed([Source.of([one]) for one in there], tmp_path)
    assert "/home" not in text
    assert [record.dataset["path"] for source in again for record in source.records.values()] == ["data/mine"]
    text, again = packed([Source.of(there[:1])], tmp_path)
    [[line]] = [section.lines for section in sections(again, lambda _: None)]
    assert line.commands[0].startswith("mggcn train mine --method gcn ")


def test_an_experiment_trains_by_the_name_in_its_file(tmp_path: Path) -> None:
    placed: dict[str, RunRecord] = {"a": record("mlp", dataset={"name": "other", "path": "/x/y"})}
    _, again = packed([Source(placed, SHEET)], tmp_path)
    assert sections(again, lambda _: None)[0].lines[0].commands[0].startswith("mggcn train cora --method mlp ")


def _without(name: str) -> Any:
    return lambda given: given["sections"][0]["lines"][0].pop(name)


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda given: given.update(version=2), "version 2, not 1"),
        (lambda given: given.update(datasets=[]), "list index out of range"),
        (_without("settings"), "'settings'"),
        (lambda given: given["sections"][0]["lines"][0]["runs"]["seed"].append(7), "zip"),
        (lambda given: given["sections"][0]["lines"][0]["runs"].update(surprise=[1, 2]), "surprise"),
    ],
)
def test_what_is_not_packed_is_refused_by_name(tmp_path: Path, spoil: Any, told: str) -> None:
    given = json.loads(render([Source.of(RECORDS)], "json"))
    spoil(given)
    (tmp_path / "packed.json").write_text(json.dumps(given))
    with pytest.raises(InputError, match=f"packed.json: not a run record .*{told}"):
        read([tmp_path / "packed.json"])


def _line(**changes: Any) -> Any:
    return lambda section: section["lines"][0].update(changes)


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda section: section["experiment"].update(seeds="x"), "field seeds is 'x'"),
        (lambda section: section.update(dataset=7), "field dataset is 7"),
        (lambda section: section.update(experiment="x"), ""),
        (_line(label=None), "field label is None"),
        (_line(paper="x"), "field paper is 'x'"),
        (_line(paper={"epoch_seconds": "x"}), "field paper is {'epoch_seconds': 'x'}"),
        (_line(paper={"accuracy": 10**400}), "field paper is {'accuracy': 1000"),
        (_line(reasons=[None]), "field reasons is (None,)"),
        (_line(reasons="x"), "field reasons is 'x'"),
        (lambda section: section["lines"][0]["runs"].update(seed=["x", "y"]), "field seed is 'x'"),
    ],
)
def test_what_no_experiment_says_is_refused_by_name(tmp_path: Path, spoil: Any, told: str) -> None:
    given = json.loads(render([Source(RUNS, SHEET)], "json"))
    spoil(given["sections"][0])
    (tmp_path / "packed.json").write_text(json.dumps(given))
    with pytest.raises(InputError, match=re.escape(f"packed.json: not a run record ({told}")):
        read([tmp_path / "packed.json"])


def test_files_from_before_calibration_was_measured_are_read(tmp_path: Path) -> None:
    text, [new] = packed([Source.of([record(test_ece=0.05, temperature=1.5), record("mlp")])], tmp_path)
    assert [one.test_ece for one in new.records.values()] == [0.05, None]
    given = json.loads(text)
    for line in given["sections"][0]["lines"]:
        for name in ("temperature", "test_ece", "test_ece_uncalibrated"):
            line["runs"].pop(name, None)
    (tmp_path / "old.json").write_text(json.dumps(given))
    [old] = read([tmp_path / "old.json"])
    assert {(one.temperature, one.test_ece) for one in old.records.values()} == {(1.0, None)}
