"""A run: training a method on a data set, the folder it leaves, and predictions from it.

The folder holds ``record.json`` (see :mod:`mggcn.records.record`), ``weights.safetensors`` (model and feature
scaling) and ``config.toml``, which reproduces the run.
"""

import dataclasses
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
import torch
from numpy.typing import ArrayLike
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor, nn

from mggcn import datasets, methods, train
from mggcn.dataset import Dataset
from mggcn.errors import InputError
from mggcn.keys import Key
from mggcn.methods.settings import read_toml
from mggcn.records import environment
from mggcn.records.record import RunRecord, near_best, seconds_until
from mggcn.run.predictions import Predictions
from mggcn.storage import replacing, write_durably
from mggcn.train import metrics
from mggcn.train.compute import Compute
from mggcn.train.progress import Silent
from mggcn.train.scaling import Scaler

RECORD, WEIGHTS, CONFIG = "record.json", "weights.safetensors", "config.toml"


@dataclass(frozen=True, eq=False)
class Run:
    """A trained model with all it takes to score nodes.

    Attributes:
        record: what happened.
        plan: the method with every setting.
        model: with the best epoch's weights.
        scaler: of the features, as fitted in training.
        dataset: what it was trained on; None for a run read from disk until it is needed.
        path: the folder it was saved to or read from.
    """

    record: RunRecord
    plan: methods.Plan
    model: nn.Module
    scaler: Scaler
    dataset: Dataset | None = None
    path: Path | None = None

    @property
    def classes(self) -> tuple[str, ...]:
        """The name of each class."""
        return tuple(self.record.dataset["classes"])

    def predict(
        self,
        dataset: Dataset | None = None,
        nodes: ArrayLike | None = None,
        *,
        draws: int = 1,
        calibrated: bool = True,
        device: str = "auto",
        root: Path | None = None,
    ) -> Predictions:
        """Score nodes of the training graph or of a new graph with the same features.

        Args:
            dataset: the graph to score; the one the run was trained on when None.
            nodes: node numbers; all nodes when None.
            draws: average the probabilities over so many independent draws of the picks.
            calibrated: give probabilities at the temperature that was fitted on the validation nodes; the most probable
                class is the same without.
            device: ``auto``, ``cpu`` or ``cuda``.
            root: where named data sets are looked for.
        """
        place = self.plan.place(choose_device(device))
        data = dataset or self.training_data(root)
        if data.num_features != self.record.dataset["num_features"]:
            raise InputError(
                f"{data.name}: {data.num_features} features, "
                f"but the run was trained on {self.record.dataset['num_features']} ({self.record.dataset['name']})"
            )
        chosen = np.arange(data.num_nodes) if nodes is None else np.asarray(nodes, np.int64)
        bad = chosen[(chosen < 0) | (chosen >= data.num_nodes)]
        if bad.size:
            raise InputError(f"{data.name}: node {bad[0]} is out of range for {data.num_nodes} nodes")
        if chosen.size == 0:
            raise InputError(f"{data.name}: no nodes to predict")
        scores = train.predict(self.model, self.view(data, place), chosen, Key.of(self.record.seed), place, draws)
        if calibrated:
            scores = train.calibrated(scores, self.record.temperature)
        return Predictions(chosen, data.ids_of(chosen), scores.exp().cpu().numpy(), self.classes, data.id_name)

    def view(self, dataset: Dataset, place: Compute) -> train.View:
        """A graph as evaluation sees it, prepared where the model is moved to."""
        scene = methods.see(dataset, self.scaler, self.model.to(place.device), Key.of(self.record.seed), place)
        return self.plan.recipe.views(self.plan.config, scene).eval

    def save(self, folder: str | Path) -> "Run":
        """Write the run folder and return the run as saved there."""
        target = Path(folder)
        if target.exists():
            raise InputError(f"{target}: already exists")
        tensors = {f"model.{name}": tensor.contiguous() for name, tensor in self.model.state_dict().items()}
        for name in ("mean", "deviation"):
            if (array := getattr(self.scaler, name)) is not None:
                tensors[f"scaler.{name}"] = torch.from_numpy(array)
        with replacing(target) as draft:
            write_durably(draft / RECORD, self.record.to_json().encode())
            write_durably(draft / WEIGHTS, save_tensors(tensors))
            write_durably(draft / CONFIG, tomli_w.dumps(config_of(self.record)).encode())
        return dataclasses.replace(self, path=target.resolve())

    def training_data(self, root: Path | None = None) -> Dataset:
        """The data set the run was trained on, loaded again where need be; an error where it has changed."""
        if self.dataset is not None:
            return self.dataset
        described = self.record.dataset
        data = datasets.load(described["path"] or described["name"], root=root)
        if described["digest"] and data.digest != described["digest"]:
            raise InputError(
                f"{described['path'] or described['name']}: the data set changed since {self.path or 'the run'} was "
                "trained on it"
            )
        return data


