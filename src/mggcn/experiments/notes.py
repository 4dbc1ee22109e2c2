"""What an experiment leaves beside its records, for those who want to count or report runs without their data."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mggcn import storage
from mggcn.dataset import Dataset
from mggcn.errors import InputError
from mggcn.experiments.definition import Experiment
from mggcn.records import spec
from mggcn.records.ledger import Ledger
from mggcn.records.sheet import DataTable, Entry, Sheet, without_folders


def note_identity(path: Path, dataset: Dataset) -> dict[str, Any]:
    """The identity of a data set, which is also written to a file for those who want to count runs without it."""
    identity = spec.identity(dataset)
    storage.write_atomically(path, (json.dumps(identity, indent=2) + "\n").encode())
    return identity


def noted_identity(path: Path) -> dict[str, Any] | None:
    """What :func:`note_identity` wrote, None where it has not."""
    if not path.exists():
        return None
    try:
        identity = json.loads(path.read_text())
        if isinstance(identity, dict) and isinstance(identity.get("name"), str):
            return identity
    except ValueError:
        pass
    raise InputError(f"{path}: not the identity of a data set")


def sheet(
    chosen: Experiment,
    identities: Mapping[str, Mapping[str, Any] | None],
    reasons: Mapping[str, Mapping[str, Sequence[str]]],
    ledger: Ledger,
    device: str,
    before: Sheet | None,
) -> Sheet:
    """What a report is to know of an experiment.

    Args:
        chosen: the experiment.
        identities: of its data sets by their names in the file; None for one that was never had.
        reasons: by data set and label why runs cannot be had, for the data sets that were tried now.
        ledger: of its runs, which may be of more seeds and devices than are asked for now.
        device: that of now.
        before: what was known until now, which stays true of data sets that were not tried.
    """
    done = ledger.records.values()
    devices = dict.fromkeys([device, *(record.device for record in done)])
    seeds = sorted({*range(chosen.seeds), *(record.seed for record in done)})
    tables = []
    for name in chosen.datasets:
        earlier, identity = before.table(name) if before else None, identities[name]
        if identity is None and name not in reasons:
            tables += [earlier] if earlier else []
            continue
        planned = [job for each in devices for job in chosen.plan(name, identity, each, seeds)] if identity else []
        known = {entry.label: entry.reasons for entry in earlier.entries} if earlier else {}
        told = reasons.get(name, known)
        entries = [
            Entry(
                line.variant.label,
                line.variant.method,
                chosen.paper_of(name, line),
                line.grows,
                tuple(job.spec.digest for job in planned if job.variant.label == line.variant.label),
                tuple(without_folders(reason) for reason in told.get(line.variant.label, ())),
            )
            for line in chosen.lines
        ]
        tables.append(DataTable(name, tuple(entries)))
    return Sheet(chosen.name, chosen.title, chosen.reproduces, chosen.measure, chosen.seeds, tuple(tables))
