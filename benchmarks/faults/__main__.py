"""Run faults by number and record whether the promises hold.

    python -m benchmarks.faults kills --count 500
    python -m benchmarks.faults kills --first 17 --count 1      (one case again)
    python -m benchmarks.faults kills --again                   (the cases that failed)
    python -m benchmarks.faults all --share 0.01 --out faults.json

A case depends on ``--seed`` and its number only. A failed case prints its number, what was done and what was seen. The
results are merged into ``benchmarks/results/faults.json``, from which ``docs/reliability.md`` is made. ``--count`` of
``soak`` is a number of minutes. The exit code is 1 if a case failed.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

from benchmarks.faults import attacks, corruptions, inputs, kills, races, record, shortages, signals, soak
from benchmarks.faults.processes import import_libraries
from benchmarks.faults.promises import PROMISES
from benchmarks.faults.stage import Stage, staged
from mggcn.training import _environment as environment

CASES: dict[str, ModuleType] = {
    "kills": kills,
    "corruptions": corruptions,
    "inputs": inputs,
    "attacks": attacks,
    "races": races,
    "signals": signals,
    "shortages": shortages,
}
_EVERY = 20  # cases between two lines of progress, after each of which the record is written


def run(name: str, numbers: Sequence[int], seed: int, stage: Stage, out: Path, machine: dict[str, Any]) -> int:
    """Run cases of one promise, record them, and return how many failed."""
    failed, started = 0, time.monotonic()
    results: dict[int, str] = {}
    for count, number in enumerate(numbers, 1):
        what, problem = CASES[name].case(number, Random(f"{seed} {name} {number}"), stage)  # noqa: S311
        results[number], failed = problem and f"{what}: {problem}", failed + bool(problem)
        if problem:
            _print(f"{name} {number}: {what}\n    {problem}")
        if len(results) == _EVERY or count == len(numbers):
            record.merge(out, name, seed, results, time.monotonic() - started, machine)
            results, started = {}, time.monotonic()
            _print(f"{name}: {count} of {len(numbers)} run, {failed} failed")
    return failed


def run_soak(minutes: float, stage: Stage, out: Path, machine: dict[str, Any]) -> int:
    """Run the soak test, record it, and return whether it failed."""
    problem, usages = soak.soak(minutes, stage)
    whole = range(max(1, int(minutes)))
    record.merge(out, "soak", 0, dict.fromkeys(whole, problem), 60 * minutes, machine)
    _print(f"soak: {len(usages)} rounds in {minutes:g} minutes: {problem or 'nothing grew'}; {usages[1]}, {usages[-1]}")
    return int(bool(problem))


def main() -> int:
    """Run one promise, or a share of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("promise", choices=[*PROMISES, "all"])
    parser.add_argument("--count", type=int, help="how many cases; by default the target")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--again", action="store_true", help="run the cases of the record that failed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--share", type=float, default=1.0, help="of the targets, for all")
    parser.add_argument("--out", type=Path, default=record.RESULTS, help="the record to merge the results into")
    options = parser.parse_args()
    machine = {**environment.describe(), "load_before": round(os.getloadavg()[0], 1)}
    import_libraries()
    failed, names = 0, list(PROMISES) if options.promise == "all" else [options.promise]
    with staged() as stage:
        for name in names:
            count = options.count or max(1, round(options.share * PROMISES[name].target))
            if name == "soak":
                failed += run_soak(options.count or options.share * PROMISES[name].target, stage, options.out, machine)
            else:
                again = record.failed(options.out, name) if options.again else None
                numbers = range(options.first, options.first + count) if again is None else again
                failed += run(name, numbers, options.seed, stage, options.out, machine)
    return int(failed > 0)


def _print(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