def fit(
    dataset: Dataset,
    method: str = "mg-gcn",
    *,
    seed: int = 0,
    device: str = "auto",
    settings: Mapping[str, object] | None = None,
    progress: train.Progress | None = None,
) -> Run:
    """Train a method on a data set and test the best epoch's weights.

    Args:
        dataset: with a split.
        method: a name from :data:`mggcn.methods.METHODS`.
        seed: of weights, order and picks.
        device: ``auto``, ``cpu`` or ``cuda``.
        settings: what to change from the defaults for this method and data set.
        progress: hears of every epoch.
    """
    chosen = choose_device(device)
    plan = methods.plan(method, dataset.name, settings or {})
    if dataset.split is None:
        raise InputError(f"{dataset.name}: no training labels (the data set has no split)")
    key, place = Key.of(seed), plan.place(chosen)
    _reset_peak_memory(chosen)
    started = time.perf_counter()
    prepared = methods.build(plan, dataset, key, place)
    ready = time.perf_counter()
    fitted = train.fit(prepared, dataset, plan.training, key, place, progress or Silent())
    predicted = train.predict(prepared.model, prepared.eval, dataset.split.test, key, place)
    truth = torch.from_numpy(dataset.y[dataset.split.test]).to(place.device)
    test = metrics.score(predicted, truth)
    finished = time.perf_counter()
    on_gpu = chosen.type == "cuda"
    peak_memory = torch.cuda.max_memory_allocated(chosen) if on_gpu else environment.peak_memory()
    held_out = train.predict(prepared.model, prepared.eval, dataset.split.val, key, place).cpu().numpy()
    temperature = train.fit_temperature(held_out, dataset.y[dataset.split.val])
    record = RunRecord(
        dataset=_describe(dataset),
        method=method,
        seed=seed,
        settings={**plan.settings, "scaling": prepared.scaler.kind},
        device=chosen.type,
        epochs=len(fitted.curve),
        best_epoch=fitted.best_epoch,
        val_loss=fitted.val.loss,
        val_accuracy=fitted.val.accuracy,
        val_macro_f1=fitted.val.macro_f1,
        test_accuracy=test.accuracy,
        test_macro_f1=test.macro_f1,
        test_confusion=metrics.confusion(predicted, truth),
        epoch_seconds=statistics.median([epoch.train_seconds for epoch in fitted.curve] or [0.0]),
        prepare_seconds=ready - started,
        seconds_to_best=seconds_until(fitted.best_epoch, ready - started, fitted.curve),
        seconds_to_near_best=seconds_until(near_best(fitted.curve), ready - started, fitted.curve),
        total_seconds=finished - started,
        peak_memory_bytes=peak_memory,
        nodes_per_batch=train.nodes_per_batch(prepared.train.sampler, dataset.split.train, plan.training, key)
        if fitted.curve
        else 0.0,
        curve=fitted.curve,
        environment=environment.describe() | {"torch_threads": torch.get_num_threads()},
        temperature=temperature,
        test_ece=_calibration_error(train.calibrated(predicted, temperature), truth),
        test_ece_uncalibrated=_calibration_error(predicted, truth),
    )
    return Run(record, plan, prepared.model, prepared.scaler, dataset)


