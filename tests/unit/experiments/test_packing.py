"""Packed records: small, without paths of this machine, and equivalent to the records they are made of."""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from mggcn._io.files import without_checksum
from mggcn.errors import InputError
from mggcn.experiments._page import render
from mggcn.experiments._records import pack
from mggcn.experiments._records import read_records as read
from mggcn.experiments._report_tables import commands
from mggcn.experiments._sections import ExperimentInfo, Row, Section, group
from mggcn.training._record import Epoch, RunRecord
from tests import checksums
from tests.records import RECORDS, record

INFO = ExperimentInfo("tiny", "A title", "Table 1", "accuracy", 3, "paper, whole graph")
SECTIONS = [
    Section(
        "cora",
        (
            Row(
                "plain (cpu)",
                "mlp",
                "cpu",
                3,
                (record("mlp"), record("mlp", 1, val_loss=math.nan, test_accuracy=0.123456789)),
                reference={"accuracy": 0.5, "total_seconds": 12.5},
                grows="O(b)",
            ),
            Row("plain (cuda)", "mlp", "cuda", 3, (record("mlp", device="cuda"),)),
            Row("graph (cpu)", "gcn", "cpu", 3, (record("gcn", environment={"python": "3.12"}),), ("seed 2: no room",)),
        ),
        INFO,
    ),
    Section(
        "mine", (Row("plain", "mlp", "", 3, reasons=("mine: it is not public",), reference={"accuracy": 0.6}),), INFO
    ),
]


def packed(sections: list[Section], tmp_path: Path) -> tuple[str, list[Section]]:
    text = pack(sections)
    (tmp_path / "packed.json").write_text(text)
    return text, read([tmp_path / "packed.json"])


def _values(sections: list[Section]) -> Any:
    return json.loads(without_checksum(pack(sections).encode()))


def records_of(sections: list[Section]) -> list[RunRecord]:
    return [record for section in sections for row in section.rows for record in row.records]


@pytest.mark.parametrize("sections", [group(RECORDS), SECTIONS, [*SECTIONS, *group(RECORDS)]])
def test_the_same_documents_result(sections: list[Section], tmp_path: Path) -> None:
    text, again = packed(sections, tmp_path)
    assert render(again, "md") == render(sections, "md")
    assert pack(again) == text == render(sections, "json")


def test_a_line_of_text_for_each_row(tmp_path: Path) -> None:
    text, _ = packed(SECTIONS, tmp_path)
    lines = [json.loads(line.rstrip(",")) for line in text.splitlines() if '"label"' in line]
    assert [(line["label"], line.get("device")) for line in lines] == [
        ("plain (cpu)", "cpu"),
        ("plain (cuda)", "cuda"),
        ("graph (cpu)", "cpu"),
        ("plain", None),
    ]
    assert lines[0]["runs"]["test_accuracy"] == [0.86, 0.123457]
    assert lines[0]["runs"]["val_loss"] == [0.5, None]
    assert "temperature" not in lines[0]["runs"], "defaults are left out"
    assert [line.get("environments") for line in lines] == [[0, 0], [0], [1], None]


def test_the_first_curve_is_kept_with_its_times(tmp_path: Path) -> None:
    long = [Epoch(n, 1.0, 1.0, n / 1000, 0.25, 0.5) for n in range(1, 778)]
    _, again = packed(group([record(seed=seed, curve=long) for seed in (0, 1)]), tmp_path)
    first, second = records_of(again)
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
    text, _ = packed(group(runs), tmp_path)
    assert len(text.encode()) < 20 * 1_000


def test_which_test_nodes_were_right_is_kept(tmp_path: Path) -> None:
    runs = [record(seed=seed, test_right=right) for seed, right in enumerate(("7w==", "fw=="))]
    _, again = packed(group(runs), tmp_path)
    assert [one.test_right for one in records_of(again)] == ["7w==", "fw=="]
    assert records_of(packed(group(runs[:1]), tmp_path)[1])[0].right.tolist() == [*[True] * 3, False, *[True] * 4]


