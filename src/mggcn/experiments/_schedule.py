"""Running experiments: load each data set, train what is not in the ledger, write tables."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import product
from pathlib import Path

import msgspec
import torch

from mggcn import methods
from mggcn._io.files import check_writable, checksummed, read_json, write_atomically
from mggcn._io.mapping import AUTOMATIC, Access
from mggcn.data import Dataset
from mggcn.errors import InputError
from mggcn.experiments import _records
from mggcn.experiments._definition import Experiment, folder_name, read
from mggcn.experiments._execution import Job, Outcome, execute, execute_in_processes, random_split, recall
from mggcn.experiments._records import EXPERIMENT, RECORDS, Ledger, pack
from mggcn.experiments._report_tables import document
from mggcn.experiments._sections import Row, Section
from mggcn.runs import DataIdentity, Plan, published_results
from mggcn.training import Progress, Silent, choose_device

TABLE, IDENTITY = "table.md", "dataset.json"
_FOLDERS = re.compile(r"(?<![\w.:/])/(?:[^\s/:;,()]+/)+")


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
            data = {"name": plan.data.name, "digest": plan.data.digest}
            published = published_results(data, plan.name, plan.settings)
            rows.append(replace(row, device=device.type, records=records, reasons=tuple(reasons), published=published))
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
            reference = self.experiment.reference.results(self.dataset, plan) if self.experiment.reference else {}
            row = Row(variant.label, plan.name, seeds=self.experiment.runs_per_row, grows=variant.grows)
            yield replace(row, reference=reference), plan


class ExperimentProgress:
    """Shows nothing; subclasses override what they want to show."""

    def note(self, text: str) -> None:
        """One line about the whole experiment."""

    def start(self, title: str, dataset: Dataset, section: Section, total: int) -> None:
        """The runs on a data set start; ``section`` holds those that are already done, ``total`` counts all."""

    def run_starts(self, job: Job) -> Progress:  # noqa: ARG002
        """A run starts; what is returned receives its epochs."""
        return Silent()

    def run_ends(self, outcome: Outcome, section: Section) -> None:
        """A run ended; ``section`` includes it."""

    def finish(self, section: Section) -> None:
        """All runs on a data set ended, or were interrupted, or the data set is not available."""


def run(
    experiment: Experiment | Path | str,
    *,
    seeds: int | None = None,
    device: str | torch.device = "auto",
    jobs: int = 1,
    only: str | None = None,
    out: Path | str | None = None,
    root: Path | None = None,
    access: Access = AUTOMATIC,
    progress: ExperimentProgress | None = None,
    allow_import: bool = False,
) -> list[Section]:
    """Run an experiment and write a table for each of its data sets; runs that were finished earlier are not repeated.

    Examples:
        >>> from mggcn import experiments
        >>> tiny = experiments.comparison("digits", ["mlp", "sgc"], seeds=1, settings={"epochs": 2})
        >>> [table] = experiments.run(tiny)
        >>> [(row.label, row.done) for row in table.rows]
        [('mlp', 1), ('sgc', 1)]

    Args:
        experiment: an experiment or the path of its TOML file.
        seeds: the number of runs of each variant, with seeds 0, 1, 2 …; as the experiment says if None.
        device: ``auto``, ``cpu``, ``cuda`` or a device.
        jobs: the number of runs in parallel, which share the cores.
        only: run only where this is part of a data set's name or of a label.
        out: the folder of the results; ``experiments-runs/NAME`` if None.
        root: the folder in which data sets are searched.
        access: whether dataset folders are mapped, and where what is computed from mapped ones is kept.
        progress: receives what happens.
        allow_import: for the file of an experiment, as in :func:`read`.

    Returns:
        A table for each data set. A data set that is not available has a table, too, which says why.
    """
    work = _Work(experiment, seeds, device, out, root, access, progress, allow_import=allow_import)
    if jobs < 1:
        raise InputError(f"jobs: {jobs} is less than 1")
    if jobs > 1 and work.experiment.alone:
        raise InputError(f"jobs: the runs of {work.experiment.path} are timed (alone = true), so they run one by one")
    selected = work.experiment.selected(only)
    check_writable(work.out)
    return [work.fill(name, labels, jobs) for name, labels in selected.items()]


def status(
    experiment: Experiment | Path | str,
    *,
    seeds: int | None = None,
    device: str | torch.device = "auto",
    out: Path | str | None = None,
    allow_import: bool = False,
) -> list[Section]:
    """The tables of an experiment from the runs that are finished, without loading data or writing files."""
    work = _Work(experiment, seeds, device, out, allow_import=allow_import)
    return [work.section(name) for name in work.experiment.datasets]


class _Work:
    """What the data sets of an experiment share while it runs; the arguments are those of :func:`run`."""

    def __init__(
        self,
        experiment: Experiment | Path | str,
        seeds: int | None,
        device: str | torch.device,
        out: Path | str | None,
        root: Path | None = None,
        access: Access = AUTOMATIC,
        progress: ExperimentProgress | None = None,
        *,
        allow_import: bool,
    ) -> None:
        if not isinstance(experiment, Experiment):
            experiment = read(experiment, allow_import=allow_import)
        self.experiment = experiment if seeds is None else msgspec.structs.replace(experiment, seeds=seeds)
        self.device, self.root, self.access = choose_device(device), root, access
        self.progress = progress or ExperimentProgress()
        experiment.check()
        self.out = Path(out) if out else experiment.folder
        self.ledger = Ledger(self.out / RECORDS)
        self._schedules: dict[str, Schedule] = {}
        kinds = {methods.method_name(variant.method_class): variant.method_class for variant in experiment.variants}
        versions = Counter((record.method, record.method_version) for record in self.ledger.records.values())
        for (name, version), count in sorted(versions.items()):
            if name in kinds and version < kinds[name].version:
                now = f"it is now version {kinds[name].version}"
                self.progress.note(f"{name}: {count} records of version {version} are ignored; {now}")

    def fill(self, name: str, labels: set[str], processes: int) -> Section:
        """Train what is missing on one data set; its table, with the runs that were finished earlier."""
        try:
            data = self.experiment.load(name, self.root, self.access)
            if self.experiment.splits:
                data = random_split(data, 0)
            data.require_split()
        except (InputError, OSError) as error:
            if self.experiment.flat:
                raise
            section = self.section(name, " ".join(str(error).split()))
            self._finish(section)
            return section
        schedule = self._schedule(name, data)
        planned = schedule.jobs(self.device)
        outcomes = recall(planned, self.ledger)
        waiting = [job for job in planned if job.label in labels and job.plan.digest not in self.ledger.records]
        section = schedule.section(outcomes, self.device)
        self._describe(section)
        prefix = "" if self.experiment.flat else f"{self.experiment.name}: "
        title = f"{prefix}{data.name if self.experiment.flat else name} on {self.device.type}"
        self.progress.start(title, data, section, len(outcomes) + len(waiting))
        try:
            for outcome in self._train(name, data, waiting, processes):
                outcomes.append(outcome)
                section = schedule.section(outcomes, self.device)
                self.progress.run_ends(outcome, section)
                self._write_table(section)
        finally:
            self._finish(section)
        return section

    def section(self, name: str, problem: str = "") -> Section:
        """The table of a data set from the ledger, without the data."""
        schedule = self._schedule(name)
        return schedule.section(recall(schedule.jobs(self.device), self.ledger), self.device, problem)

    def _train(self, name: str, data: Dataset, waiting: list[Job], processes: int) -> Iterator[Outcome]:
        if processes == 1:
            return execute(data, waiting, self.ledger, self.progress.run_starts)
        load = partial(self.experiment.load, name, self.root, self.access)
        return execute_in_processes(load, waiting, self.ledger, processes)

    def _schedule(self, name: str, data: Dataset | None = None) -> Schedule:
        """The runs on a data set, whose identity is kept in a file so that runs can be counted without the data."""
        path = self._folder(name) / IDENTITY
        if name not in self._schedules or data is not None:
            known = DataIdentity.of(data) if data is not None else None
            if data is None and path.exists():
                known = read_json(path, DataIdentity)
            self._schedules[name] = Schedule(self.experiment, name, known)
            if data is not None and not self.experiment.flat:
                write_atomically(path, checksummed(json.dumps(msgspec.to_builtins(known), indent=2) + "\n"))
        return self._schedules[name]

    def _finish(self, section: Section) -> None:
        self.progress.finish(section)
        self._write_table(section)
        self._describe(section)

    def _write_table(self, section: Section) -> None:
        write_atomically(self._folder(section.dataset) / TABLE, document([section]).encode())

    def _describe(self, current: Section) -> None:
        """Write beside the ledger what a report needs: titles, labels, and which runs belong to which row."""
        if self.experiment.flat:
            return
        path = self.out / EXPERIMENT
        try:
            known = _records.read_json(path, {})[0] if path.is_file() else []
        except InputError:
            known = []  # the file is derived from the ledger and written again
        earlier = {section.dataset: section for section in known}
        sections = []
        for name in self.experiment.datasets:
            schedule, before = self._schedule(name), current if name == current.dataset else earlier.get(name)
            if schedule.identity is not None or before is not None:
                rows = before.rows if before else ()
                reasons = {row.label: [_FOLDERS.sub("…/", reason) for reason in row.reasons] for row in rows}
                sections.append(schedule.described(self.ledger, self.device, reasons))
        write_atomically(path, pack(sections).encode())

    def _folder(self, name: str) -> Path:
        return self.out if self.experiment.flat else self.out / folder_name(name)
