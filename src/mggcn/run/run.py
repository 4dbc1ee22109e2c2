"""Run: a trained model with its record, the folder that holds one, and predictions from it.

The folder holds ``record.json`` (see :mod:`mggcn.records.record`), ``weights.safetensors`` (model and feature scaling)
and ``config.toml``, which reproduces the run.
"""

import dataclasses
import logging
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import tomli_w
import torch
from numpy.typing import ArrayLike
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor, nn

from mggcn import datasets, methods, storage, train
from mggcn.dataset import Dataset, as_dataset
from mggcn.errors import InputError, prefix_errors
from mggcn.files import replacing, write_durably
from mggcn.graph import node_numbers
from mggcn.keys import Key
from mggcn.methods import Plan
from mggcn.methods.settings import is_import_path
from mggcn.records.record import RunRecord
from mggcn.run._features import match_features
from mggcn.run.config import config_of
from mggcn.run.predictions import Predictions
from mggcn.train import Compute, Scaler, View, choose_device

if TYPE_CHECKING:
    from torch_geometric.data import Data

_log = logging.getLogger(__name__)

SCALER_ARRAYS = ("mean", "deviation", "idf")
RECORD, WEIGHTS, CONFIG = "record.json", "weights.safetensors", "config.toml"


@dataclass(frozen=True, eq=False)
class Run:
    """A trained model with what it takes to score nodes.

    Attributes:
        record: what happened.
        plan: the method with every setting.
        model: the module, with the best epoch's weights.
        scaler: the scaling of the features, as fitted in training.
        dataset: the data set it was trained on; None for a run read from disk.
        path: the folder it was saved to or read from.
        scored_on: the training data as prepared for scoring, and the device; None for a run read from disk.
    """

    record: RunRecord
    plan: Plan
    model: nn.Module
    scaler: Scaler
    dataset: Dataset | None = None
    path: Path | None = None
    scored_on: tuple[View, Compute] | None = field(default=None, repr=False)

    @property
    def classes(self) -> tuple[str, ...]:
        """The name of each class."""
        return tuple(self.record.dataset["classes"])

    @property
    def key(self) -> Key:
        """The random key of the run."""
        return Key.of(self.record.seed)

    def predict(
        self,
        dataset: "Dataset | Data | None" = None,
        nodes: ArrayLike | None = None,
        *,
        draws: int = 1,
        calibrated: bool = True,
        device: str | torch.device = "auto",
        root: Path | None = None,
    ) -> Predictions:
        """Score nodes of the training graph or of a new graph with the same features.

        If the run and the graph both have names of features, columns are matched by name: their order does not matter,
        a missing one is an error, and further ones are ignored with an :class:`mggcn.InputWarning`. Otherwise they are
        matched by position, with such a warning if only the run has names.

        Args:
            dataset: the graph to score, a Dataset or PyG's ``Data``; the one the run was trained on when None.
            nodes: node numbers or a boolean mask, as a list, a range, an array or a tensor; all nodes when None.
            draws: average the probabilities over so many independent draws of the picks.
            calibrated: scale the probabilities by the temperature that was fitted on the validation nodes; the most
                probable class does not depend on it.
            device: ``auto``, ``cpu``, ``cuda`` or a device.
            root: the folder in which named data sets are searched.
        """
        data = self.training_data(root) if dataset is None else as_dataset(dataset, "predict", needs_split=False)
        with prefix_errors(data.name):
            targets = np.arange(data.num_nodes) if nodes is None else node_numbers(nodes, data.num_nodes)
        if targets.size == 0:
            raise InputError(f"{data.name}: no nodes to predict")
        started = time.perf_counter()
        view, compute = self.view(data, choose_device(device))
        scores = train.predict(self.model, view, targets, self.key, compute, draws)
        seconds = time.perf_counter() - started
        _log.info(
            "%s: scored %d nodes on %s in %.2f s, preparation included",
            data.name,
            targets.size,
            compute.device,
            seconds,
        )
        if calibrated:
            scores = train.calibrated(scores, self.record.temperature)
        return Predictions(targets, data.ids_of(targets), scores.exp().cpu().numpy(), self.classes, data.id_name)

    def view(self, dataset: Dataset, device: torch.device) -> tuple[View, Compute]:
        """A graph prepared for scoring on a device, to which the model is moved; not prepared again if it was."""
        model = self.model.to(device)
        if self.scored_on is not None and dataset is self.dataset and self.scored_on[1].device.type == device.type:
            return self.scored_on
        compute, matched = self.plan.compute(device), match_features(dataset, self.record.dataset)
        view = methods.view_of(matched, self.scaler, model, self.key, compute)
        return self.plan.method.prepare(view).eval, compute

    def save(self, folder: str | Path) -> "Run":
        """Write the run folder and return the run as saved there."""
        target = Path(folder)
        if target.exists():
            raise InputError(f"{target}: already exists")
        tensors = {f"model.{name}": tensor.contiguous() for name, tensor in self.model.state_dict().items()}
        for name in SCALER_ARRAYS:
            if (array := getattr(self.scaler, name)) is not None:
                tensors[f"scaler.{name}"] = torch.from_numpy(array)
        with replacing(target) as draft:
            write_durably(draft / RECORD, self.record.to_json().encode())
            write_durably(draft / WEIGHTS, save_tensors(tensors))
            write_durably(draft / CONFIG, tomli_w.dumps(config_of(self.record)).encode())
        return dataclasses.replace(self, path=target.resolve())

    def training_data(self, root: Path | None = None) -> Dataset:
        """The data set the run was trained on, loaded again if necessary; an error if it has changed."""
        if self.dataset is not None:
            return self.dataset
        name, digest = self.record.dataset["path"] or self.record.dataset["name"], self.record.dataset["digest"]
        data = datasets.load(name, root=root)
        if digest and storage.digest(data) != digest:
            raise InputError(f"{name}: the data set changed since {self.path or 'the run'} was trained on it")
        return data


