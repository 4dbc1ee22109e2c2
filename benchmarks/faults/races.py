"""Races of four processes: nothing is lost, and whoever cannot write says so."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from benchmarks.faults.commands import TRAIN
from benchmarks.faults.processes import Ended, Process
from benchmarks.faults.stage import RUN, Stage, temporary_files
from benchmarks.faults.whole import torn
from mggcn.experiments import Ledger


@dataclass(frozen=True)
class Race:
    """Four commands at the same time.

    Attributes:
        commands: one line for all, or four.
        lost: the number of results that are not there, from the folder and the number of commands that succeeded.
        all_succeed: whether none may be refused.
    """

    commands: tuple[str, ...]
    lost: Callable[[Path, int], int]
    all_succeed: bool = True


def _folders(folder: Path, succeeded: int) -> int:
    return succeeded - len(list(folder.glob("out/*/record.json")))


def _records(count: int, name: str = "out/records.jsonl") -> Callable[[Path, int], int]:
    return lambda folder, _: count - len(Ledger(folder / name).records)


def _one(name: str) -> Callable[[Path, int], int]:
    return lambda folder, succeeded: int(succeeded == 0 or not (folder / name).exists())


_COMPARE = "compare tiny --methods {} --seeds 1 --set epochs=2 --quiet --out out"
_IMPORT = "data import edges.csv --nodes nodes.csv --out"
RACES = (
    Race((TRAIN,), _folders),
    Race(tuple(f"{TRAIN} --seed {seed}" for seed in range(4)), _folders),
    Race((f"{TRAIN} --mmap",), _folders),
    Race(tuple(_COMPARE.format(method) for method in ("sgc", "mlp", "gcn", "mg-gcn")), _records(4)),
    Race((_COMPARE.format("sgc,mlp"),), _records(2)),
    Race((f"{_IMPORT} out",), _one("out/meta.json"), all_succeed=False),
    Race((f"{_IMPORT} tiny --overwrite",), _one("tiny/meta.json"), all_succeed=False),
    Race((f"{_IMPORT} tiny --overwrite", *["data info tiny"] * 3), _one("tiny/meta.json")),
    Race((f"{_IMPORT} out", *[f"predict {RUN} --out out.csv"] * 3), _one("out.csv"), all_succeed=False),
    Race((f"predict {RUN} --out out.parquet",), _one("out.parquet"), all_succeed=False),
    Race(("report made compared --format md --out out.md",), _one("out.md"), all_succeed=False),
    Race(("experiment run small.toml --quiet --out out",), _records(2)),
    Race(("tune tiny --trials 3 --set epochs=1 --quiet --out out",), _one("out/best.toml"), all_succeed=False),
    Race(("data get ethereum-like:0.001 --root out",), _one("out/synthetic")),
    Race(("ethereum simulate --scale 0.001 --out out.parquet",), _one("out.parquet"), all_succeed=False),
    Race(
        ("ethereum build chain.parquet --labels chain.labels.csv --quiet --out out",),
        _one("out/meta.json"),
        all_succeed=False,
    ),
    Race(
        ("train --resume unfinished --epochs 30 --set patience=3 --no-report --quiet",),
        _one("unfinished/record.json"),
        all_succeed=False,
    ),
)


def case(number: int, draw: Random, stage: Stage) -> tuple[str, str]:
    """Run one race; return what was done, and the problem."""
    race = RACES[number % len(RACES)]
    lines = list(race.commands * (4 // len(race.commands)))
    draw.shuffle(lines)
    what = f"at the same time: {'; '.join(f'mggcn {line}' for line in lines)}"
    with stage.copy() as folder:
        processes = []
        for line in lines:
            processes.append(Process(line.split(), folder))
            processes[-1].ended(draw.choice([0, 0, 0.05, 0.2]) * draw.random())
        ended = [process.result() for process in processes]
        return what, _problem(race, ended, folder) or torn(folder)


def _problem(race: Race, ended: list[Ended], folder: Path) -> str:
    for each in ended:
        if each.code and (race.all_succeed or not each.one_line()):
            return str(each)
    if (lost := race.lost(folder, sum(each.code == 0 for each in ended))) > 0:
        return f"{lost} results lost"
    left = temporary_files(folder)
    return f"temporary files left: {', '.join(left)}" if left else ""