def load_run(folder: str | Path) -> Run:
    """Read a run folder."""
    root = Path(folder)
    if not (root / RECORD).is_file():
        raise InputError(f"{root}: not a run folder ({RECORD} is missing)")
    try:
        record = RunRecord.from_json((root / RECORD).read_text())
        record.check_complete()
        plan = methods.plan(record.method, record.dataset["name"], record.settings)
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"{root / RECORD}: not a run record ({error})") from None
    try:
        tensors = load_tensors((root / WEIGHTS).read_bytes())
    except FileNotFoundError:
        raise InputError(f"{root}: not a run folder ({WEIGHTS} is missing)") from None
    except SafetensorError as error:
        raise InputError(f"{root / WEIGHTS}: cannot be read ({error})") from None
    try:
        model = plan.recipe.model(plan.config, record.dataset["num_features"], len(record.dataset["classes"]), None)
        model.load_state_dict({name[6:]: tensor for name, tensor in tensors.items() if name.startswith("model.")})
    except RuntimeError:
        raise InputError(f"{root / WEIGHTS}: does not fit the model that {RECORD} describes") from None
    return Run(record, plan, model, _scaler(record, tensors), path=root.resolve())


def config_of(record: RunRecord) -> dict[str, Any]:
    """What ``config.toml`` holds: enough to run the same training again."""
    return {
        "dataset": record.dataset["path"] or record.dataset["name"],
        "method": record.method,
        "seed": record.seed,
        "device": record.device,
        "settings": record.settings,
    }


def read_config(path: Path) -> dict[str, Any]:
    """Read a ``config.toml``."""
    config = read_toml(path)
    valid = {"dataset": str, "method": str, "seed": int, "device": str, "settings": dict}
    for name, value in config.items():
        if name not in valid:
            raise InputError(f"{path}: unknown field {name!r}; valid: {', '.join(valid)}")
        if not isinstance(value, valid[name]):
            raise InputError(f"{path}: field {name} is {value!r}, not a {valid[name].__name__}")
    return config


def choose_device(name: str) -> torch.device:
    """The device of a name; ``auto`` is the GPU where there is one."""
    if name not in ("auto", "cpu", "cuda"):
        raise InputError(f"device: {name!r} is not one of auto, cpu, cuda")
    has_gpu = torch.cuda.is_available()
    if name == "cuda" and not has_gpu:
        raise InputError("device: cuda was asked for, but there is no usable GPU")
    return torch.device("cuda" if has_gpu and name != "cpu" else "cpu")


def _calibration_error(log_probabilities: Tensor, truth: Tensor) -> float:
    return metrics.calibration_error(log_probabilities.exp().cpu().numpy(), truth.cpu().numpy())


def _reset_peak_memory(device: torch.device) -> None:
    environment.reset_peak_memory()
    if device.type == "cuda":
        torch._C._cuda_clearCublasWorkspaces()  # noqa: SLF001  (kept for every stream that earlier runs used)
        torch.cuda.reset_peak_memory_stats(device)


def _describe(dataset: Dataset) -> dict[str, Any]:
    return {
        "name": dataset.name,
        "path": str(dataset.path) if dataset.path else None,
        "digest": dataset.digest,
        "source": dataset.source,
        "num_nodes": dataset.num_nodes,
        "num_edges": dataset.graph.num_edges,
        "num_features": dataset.num_features,
        "classes": list(dataset.classes),
        "split": [part.size for part in (dataset.split.train, dataset.split.val, dataset.split.test)]
        if dataset.split
        else None,
    }


def _scaler(record: RunRecord, tensors: dict[str, Tensor]) -> Scaler:
    parts = {name: tensors[f"scaler.{name}"].numpy() for name in ("mean", "deviation") if f"scaler.{name}" in tensors}
    return Scaler(record.settings["scaling"], **parts)
