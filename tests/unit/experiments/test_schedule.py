"""The runs of an experiment on one data set, and the rows that they make."""

import pickle
from dataclasses import replace
from typing import Any

import pytest
import torch

from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.experiments import Job, Schedule
from mggcn.experiments._definition import ABLATIONS, Experiment, Variant, variants_of
from mggcn.experiments._report_tables import duration, markdown
from mggcn.experiments._sections import Row, Section
from mggcn.methods.published import published
from mggcn.runs import DataIdentity
from tests.records import record

CPU = torch.device("cpu")


def schedule_of(dataset: Dataset, *names: str, seeds: int = 2, **settings: object) -> Schedule:
    experiment = Experiment(
        "tiny", ("small",), variants_of(names), seeds, settings={"epochs": 2, "hidden": 4} | settings, flat=True
    )
    return Schedule(experiment, "small", DataIdentity.of(dataset))


def jobs_of(dataset: Dataset, *names: str, seeds: int = 2, **settings: object) -> list[Job]:
    return schedule_of(dataset, *names, seeds=seeds, **settings).jobs(CPU)


def test_every_variant_has_a_seed_before_any_has_two(small: Dataset) -> None:
    titles = [job.title for job in jobs_of(small, "gcn", "mlp")]
    assert titles == ["gcn seed 0", "mlp seed 0", "gcn seed 1", "mlp seed 1"]


def test_changes_reach_the_methods_that_have_them(small: Dataset) -> None:
    with_picks, without = jobs_of(small, "mg-gcn", "gcn", seeds=1, picks="3", lr="0.5")
    assert (with_picks.plan.settings["picks"], with_picks.plan.settings["lr"]) == (3, 0.5)
    assert "picks" not in without.plan.settings
    assert without.plan.settings["lr"] == 0.5
    with pytest.raises(InputError, match="unknown setting 'picks'"):
        jobs_of(small, "gcn", "mlp", picks="3")
    with pytest.raises(InputError, match="gcn: lr: 'x' is not a number"):
        jobs_of(small, "gcn", "mlp", lr="x")


def test_a_job_carries_its_plan_to_another_process(small: Dataset) -> None:
    [job] = jobs_of(small, "mg-gcn", seeds=1)
    assert pickle.loads(pickle.dumps(job)) == job  # noqa: S301
    assert job.plan.settings == job.plan.settings


def test_a_version_of_a_method_has_runs_of_its_own(small: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    [job] = jobs_of(small, "mlp", seeds=1)
    identity, digest = job.plan.identity, job.plan.digest
    monkeypatch.setattr(type(job.plan.method), "version", 2)
    [newer] = jobs_of(small, "mlp", seeds=1)
    assert newer.plan.identity == identity | {"method_version": 2}
    assert newer.plan.digest != digest


def table(*rows: Row) -> list[str]:
    return markdown(Section("cora", rows)).splitlines()


def test_a_row_by_hand() -> None:
    records = (record(), record(seed=1, peak_memory_bytes=300 << 20), record(seed=5, epoch_seconds=2.0))
    lines = table(Row("a|b", "gcn", "cpu", 3, records, published={"accuracy": 0.858}), Row("later", "mlp", "cpu", 3))
    assert lines[0].startswith(
        "| method | paper, % | difference, points | accuracy, % | macro-F1, % | epoch | to 99 % |"
    )
    assert (
        lines[2]
        == "| a\\|b | 85.8 | +2.20 | 88.00 ± 2.65 | 70.00 ± 0.00 | 250 ms | 1.75 s | 2.5 s | 3 | 300 MiB | 18 | 3 |"
    )
    assert lines[3] == "| later | – | – | not run yet | – | – | – | – | – | – | – | 0 of 3 |"
    alone = "\n".join(table(Row("gcn", "gcn", "cpu", 1, records[:1])))
    assert "| 86.00 | 70.00 |" in alone
    assert "paper" not in alone


def test_durations() -> None:
    assert [duration(s) for s in (0.01234, 0.5, 0.9997, 1.234, 123.4, 999.7, 4567.8)] == [
        "12.3 ms", "500 ms", "1 s", "1.23 s", "123 s", "1,000 s", "4,568 s",
    ]  # fmt: skip


def paper_column(name: str, digest: str, variants: tuple[Variant, ...], **settings: Any) -> list[float | None]:
    experiment = Experiment("tiny", (name,), variants, 1, settings=settings, preset="paper", flat=True)
    section = Schedule(experiment, name, DataIdentity(name, digest)).section([], CPU)
    return [row.published.get("accuracy") for row in section.rows]


def test_only_the_method_as_published_has_the_papers_figure() -> None:
    digest = published().data["cora"]
    assert paper_column("cora", digest, ABLATIONS) == [0.858] + [None] * 6
    assert paper_column("cora", digest, ABLATIONS[:1], picks="1") == [None]
    assert paper_column("cora", digest, ABLATIONS[:1], picks="6", threads="2") == [0.858], "as in the paper"


def test_other_data_of_the_same_name_have_no_paper_figure(small: Dataset) -> None:
    known = DataIdentity.of(replace(small, name="cora", source="LINQS cora; random split"))
    assert paper_column("cora", known.digest or "", ABLATIONS) == [None] * 7
    assert paper_column("cora", "", ABLATIONS[:1]) == [None]
