"""What stands on the page of experiments: a table of the files, from the files."""

from generate.committed import packed
from generate.repository import EXPERIMENTS
from mggcn import experiment


def table() -> str:
    """File, what of the paper it reproduces, data sets, number of runs, and whether its records are committed."""
    done = {path.stem for path in packed()}
    lines = ["| file | what it is | of the paper | data sets | runs | records |", "|---|---|---|---|---:|---|"]
    for one in experiment.read_folder(EXPERIMENTS):
        name = one.path.stem
        if one.folders:
            where = "[its data are not public](#what-is-not-here)"
        else:
            where = f"[committed](results/index.md#{name})" if name in done else "not committed yet"
        cells = (f"`{one.path.name}`", one.title, one.reproduces, ", ".join(one.datasets), str(one.num_runs), where)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def needed() -> str:
    """The data sets that the user has to make, and what their experiments say of that."""
    lines = [
        f"- `{name}` (`{one.path.name}`): {how}"
        for one in experiment.read_folder(EXPERIMENTS)
        for name, how in one.folders.items()
    ]
    return "\n".join(lines)
