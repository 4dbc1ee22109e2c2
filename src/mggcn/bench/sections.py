"""Runs the sections one after the other and writes a record for each."""

from collections.abc import Callable
from typing import Any

import torch

from mggcn import datasets
from mggcn.bench import epoch, pick, prepare, record
from mggcn.bench.options import Options
from mggcn.bench.sheet import Sheet
from mggcn.dataset import Dataset
from mggcn.train import choose_device

_MEASURES: dict[str, Callable[[Options, Dataset, torch.device], Sheet]] = {
    "pick": pick.measure,
    "prepare": prepare.measure,
    "epoch": epoch.measure,
}


def bench(options: Options, show: Callable[[dict[str, Any]], None] | None = None) -> dict[str, dict[str, Any]]:
    """Measure what ``options`` ask for; return the record of each section, as written to its file.

    Args:
        options: what to measure.
        show: hears each record as soon as it is written.
    """
    device = choose_device(options.device)
    dataset = datasets.load(options.source, root=options.root, mmap=True)
    records = {}
    for section in options.sections:
        before = record.load()
        sheet = _MEASURES[section](options, dataset, device)
        records[section] = record.compose(section, options, dataset, device, sheet, before)
        record.write(records[section], record.path_of(section, options))
        if show is not None:
            show(records[section])
    return records
