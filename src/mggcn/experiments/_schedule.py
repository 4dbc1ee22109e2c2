"""The runs of an experiment on one data set, and the table that their outcomes make."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import msgspec
import torch

from mggcn import methods
from mggcn.experiments._definition import Experiment
from mggcn.experiments._ledger import Ledger
from mggcn.experiments._rows import Row, Section
from mggcn.methods import Method, published
from mggcn.runs import DataIdentity, Plan, published_results
from mggcn.training import RunRecord


@dataclass(frozen=True)
class Job:
    """One run of a variant; variants with the same settings share a run."""

    label: str
    plan: Plan

    @property
    def title(self) -> str:
        """The variant, the split and the seed."""
        return f"{self.label} {self.number}"

    @property
    def number(self) -> str:
        """The split and the seed."""
        split = self.plan.data.split_seed
        return f"{'' if split is None else f'split {split} '}seed {self.plan.seed}"


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of a job: the record of its run, or the reason why there is none."""

    job: Job
    record: RunRecord | None
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Schedule:
    """The runs of an experiment on one data set.

    Attributes:
        experiment: what to run.
        dataset: the name of the data set in the experiment.
        identity: of the data; None if the data set was never loaded.
    """

    experiment: Experiment
    dataset: str
    identity: DataIdentity | None

    @cached_property
    def plans(self) -> list[Plan]:
        """Each variant with every setting."""
        return self.experiment.plans(self.identity or DataIdentity(self.dataset), self.dataset)

    def jobs(self, device: torch.device, seeds: Sequence[int] | None = None) -> list[Job]:
        """The runs in an order in which every variant is run once before any is run twice, and splits before seeds.

        ``seeds`` replace those of the experiment.
        """
        if self.identity is None:
            return []
        splits: Sequence[int | None] = range(self.experiment.splits) or [None]
        jobs = []
        for seed, split in product(range(self.experiment.seeds) if seeds is None else seeds, splits):
            data = msgspec.structs.replace(self.identity, split_seed=split)
            for variant, plan in zip(self.experiment.variants, self.plans, strict=True):
                jobs.append(Job(variant.label, replace(plan, data=data, seed=seed, device=device)))
        return jobs

    def section(self, outcomes: Sequence[Outcome], device: torch.device, problem: str = "") -> Section:
        """The table of the outcomes so far, with published results; ``problem``: why the data set is not available."""
        rows = []
        for row, plan in self._rows():
            of_row = [outcome for outcome in outcomes if outcome.job.label == row.label]
            records = tuple(outcome.record for outcome in of_row if outcome.record is not None)
            reasons = [f"{outcome.job.number}: {outcome.reason}" for outcome in of_row if outcome.record is None]
            if problem and len(records) < row.seeds:
                reasons = [f"{self.dataset}: {problem}"]
            published = published_results(
                {"name": plan.data.name, "digest": plan.data.digest}, plan.name, plan.settings
            )
            row = replace(row, device=device.type, records=records, reasons=tuple(reasons), published=published)
            rows.append(row)
        return Section(self.dataset, tuple(rows), self.experiment.info, problem)

    def described(self, ledger: Ledger, device: torch.device, reasons: Mapping[str, Sequence[str]]) -> Section:
        """The table without records, with the digests of all runs that reports may find in the ledger.

        The ledger may hold runs of more seeds and devices than the experiment asks for now. ``reasons`` say why runs
        are missing, by label.
        """
        records = ledger.records.values()
        devices = dict.fromkeys([device.type, *(record.device for record in records)])
        seeds = sorted({*range(self.experiment.seeds), *(record.seed for record in records)})
        jobs = [job for name in devices for job in self.jobs(torch.device(name), seeds)]
        rows = []
        for row, _ in self._rows():
            specs = tuple(job.plan.digest for job in jobs if job.label == row.label)
            rows.append(replace(row, reasons=tuple(reasons.get(row.label, ())), specs=specs))
        return Section(self.dataset, tuple(rows), self.experiment.info)

    def _rows(self) -> Iterator[tuple[Row, Plan]]:
        for variant, plan in zip(self.experiment.variants, self.plans, strict=True):
            row = Row(variant.label, plan.name, seeds=self.experiment.runs_per_row, grows=variant.grows)
            yield replace(row, reference=self._reference(plan)), plan

    def _reference(self, plan: Plan) -> dict[str, float]:
        """The results of the reference table for a variant.

        A result belongs to the variant with the same method and the same values of those settings in which the table's
        results for that method differ.
        """
        reference = self.experiment.reference
        table = published.table(reference.table) if reference else None
        if reference is None or table is None:
            return {}
        names = {self.dataset: self.dataset} if reference.datasets is None else reference.datasets
        results = [
            result for result in table.rows if (result.dataset, result.method) == (names.get(self.dataset), plan.name)
        ]
        settings = {name for result in results for name in result.settings}
        compared = {name for name in settings if len({str(result.settings.get(name)) for result in results}) > 1}
        same = [
            result for result in results if all(result.settings.get(name) == plan.settings[name] for name in compared)
        ]
        return same[0].measured if same else {}


def recall(jobs: Iterable[Job], ledger: Ledger) -> list[Outcome]:
    """The outcomes of the jobs whose records are in the ledger."""
    return [Outcome(job, ledger.records[job.plan.digest]) for job in jobs if job.plan.digest in ledger.records]


def outdated(kinds: Iterable[type[Method]], ledger: Ledger) -> list[str]:
    """For each method with records of an older version, one line that says they are ignored."""
    lines: dict[str, None] = {}
    for kind in kinds:
        name = methods.method_name(kind)
        older = [record.method_version for record in ledger.records.values() if record.method == name]
        for version in sorted({number for number in older if number < kind.version}):
            count = older.count(version)
            what = "record of {} is of version {} and is" if count == 1 else "records of {} are of version {} and are"
            lines[f"{count} {what.format(name, version)} ignored; it is now version {kind.version}"] = None
    return list(lines)
