"""Shows an experiment while it runs: a live table on a terminal, a line for each run elsewhere; then its tables."""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from mggcn import experiments
from mggcn.cli.display import Display, visible
from mggcn.cli.options import RunOptions, with_flags
from mggcn.cli.results import figures
from mggcn.data import Dataset, headline
from mggcn.errors import InputError
from mggcn.experiments import Experiment, Job, Outcome, Section, markdown, ranking_table, section_table
from mggcn.runs import Requirements
from mggcn.training import Epoch, choose_device


class ExperimentDisplay(experiments.ExperimentProgress):
    """Shows the runs of an experiment on standard error and prints its tables to standard output."""

    def __init__(self, options: RunOptions, *, per_class: bool) -> None:
        self._options, self._per_class = options, per_class
        self.sections: list[Section] = []
        self.names: list[str] = []
        self._open = ExitStack()
        self._noted: set[str] = set()

    def note(self, text: str) -> None:
        """Write a line, of equal ones of a data set the first."""
        if text not in self._noted:
            self._options.note(text)
        self._noted.add(text)

    def start(self, title: str, dataset: Dataset, section: Section, total: int) -> None:
        """Show the table of a data set."""
        self._noted.clear()
        self.note(headline(dataset))
        self.names.append(dataset.name)
        self._dataset, self._title, self._total, self._section = dataset, title, total, section
        self._ended, self._now = sum(row.done for row in section.rows), ""
        self._job: Job | None = None
        self._announced: set[str] = set()
        self._shown = self._open.enter_context(Display(quiet=self._options.quiet, transient=True))
        self._shown.show(self._table)
        if self._ended:
            self._shown.line(f"{self._ended} of {total} runs are done already")

    def run_starts(self, job: Job) -> "ExperimentDisplay":
        """Mark the row of the run."""
        self._job, self._now = job, f"; {job.title}: preparing"
        if (
            job.label not in self._announced
            and (needed := Requirements.of(job.plan.recipes, self._dataset)) is not None
        ):
            self._shown.line(f"{job.label}, {needed}")
        self._announced.add(job.label)
        return self

    def epoch(self, epoch: Epoch) -> None:
        """Show an epoch below the table."""
        if self._job is not None:
            most = self._job.plan.training.epochs
            reached = f"epoch {epoch.number} of at most {most}, val accuracy {epoch.val_accuracy:.2%}"
            self._now = f"; {self._job.title}: {reached}"

    def run_ends(self, outcome: Outcome, section: Section) -> None:
        """Show the result of a run."""
        self._ended += 1
        self._job, self._now, self._section = None, "", section
        result = figures(outcome.record) if outcome.record else f"not run: {with_flags(outcome.reason)}"
        self._shown.line(f"[{self._ended}/{self._total}] {outcome.job.title}: {result}")

    def finish(self, section: Section) -> None:
        """Print the table."""
        self._open.close()
        self.sections.append(section)
        if section.problem:
            self.note(f"{section.dataset}: not run: {with_flags(section.problem)}")
        print(markdown(section), end="")
        if self._per_class and section.measured:
            print(f"\n{ranking_table(section.measured).markdown(text_columns=2)}")

    def _table(self) -> Table:
        shown, caption = section_table(self._section), f"{self._ended} of {self._total} runs are done{self._now}"
        table = Table(title=Text(visible(self._title)), caption=Text(caption), caption_justify="left")
        for number, heading in enumerate(shown.headings):
            table.add_column(heading, justify="right" if number else "left", no_wrap=number == 0)
        for row, texts in zip(shown.items, shown.texts, strict=True):
            is_running = self._job is not None and self._job.label == row.label
            style = "bold cyan" if is_running else "" if row.done == row.seeds else "dim"
            table.add_row(*(Text(visible(text)) for text in texts), style=style)
        return table


def run(
    experiment: Experiment,
    options: RunOptions,
    *,
    seeds: int | None,
    out: Path | None,
    jobs: int = 1,
    only: str | None = None,
    per_class: bool = False,
) -> list[Section]:
    """Run an experiment for a command: show it, print its tables, and raise the problems that occurred.

    Returns its sections.
    """
    device, interrupted = choose_device(options.device or "auto"), False
    shown = ExperimentDisplay(options, per_class=per_class)
    try:
        experiments.run(
            experiment,
            seeds=seeds,
            device=device,
            jobs=jobs,
            only=only,
            out=out,
            root=options.root,
            access=options.access,
            progress=shown,
        )
    except KeyboardInterrupt:
        if not shown.sections:
            raise
        interrupted = True
    if options.as_json:
        result: dict[str, Any] = {"device": device.type, "seeds": seeds or experiment.seeds}
        result |= {"out": str(out or experiment.folder), "interrupted": interrupted}
        tables = [{"dataset": one.dataset, "summaries": one.summaries()} for one in shown.sections]
        result |= tables[0] | {"dataset": shown.names[0]} if experiment.flat else {"tables": tables}
        print(json.dumps(result if experiment.flat else {"experiment": experiment.name, **result}))
    if interrupted:
        raise KeyboardInterrupt
    selected, problems = experiment.selected(only), []
    for section in shown.sections:
        tried = [row for row in section.rows if row.label in selected[section.dataset]]
        name, what = (shown.names[0], "methods") if experiment.flat else (section.dataset, "variants")
        if section.problem:
            problems.append(f"{experiment.path or experiment.name}: data set {name}: {with_flags(section.problem)}")
        elif not any(row.done for row in tried):
            reason = f"{tried[0].label}, {with_flags(tried[0].reasons[0])}"
            problems.append(f"{name}: none of the {what} could be run; {reason}")
    if problems:
        raise InputError("; ".join(problems))
    return shown.sections