def test_absolute_paths_are_left_out(tmp_path: Path) -> None:
    there = [record(dataset={"name": "mine", "path": path}) for path in ("/home/me/mine", "data/mine")]
    text, again = packed([section for one in there for section in group([one])], tmp_path)
    assert "/home" not in text
    assert [one.dataset["path"] for one in records_of(again)] == ["data/mine"]
    _, [section] = packed(group(there[:1]), tmp_path)
    assert commands(section, section.rows[0])[0].startswith("mggcn train mine --method gcn ")


def test_names_of_features_are_left_out(tmp_path: Path) -> None:
    named = record(dataset={"name": "mine", "path": None, "feature_names": ["age", "gas"]})
    text, again = packed(group([named]), tmp_path)
    assert "feature_names" not in text
    assert [one.dataset for one in records_of(again)] == [{"name": "mine", "path": None}]


def test_commands_of_an_experiment_use_the_name_in_its_file(tmp_path: Path) -> None:
    row = Row("plain", "mlp", "cpu", 1, (record("mlp", dataset={"name": "other", "path": "/x/y"}),))
    _, [section] = packed([Section("cora", (row,), INFO)], tmp_path)
    assert commands(section, section.rows[0])[0].startswith("mggcn train cora --method mlp ")


def _without(name: str) -> Any:
    return lambda values: values["sections"][0]["lines"][0].pop(name)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda values: values.update(version=3), "version 3, not 2"),
        (lambda values: values.update(datasets=[]), "list index out of range"),
        (_without("settings"), "field 'settings' is missing"),
        (lambda values: values["sections"][0]["lines"][0]["runs"]["seed"].append(7), "zip"),
        (lambda values: values["sections"][0]["lines"][0]["runs"].update(surprise=[1, 2]), "surprise"),
    ],
)
def test_what_is_not_packed_is_refused_by_name(tmp_path: Path, spoil: Any, message: str) -> None:
    values = _values(group(RECORDS))
    spoil(values)
    checksums.write(tmp_path / "packed.json", values)
    with pytest.raises(InputError, match=f"packed.json: not a run record .*{message}"):
        read([tmp_path / "packed.json"])


def _line(**changes: Any) -> Any:
    return lambda section: section["lines"][0].update(changes)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            lambda section: section["experiment"].update(seeds="x"),
            "field sections[0].experiment.seeds: expected int, got str ('x')",
        ),
        (lambda section: section.update(dataset=7), "field sections[0].dataset: expected str, got int (7)"),
        (
            lambda section: section.update(experiment="x"),
            "field sections[0].experiment: expected object | null, got str ('x')",
        ),
        (_line(label=None), "field label: expected str, got null (None)"),
        (_line(reference="x"), "field reference: expected object, got str ('x')"),
        (
            _line(reference={"epoch_seconds": "x"}),
            "field reference[...]: expected float, got str ({'epoch_seconds': 'x'})",
        ),
        (_line(reference={"accuracy": 10**400}), "field reference[...]: number out of range ({'accuracy': 1000"),
        (_line(reasons=[None]), "field reasons[0]: expected str, got null (None)"),
        (_line(reasons="x"), "field reasons: expected array, got str ('x')"),
        (
            lambda section: section["lines"][0]["runs"].update(seed=["x", "y"]),
            "field seed: expected int, got str ('x')",
        ),
    ],
)
def test_what_no_experiment_writes_is_refused_by_name(tmp_path: Path, spoil: Any, message: str) -> None:
    values = _values(SECTIONS)
    spoil(values["sections"][0])
    checksums.write(tmp_path / "packed.json", values)
    with pytest.raises(InputError, match=re.escape(f"packed.json: not a run record ({message}")):
        read([tmp_path / "packed.json"])


def test_a_file_of_the_current_version_needs_its_checksum(tmp_path: Path) -> None:
    path = tmp_path / "packed.json"
    path.write_text(json.dumps(_values(SECTIONS)))
    with pytest.raises(InputError, match=r"packed\.json: not a run record \(its checksum is missing\)"):
        read([path])
