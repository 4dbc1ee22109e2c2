"""Running experiments: load each data set, train what is not in the ledger, write tables."""

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec
import torch

from mggcn._io.files import check_writable, read_json, sealed, write_atomically
from mggcn._io.mapping import AUTOMATIC, Access
from mggcn.data import Dataset, headline
from mggcn.errors import InputError
from mggcn.experiments import _execution, _parallel
from mggcn.experiments._definition import Experiment, folder_name, read
from mggcn.experiments._ledger import Ledger
from mggcn.experiments._records import EXPERIMENT, RECORDS, pack, read_experiment
from mggcn.experiments._rows import Section
from mggcn.experiments._schedule import Job, Outcome, Schedule, outdated, recall
from mggcn.experiments._tables import markdown, notes
from mggcn.runs import DataIdentity
from mggcn.training import Progress, Silent, choose_device

TABLE, IDENTITY = "table.md", "dataset.json"
_FOLDERS = re.compile(r"(?<![\w.:/])/(?:[^\s/:;,()]+/)+")


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
    work = _Work(_read(experiment, allow_import=allow_import), seeds, device, out, root, access, progress)
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
    work = _Work(_read(experiment, allow_import=allow_import), seeds, device, out)
    return [work.section(name) for name in work.experiment.datasets]


def _read(experiment: Experiment | Path | str, *, allow_import: bool) -> Experiment:
    return experiment if isinstance(experiment, Experiment) else read(experiment, allow_import=allow_import)


class _Work:
    """What the data sets of an experiment share while it runs; the arguments are those of :func:`run`."""

    def __init__(
        self,
        experiment: Experiment,
        seeds: int | None,
        device: str | torch.device,
        out: Path | str | None,
        root: Path | None = None,
        access: Access = AUTOMATIC,
        progress: ExperimentProgress | None = None,
    ) -> None:
        if seeds is not None and seeds < 1:
            raise InputError(f"seeds: {seeds} is less than 1")
        self.experiment = experiment if seeds is None else msgspec.structs.replace(experiment, seeds=seeds)
        self.device, self.root, self.access = choose_device(device), root, access
        self.progress = progress or ExperimentProgress()
        experiment.check()
        self.out = Path(out) if out else experiment.folder
        self.ledger = Ledger(self.out / RECORDS)
        self._schedules: dict[str, Schedule] = {}
        for line in outdated((variant.method_class for variant in experiment.variants), self.ledger):
            self.progress.note(line)

    def fill(self, name: str, labels: set[str], processes: int) -> Section:
        """Train what is missing on one data set; its table, with the runs that were finished earlier."""
        try:
            data = self.experiment.load(name, self.root, self.access)
            if self.experiment.splits:
                data = _execution.random_split(data, 0)
            data.require_split()
        except (InputError, OSError) as error:
            if self.experiment.flat:
                raise
            problem = " ".join(str(error).split())
            section = self.section(name, problem)
            self._write_table(section, f"{name}: not run: {problem}")
            self._describe(section)
            self.progress.finish(section)
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
                self._write_table(section, headline(data))
        finally:
            self.progress.finish(section)
            self._write_table(section, headline(data))
            self._describe(section)
        return section

    def section(self, name: str, problem: str = "") -> Section:
        """The table of a data set from the ledger, without the data."""
        schedule = self._schedule(name)
        return schedule.section(recall(schedule.jobs(self.device), self.ledger), self.device, problem)

    def _train(self, name: str, data: Dataset, waiting: list[Job], processes: int) -> Iterator[Outcome]:
        if processes == 1:
            return _execution.execute(data, waiting, self.ledger, self.progress.run_starts)
        load = partial(self.experiment.load, name, self.root, self.access)
        return _parallel.execute(load, waiting, self.ledger, processes)

    def _schedule(self, name: str, data: Dataset | None = None) -> Schedule:
        """The runs on a data set, whose identity is kept in a file so that runs can be counted without the data."""
        path = self._folder(name) / IDENTITY
        if name not in self._schedules or data is not None:
            known = DataIdentity.of(data) if data is not None else _read_identity(path)
            self._schedules[name] = Schedule(self.experiment, name, known)
            if data is not None and not self.experiment.flat:
                write_atomically(path, sealed(json.dumps(msgspec.to_builtins(known), indent=2) + "\n"))
        return self._schedules[name]

    def _write_table(self, section: Section, first_line: str) -> None:
        above = "\n".join(part for part in (first_line, self.experiment.about) if part)
        content = f"{above}\n\n{markdown(section)}\n{notes([section])}\n"
        write_atomically(self._folder(section.dataset) / TABLE, content.encode())

    def _describe(self, current: Section) -> None:
        """Write beside the ledger what a report needs: titles, labels, and which runs belong to which row."""
        if self.experiment.flat:
            return
        path = self.out / EXPERIMENT
        try:
            earlier = {section.dataset: section for section in read_experiment(path)[0]}
        except InputError:
            earlier = {}  # the file is derived from the ledger and written again
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


def _read_identity(path: Path) -> DataIdentity | None:
    return read_json(path, DataIdentity) if path.exists() else None
