"""The generated parts of the page of experiments: a table of the files, and the data sets that the user makes."""

from generate.committed import about, packed
from generate.repository import EXPERIMENTS
from mggcn.experiments import Experiment, read_folder

_FOLDERS = ("paper", "ethereum", ".", "tuned")


def files() -> list[Experiment]:
    """The experiments of the repository, the paper's first."""
    return [experiment for folder in _FOLDERS for experiment in read_folder(EXPERIMENTS / folder)]


def file_of(experiment: Experiment) -> str:
    """The file of an experiment, from the root of the repository."""
    assert experiment.path is not None  # noqa: S101  (all were read from files)
    return experiment.path.relative_to(EXPERIMENTS.parent).as_posix()


def table() -> str:
    """File, title, the part of the paper that it reproduces, data sets, number of runs, and the committed records."""
    done: dict[str, list[str]] = {}
    for path in packed():
        done.setdefault(about(path), []).append(f"[{path.stem}](results/index.md#{path.stem})")
    lines = ["| file | what it is | of the paper | data sets | runs | records |", "|---|---|---|---|---:|---|"]
    for experiment in files():
        missing = "[its data are made first](#what-is-not-here)" if experiment.folders else "not run yet"
        cells = (
            f"`{file_of(experiment).removeprefix('experiments/')}`",
            experiment.title,
            experiment.reproduces,
            ", ".join(experiment.datasets),
            str(experiment.num_runs),
            ", ".join(done.get(experiment.name, [missing])),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def needed() -> str:
    """The data sets that the user has to make, and how."""
    folders = {name: how for experiment in files() for name, how in experiment.folders.items()}
    return "\n".join(f"- `{name}`: {_with_code(how)}." for name, how in folders.items())


def _with_code(how: str) -> str:
    """How to make a data set, with the command, which comes last, as code."""
    words, mark, command = how.partition(": mggcn ")
    return f"{words}: `mggcn {command}`" if mark else words
