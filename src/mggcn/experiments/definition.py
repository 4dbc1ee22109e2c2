"""Experiment: the data sets, variants and seeds of a file, as jobs to carry out and as lines of tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mggcn import datasets, storage
from mggcn.dataset import Dataset
from mggcn.datasets.root import data_roots
from mggcn.errors import InputError
from mggcn.experiments import schedule
from mggcn.experiments.schedule import Job, Outcome, Variant
from mggcn.records.summary import Summary

MEASURES = ("accuracy", "epoch_seconds", "total_seconds")
"""What the paper's numbers may be."""


@dataclass(frozen=True)
class Line:
    """A variant, what it changes on single data sets, and how the nodes of its batches grow according to the paper."""

    variant: Variant
    on: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    grows: str = ""


@dataclass(frozen=True)
class Experiment:
    """Runs whose tables stand beside some of the paper's.

    Attributes:
        path: the file.
        name: of the folder of its results.
        title: a line for people.
        reproduces: what of the paper it is.
        datasets: known names, or those in ``folders``.
        lines: of every table.
        seeds: so many, from 0.
        settings: changes for every method that has them.
        measure: what it is about, one of :data:`MEASURES`.
        alone: whether runs must not share the machine.
        paper: numbers by data set, label and what they measure.
        folders: for each data set that the user has to make: how.
    """

    path: Path
    name: str
    title: str
    reproduces: str
    datasets: tuple[str, ...]
    lines: tuple[Line, ...]
    seeds: int
    settings: Mapping[str, object] = field(default_factory=dict)
    measure: str = "accuracy"
    alone: bool = False
    paper: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    folders: Mapping[str, str] = field(default_factory=dict)

    @property
    def num_runs(self) -> int:
        """Of all data sets, variants and seeds."""
        return len(self.datasets) * len(self.lines) * self.seeds

    def variants(self, dataset: str) -> list[Variant]:
        """The lines of a data set's table."""
        return [
            replace(line.variant, settings={**line.variant.settings, **line.on.get(dataset, {})}) for line in self.lines
        ]

    def selected(self, only: str | None) -> dict[str, set[str]]:
        """The labels to run by data set: those where ``only`` is part of one name or the other, or all."""
        part = (only or "").lower()
        labels = [line.variant.label for line in self.lines]
        found = {
            dataset: {label for label in labels if part in dataset.lower() or part in label.lower()}
            for dataset in self.datasets
        }
        kept = {dataset: chosen for dataset, chosen in found.items() if chosen}
        if not kept:
            raise InputError(f"--only: {only!r} is in no data set and no label of {self.path}")
        return kept

    def missing(self, root: Path | None) -> list[str]:
        """The data sets that the user has yet to make."""
        return [name for name in self.folders if self._folder(name, root) is None]

    def load(self, dataset: str, root: Path | None) -> Dataset:
        """One of the data sets.

        Args:
            dataset: its name.
            root: the data root, where also the user's own folders are looked for.
        """
        if dataset not in self.folders:
            return datasets.load(dataset, root=root)
        folder = self._folder(dataset, root)
        if folder is None:
            tried = data_roots(root)[0] / dataset
            raise InputError(f"{self.folders[dataset]}; there is no folder {tried}")
        return storage.load(folder)

    def plan(
        self, dataset: str, identity: Mapping[str, Any], device: str, seeds: Sequence[int] | None = None
    ) -> list[Job]:
        """The runs on a data set, as :func:`mggcn.experiments.schedule.plan` orders them.

        Args:
            dataset: its name in the file.
            identity: see :func:`mggcn.records.spec.identity`.
            device: ``cpu`` or ``cuda``.
            seeds: others than those of the file.
        """
        chosen = range(self.seeds) if seeds is None else seeds
        return schedule.plan_of(identity, self.variants(dataset), chosen, device=device, common=self.settings)

    def summarise(self, dataset: str, outcomes: Sequence[Outcome], device: str, lacking: str = "") -> list[Summary]:
        """The rows of a data set's table, the paper's numbers beside ours.

        Args:
            dataset: its name in the file.
            outcomes: of its runs so far.
            device: ``cpu`` or ``cuda``.
            lacking: why the data set cannot be had, if it cannot.
        """
        rows = []
        for line in self.lines:
            variant, paper = line.variant, self.paper_of(dataset, line)
            own = [outcome for outcome in outcomes if outcome.job.variant.label == variant.label]
            reasons = [f"seed {one.job.spec.seed}: {one.reason}" for one in own if one.record is None]
            records = [one.record for one in own if one.record is not None]
            rows.append(
                Summary.of(
                    variant.label,
                    variant.method,
                    records,
                    seeds=self.seeds,
                    device=device,
                    reasons=[f"{dataset}: {lacking}"] if lacking and len(records) < self.seeds else reasons,
                    published=paper.pop("accuracy", None),
                    published_seconds=paper,
                    grows=line.grows,
                )
            )
        return rows

    def paper_of(self, dataset: str, line: Line) -> dict[str, float]:
        """The paper's numbers for a line by what they measure."""
        return dict(self.paper.get(dataset, {}).get(line.variant.label, {}))

    def about(self) -> str:
        """What stands over its tables."""
        lines = [f"{self.title}. Of the paper: {self.reproduces}."]
        if self.settings:
            lines.append("Settings changed:" + "".join(f" {name}={value}" for name, value in self.settings.items()))
        return "\n".join(lines)

    def _folder(self, name: str, root: Path | None) -> Path | None:
        return next((place / name for place in data_roots(root) if storage.is_dataset(place / name)), None)
