"""The record of all faults that were run, ``benchmarks/results/faults.json``: results are merged by their numbers."""

import json
from pathlib import Path
from typing import Any

from mggcn._io.files import write_atomically

RESULTS = Path(__file__).resolve().parents[1] / "results" / "faults.json"


def merge(
    path: Path, promise: str, seed: int, results: dict[int, str], seconds: float, machine: dict[str, Any]
) -> None:
    """Add the results of one promise to a record.

    Args:
        path: the record; created if it is not there.
        promise: its name.
        seed: of the cases; results of another seed are replaced.
        results: the problem of each case by its number, empty if the promise held.
        seconds: that the cases took.
        machine: where they were run, and the commit, as they were when the first case started.
    """
    record = json.loads(path.read_text()) if path.exists() else {"format": 1, "what": "faults", "promises": {}}
    known = record["promises"].get(promise, {})
    if known.get("seed") != seed:
        known = {"held": [], "failed": {}, "seconds": 0.0}
    failed = {int(number): problem for number, problem in known["failed"].items() if int(number) not in results}
    failed |= {number: problem for number, problem in results.items() if problem}
    held = {number for first, last in known["held"] for number in range(first, last + 1)} - set(results)
    held |= {number for number, problem in results.items() if not problem}
    commits = [*known.get("commits", []), machine["commit"] or "unknown"]
    record["promises"][promise] = {
        "seed": seed,
        "held": _ranges(sorted(held)),
        "failed": {str(number): failed[number] for number in sorted(failed)},
        "seconds": round(known["seconds"] + seconds, 1),
        "commits": list(dict.fromkeys(commits)),
        "machine": machine,
    }
    write_atomically(path, (json.dumps(record, indent=1) + "\n").encode())


def failed(path: Path, promise: str) -> list[int]:
    """The numbers of the cases that failed."""
    return [int(number) for number in json.loads(path.read_text())["promises"][promise]["failed"]]


def _ranges(numbers: list[int]) -> list[list[int]]:
    """Sorted numbers as ranges, each with its first and last."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ranges
