"""What stands on the page of experiments: a table of the files, from the files."""

from generate.committed import about, packed
from generate.repository import EXPERIMENTS
from mggcn import experiments as experiment
from mggcn.experiments import Experiment

_FOLDERS = ("paper", "ethereum")


def files() -> list[Experiment]:
    """The experiments of the repository, the paper's first."""
    return [one for folder in _FOLDERS for one in experiment.read_folder(EXPERIMENTS / folder)]


def place(one: Experiment) -> str:
    """Its file, from the root of the repository."""
    return one.path.relative_to(EXPERIMENTS.parent).as_posix()


def table() -> str:
    """File, what of the paper it reproduces, data sets, number of runs, and whether its records are committed."""
    done: dict[str, list[str]] = {}
    for path in packed():
        done.setdefault(about(path), []).append(f"[{path.stem}](results/index.md#{path.stem})")
    lines = ["| file | what it is | of the paper | data sets | runs | records |", "|---|---|---|---|---:|---|"]
    for one in files():
        missing = "[its data are made first](#what-is-not-here)" if one.folders else "not committed yet"
        where = ", ".join(done.get(one.name, [missing]))
        file = one.path.relative_to(EXPERIMENTS).as_posix()
        cells = (f"`{file}`", one.title, one.reproduces, ", ".join(one.datasets), str(one.num_runs), where)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def needed() -> str:
    """The data sets that the user has to make, and what their experiments say of that."""
    found = {name: how for one in files() for name, how in one.folders.items()}
    return "\n".join(f"- `{name}`: {_coded(how)}." for name, how in found.items())


def _coded(how: str) -> str:
    """What a file says of making a data set, with the command, which comes last, as code."""
    words, mark, command = how.partition(": mggcn ")
    return f"{words}: `mggcn {command}`" if mark else words
