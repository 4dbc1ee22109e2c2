"""ExperimentProgress: receives what happens while an experiment runs."""

from mggcn import train
from mggcn.dataset import Dataset
from mggcn.experiments._schedule import Job, Outcome
from mggcn.records import Section
from mggcn.train.progress import Silent


class ExperimentProgress:
    """Shows nothing; subclasses override what they want to show."""

    def note(self, text: str) -> None:
        """One line about the whole experiment."""

    def start(self, title: str, dataset: Dataset, section: Section, total: int) -> None:
        """The runs on a data set start; ``section`` holds those that are already done, ``total`` counts all."""

    def run_starts(self, job: Job) -> train.Progress:  # noqa: ARG002
        """A run starts; what is returned receives its epochs."""
        return Silent()

    def run_ends(self, outcome: Outcome, section: Section) -> None:
        """A run ended; ``section`` includes it."""

    def finish(self, section: Section) -> None:
        """All runs on a data set ended, or were interrupted, or the data set is not available."""
