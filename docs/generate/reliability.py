"""The promises of ``docs/reliability.md`` with how often each was tried and held, from the record of the faults."""

import json
from typing import Any

from generate.repository import ROOT, script

RECORD = ROOT / "benchmarks" / "results" / "faults.json"


def promises() -> str:
    """A table of the promises, and below it every case that failed and where they were run."""
    return table(json.loads(RECORD.read_text())["promises"])


def table(results: dict[str, Any]) -> str:
    """The same for given results by the name of their promise."""
    rows = ["| what is done | what holds | target | run | held | time |", "|---|---|---:|---:|---:|---:|"]
    failures, machines = [], {}
    for name, promise in script("benchmarks/faults/promises.py").PROMISES.items():
        result = results.get(name, {"held": [], "failed": {}, "seconds": 0.0})
        held = sum(last - first + 1 for first, last in result["held"])
        run = held + len(result["failed"])
        minutes = f"{result['seconds'] / 60:,.0f} min" if run else "–"
        counts = f"{promise.target:,}{promise.unit} | {run:,} | {held:,} | {minutes}"
        rows.append(f"| {promise.cases} (`{name}`) | {promise.holds} | {counts} |")
        failures += [f"- `{name} --first {number}`: {what}" for number, what in result["failed"].items()]
        if "machine" in result:
            machines[name] = _machine(result["machine"], result["commits"])
    parts = ["\n".join(rows)]
    if failures:
        parts += ["Cases that failed:", "\n".join(failures)]
    for machine in dict.fromkeys(machines.values()):
        names = ", ".join(f"`{name}`" for name, where in machines.items() if where == machine)
        parts.append(f"{names}: {machine}.")
    return "\n\n".join(parts) + "\n"


def _machine(machine: dict[str, Any], commits: list[str]) -> str:
    """Where cases were run; a commit ends with + if there were local changes."""
    short = " and ".join(commit[:8] + "+" * commit.endswith("+") for commit in commits)
    versions = f"Python {machine['python']}, torch {machine['packages']['torch']}"
    return f"{machine['processor']}, {machine['cores']} cores, {versions}, commit {short}"
