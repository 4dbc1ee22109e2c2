"""``mggcn.experiments.run`` from Python."""

import doctest
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mggcn import experiments
from mggcn.data import save
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.experiments import Job, Ledger, Outcome, read_records
from mggcn.experiments import _schedule as running
from mggcn.experiments._definition import Experiment, Variant
from mggcn.experiments._sections import Section
from mggcn.methods.mlp import FeatureMLP
from mggcn.training import _environment as environment


class Watching(experiments.ExperimentProgress):
    def __init__(self) -> None:
        self.notes: list[str] = []
        self.ended: list[str] = []
        self.tables: list[Section] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def run_ends(self, outcome: Outcome, section: Section) -> None:  # noqa: ARG002
        self.ended.append(outcome.job.title)

    def finish(self, section: Section) -> None:
        self.tables.append(section)


@pytest.fixture
def folder(small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    save(small, tmp_path / "one")
    return tmp_path


def comparison(seeds: int = 1) -> Experiment:
    return experiments.comparison("one", ["mlp", "gcn"], seeds=seeds, settings={"epochs": 1, "hidden": 4})


def test_the_example_in_the_docstring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    finder = doctest.DocTestFinder(recurse=False)
    [example] = finder.find(running.run, "run", globs={})
    assert doctest.DocTestRunner().run(example).failed == 0


def test_tables_are_returned_and_shown(folder: Path) -> None:
    shown = Watching()
    [table] = experiments.run(comparison(), device="cpu", progress=shown)
    assert [(row.label, row.done, row.device) for row in table.rows] == [("mlp", 1, "cpu"), ("gcn", 1, "cpu")]
    assert shown.ended == ["mlp seed 0", "gcn seed 0"]
    assert shown.tables == [table]
    assert sorted(path.name for path in (folder / "compare" / "one").iterdir()) == ["records.jsonl", "table.md"]
    experiments.run(comparison(), seeds=2, only="mlp", device="cpu", progress=shown)
    assert shown.ended == ["mlp seed 0", "gcn seed 0", "mlp seed 1"], "finished runs are not repeated"


def test_methods_as_objects_and_classes(folder: Path) -> None:
    variants = (Variant("narrow", FeatureMLP(hidden=2)), Variant("wide", FeatureMLP, {"hidden": 8}))
    tiny = Experiment("tiny", ("one",), variants, 1, settings={"epochs": 1})
    [table] = experiments.run(tiny, device="cpu", out=folder / "out")
    assert [row.settings["hidden"] for row in table.rows] == [2, 8]
    [again] = read_records([folder / "out"])
    assert again.title == "tiny: one"
    assert [row.records for row in again.rows] == [row.records for row in table.rows]


def test_records_of_an_older_version_are_ignored_and_counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiments.run(comparison(seeds=2), device="cpu")
    monkeypatch.setattr(FeatureMLP, "version", 2)
    shown = Watching()
    [table] = experiments.run(comparison(seeds=1), device="cpu", progress=shown)
    assert shown.notes == ["mlp: 2 records of version 1 are ignored; it is now version 2"]
    assert shown.ended == ["mlp seed 0"], "and trained again"
    assert [row.done for row in table.rows] == [1, 1]
    versions = [
        record.method_version for record in Ledger(folder / "compare" / "one" / "records.jsonl").records.values()
    ]
    assert sorted(versions) == [1, 1, 1, 1, 2]


def test_a_data_set_without_labels(small: Dataset, folder: Path) -> None:
    save(replace(small, split=None), folder / "none")
    with pytest.raises(InputError, match="small: no training labels"):
        experiments.run(experiments.comparison("none", ["mlp"]), device="cpu")
    tiny = Experiment("tiny", ("none",), (Variant("plain", "mlp"),), 1)
    [table] = experiments.run(tiny, device="cpu")
    assert "no training labels" in table.problem
    assert table.rows[0].reasons[0].startswith("none: small: no training labels")


def test_reasons_in_files_keep_the_last_part_of_a_path() -> None:
    text = "no folder /home/me/data/cora; see https://example.org/a/b and docs/data.md, 1/2"
    kept = "no folder …/cora; see https://example.org/a/b and docs/data.md, 1/2"
    assert running._FOLDERS.sub("…/", text) == kept


def test_status_counts_without_data(folder: Path) -> None:
    tiny = Experiment("tiny", ("one",), (Variant("plain", "mlp"),), 2, settings={"epochs": 1})
    experiments.run(tiny, seeds=1, device="cpu")
    (folder / "one" / "y.npy").unlink()
    [table] = experiments.status(tiny, device="cpu")
    assert [(row.label, row.done, row.seeds) for row in table.rows] == [("plain", 1, 2)]


def test_jobs_are_shown_as_they_start(folder: Path) -> None:
    started: list[str] = []

    class Starts(experiments.ExperimentProgress):
        def run_starts(self, job: Job) -> "Starts":
            started.append(job.title)
            return self

        def epoch(self, epoch: object) -> None:  # noqa: ARG002
            started.append("an epoch")

    experiments.run(comparison(), device="cpu", only="mlp", progress=Starts())
    assert started == ["mlp seed 0", "an epoch"]


def test_plans_data_and_git_are_asked_once(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "mggcn")
    environment.commit.cache_clear()
    started: list[list[str]] = []
    sys.addaudithook(lambda event, what: started.append(what[1]) if event == "subprocess.Popen" else None)
    [table] = experiments.run(comparison(seeds=2), device="cpu")
    assert [row.done for row in table.rows] == [2, 2]
    resolved = [record.getMessage() for record in caplog.records if "settings resolved" in record.getMessage()]
    assert len(resolved) == len(set(resolved)) == len(table.rows), "each variant once, for all seeds and the table"
    hashed = [record.getMessage() for record in caplog.records if "hashed an array" in record.getMessage()]
    of_few_targets = 3 * 2  # the parts of the split with which each method warms up
    assert len(hashed) <= of_few_targets, "the folder has the checksums of the data set's own arrays"
    assert len([command for command in started if "git" in command]) == 3, "top, changes and commit, once"