def load_run(folder: str | Path, *, allow_import: bool = False) -> Run:
    """Read a run folder.

    Args:
        folder: as :meth:`Run.save` wrote it.
        allow_import: allow the record to name Python code to import, as the record of a user's own method does. Only
            allow it for folders from a source you trust: importing runs the code.
    """
    root = Path(folder)
    if not (root / RECORD).is_file():
        raise InputError(f"{root}: not a run folder ({RECORD} is missing)")
    try:
        record = RunRecord.from_json((root / RECORD).read_text())
        record.check_complete()
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"{root / RECORD}: not a run record ({error})") from None
    if not allow_import:
        _refuse_imports(root / RECORD, record)
    try:
        plan = methods.resolve(record.method, record.dataset["name"], record.settings, preset="paper")
    except InputError as error:
        raise InputError(f"{root / RECORD}: not a run record ({error})") from None
    try:
        tensors = load_tensors((root / WEIGHTS).read_bytes())
    except FileNotFoundError:
        raise InputError(f"{root}: not a run folder ({WEIGHTS} is missing)") from None
    except SafetensorError as error:
        raise InputError(f"{root / WEIGHTS}: cannot be read ({error})") from None
    try:
        model = plan.method.model(record.dataset["num_features"], len(record.dataset["classes"]), None)
        model.load_state_dict({name[6:]: tensor for name, tensor in tensors.items() if name.startswith("model.")})
    except RuntimeError:
        raise InputError(f"{root / WEIGHTS}: does not fit the model that {RECORD} describes") from None
    return Run(record, plan, model, _scaler(record, tensors), path=root.resolve())


def _refuse_imports(path: Path, record: RunRecord) -> None:
    """Raise InputError if the record names code to import: a user's own method, or a setting that is a function."""
    named = {"method": record.method, **record.settings}
    for field_name, value in named.items():
        if is_import_path(value):
            raise InputError(
                f"{path}: field {field_name} names code to import ({value}); "
                "if you trust it, allow it with allow_import=True or --allow-import"
            )


def _scaler(record: RunRecord, tensors: dict[str, Tensor]) -> Scaler:
    parts = {name: tensors[f"scaler.{name}"].numpy() for name in SCALER_ARRAYS if f"scaler.{name}" in tensors}
    return Scaler(record.settings["scaling"], **parts)
