"""``config.toml``: what it takes to train a run again."""

from pathlib import Path
from typing import Any

import msgspec

from mggcn._io.files import read_toml
from mggcn.methods.published import Preset
from mggcn.methods.settings import refuse_imports
from mggcn.training import RunRecord


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The fields of a ``config.toml``; all are optional.

    ``preset`` is where settings start that the file does not name. A run names all of them; runs of older versions do
    not name newer ones, which the paper's settings leave neutral. ``warm_start`` is the folder of the run whose weights
    it starts with.
    """

    dataset: str | None = None
    method: str | None = None
    seed: int = 0
    device: str = "auto"
    preset: Preset = "paper"
    warm_start: str | None = None
    settings: dict[str, Any] = {}


def config_of(record: RunRecord) -> dict[str, Any]:
    """The ``config.toml`` of a run."""
    return {
        "dataset": record.dataset["path"] or record.dataset["name"],
        "method": record.method,
        "seed": record.seed,
        "device": record.device,
        **({"warm_start": record.warm_start["path"]} if record.warm_start else {}),
        "settings": record.settings,
    }


def read_config(path: Path, *, allow_import: bool = False) -> Config:
    """Read a ``config.toml``; ``allow_import`` as in :func:`mggcn.runs.load_run`."""
    config = read_toml(path, Config)
    refuse_imports(path, {"method": config.method, **config.settings}, allow_import=allow_import)
    return config
