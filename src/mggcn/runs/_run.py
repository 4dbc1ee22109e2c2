"""Run and Ensemble: trained models with their records, and what follows from them for nodes.

The folder of a run holds ``record.json`` (see :class:`mggcn.training.RunRecord`), ``weights.safetensors`` (model and
scaling), ``split.npz`` (see :mod:`mggcn.runs._matching`) and ``config.toml``, which reproduces the run. If the mean of
several recipes was selected, these are those of the best, and ``members/1`` and so on are the folders of the others.
"""

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import tomli_w
import torch
from numpy.typing import ArrayLike
from safetensors.torch import save as save_tensors
from torch import Tensor, nn

from mggcn import methods
from mggcn._io.files import replacing
from mggcn._io.mapping import AUTOMATIC, Access
from mggcn.data import Dataset, as_dataset, load_with
from mggcn.errors import InputError, unknown, warn_caller
from mggcn.graph import EdgePart
from mggcn.keys import Key
from mggcn.methods import Shared
from mggcn.runs._explaining import Explanation, explain, reasons_of
from mggcn.runs._export import export, input_rows, row_shape
from mggcn.runs._matching import SPLIT, SplitIds, match, parts_of, targets_of
from mggcn.runs._plan import Plan
from mggcn.runs._predictions import Embeddings, Predictions, Thresholds, check_base_rates, validation_nodes
from mggcn.runs._scorer import Nodes, Probabilities, Scorer
from mggcn.training import (
    ALONE,
    CONFIG,
    FITTED,
    MEMBERS,
    RECORD,
    Embedder,
    Inference,
    Ranks,
    RunRecord,
    Scaler,
    choose_device,
    record_content,
)

if TYPE_CHECKING:
    from torch_geometric.data import Data

WEIGHTS = "weights.safetensors"


class Reader(NamedTuple):
    """How runs read a graph: what of its edges, the digest of their scaling, and what their record says of features."""

    parts: frozenset[EdgePart]
    scaling: str
    features: str


class Matched(NamedTuple):
    """A graph as some runs read it, and what they have prepared of it."""

    graph: Dataset
    reader: Reader
    matched: Dataset
    shared: Shared


class Ensemble:
    """Runs with the same classes and features, whose probabilities are averaged, each run calibrated by itself.

    A :class:`Run` is an ensemble of itself; if the mean of several recipes of a portfolio was selected, of these, each
    of which counts as a run.

    Args:
        runs: at least one.
    """

    def __init__(self, runs: "Sequence[Run]") -> None:
        if not runs:
            raise InputError("ensemble: name at least one run")
        self._runs = tuple(runs)
        self._check_same("classes", lambda data: data["classes"])
        self._check_same("number of features", lambda data: [data["num_features"]])
        self._check_same("feature names", lambda data: data.get("feature_names") or [])

    def __repr__(self) -> str:
        return f"Ensemble({list(self.runs)!r})"

    @property
    def named(self) -> "tuple[Run, ...]":
        """The runs as they were given."""
        return self._runs

    @property
    def runs(self) -> "tuple[Run, ...]":
        """The runs whose probabilities are averaged: those that were given, and the others of their means."""
        return tuple(one for run in self.named for one in (run, *run.others))

    @property
    def training_data(self) -> Dataset:
        """The data set that all runs were trained on; InputError if they differ in it or in its split."""
        self._check_same("training data", lambda data: [data["name"], str(data["digest"])[:8]])
        return self.runs[0].training_data

    @property
    def classes(self) -> tuple[str, ...]:
        """The name of each class."""
        return tuple(self.runs[0].record.dataset["classes"])

    def predict(
        self,
        dataset: "Dataset | Data | None" = None,
        nodes: ArrayLike | None = None,
        *,
        ids: Iterable[object] | None = None,
        reasons: int = 0,
        at_precision: float | None = None,
        base_rates: Mapping[str, float] | None = None,
        draws: int | None = None,
        calibrated: bool = True,
        device: str | torch.device = "auto",
        scratch: Path | None = None,
        ranks: Ranks = ALONE,
    ) -> Predictions:
        """Score nodes of the training graph or of a new graph with the same features.

        If the run and the graph both have names of features, columns are matched by name: their order does not matter,
        a missing one is an error, and further ones are ignored with an :class:`mggcn.InputWarning`. Otherwise they are
        matched by position, with such a warning if only the run has names.

        Args:
            dataset: the graph to score, a Dataset or PyG's ``Data``; the one that was trained on when None.
            nodes: node numbers or a boolean mask, as a list, a range, an array or a tensor; all nodes when None.
            ids: the user's ids of the nodes, instead of ``nodes``.
            reasons: how many nodes of each class get reasons in words: those with the highest probabilities. They need
                names of features, and a method whose scores have gradients; others warn.
            at_precision: choose for each class the lowest probability with this precision on the validation nodes of
                the runs; nodes that reach it are alerts. Needs the training data.
            base_rates: the share of all nodes that some classes have; thresholds of ``at_precision`` have their
                precision there, instead of where the share is that among the validation nodes.
            draws: the number of independent draws of the picks to average over; as in the evaluation if None.
            calibrated: scale the probabilities by the temperature that was fitted on the validation nodes; the most
                probable class does not depend on it. For other than the evaluation's draws it is fitted on as
                many, which needs the training data.
            device: ``auto``, ``cpu``, ``cuda`` or a device.
            scratch: a folder for a temporary file that holds the probabilities; they are in memory if None.
            ranks: processes that share the nodes; each gets the predictions of all, and the reasons of its share.
        """
        data = self._data(dataset, "predict")
        if reasons and not data.feature_names:
            raise InputError(f"{data.name}: no reasons from its features: they have no names")
        targets, on = targets_of(data, nodes, ids), choose_device(device)
        share = ranks.part(targets.size)
        check_base_rates(base_rates or {}, self.classes, at_precision)
        validated = validation_nodes(self.runs, data, at_precision) if at_precision is not None else None

        def prepared(graph: Dataset) -> list[Scorer]:
            return [Scorer.of(run, graph, on, draws, calibrated=calibrated) for run in self._together()]

        scorers = prepared(data)
        p = _collected(_mean_chunks(scorers, targets[share]), scratch)
        if ranks.size > 1:
            p = ranks.gather(torch.from_numpy(np.array(p))).numpy()
        found = Predictions(data, targets, p, parts_of(self.runs, data, targets), self.runs)
        if validated is not None and at_precision is not None:
            trained, val = validated
            p = _collected(_mean_chunks(scorers if trained is data else prepared(trained), val), None)
            of_val = Predictions(trained, val, p, parts_of(self.runs, trained, val), self.runs)
            found = replace(found, thresholds=Thresholds.of(at_precision, of_val, base_rates))
        return replace(found, reasons=_reasons(found, scorers, reasons, share)) if reasons else found

    def reasons(
        self,
        dataset: "Dataset | Data | None" = None,
        nodes: ArrayLike | None = None,
        *,
        label: str,
        draws: int | None = None,
        device: str | torch.device = "auto",
    ) -> list[list[str]]:
        """At most three reasons in words for a class of each node, the strongest first, whatever class is predicted.

        Args:
            dataset: as in :meth:`predict`, like all that follow; it needs names of features.
            nodes: all nodes when None.
            label: the name of the class.
            draws: the number of draws to average over.
            device: of the model.
        """
        if label not in self.classes:
            raise unknown("class", label, self.classes)
        data = self._data(dataset, "reasons")
        if not data.feature_names:
            raise InputError(f"{data.name}: no reasons from its features: they have no names")
        targets, on = targets_of(data, nodes, None), choose_device(device)
        scorers = [Scorer.of(run, data, on, draws, calibrated=False) for run in self._together()]
        return reasons_of(scorers, targets, np.full(targets.size, self.classes.index(label)))

    def embed(
        self,
        dataset: "Dataset | Data | None" = None,
        nodes: ArrayLike | None = None,
        *,
        ids: Iterable[object] | None = None,
        draws: int | None = None,
        device: str | torch.device = "auto",
    ) -> Embeddings:
        """Return hidden representations of nodes: what the model's last layer multiplies by its weights.

        These are the last hidden units for ``mlp``, ``sign``, ``sagn`` and ``gamlp``, the propagated features for
        ``sgc``, and the embedding itself for ``deepwalk`` and ``node2vec``. In graph convolutions they are what the
        last layer aggregates: the target's hidden row beside that of its senders (picks, for MG-GCN) for ``mean``,
        ``pool`` and ``lstm``, their sum for ``gcn``; the input row for MG-GCN's ``linear_path`` is left out.
        A last layer that does not say what it multiplies, such as ``gat`` or a PyG convolution, gives the target's
        hidden row below it. ``label-propagation``, ``random-forest`` and ``lightgbm`` have none, and raise InputError,
        as does a module of your own without a method ``hidden(rows, blocks)``, and an ensemble of several runs, whose
        representations have no mean. Those of a run of a portfolio are of its best recipe alone.

        Args:
            dataset: as in :meth:`predict`, like all that follow.
            nodes: all nodes when None.
            ids: instead of ``nodes``.
            draws: the number of draws to average over.
            device: of the model.
        """
        if len(self.named) > 1:
            raise InputError(f"embed: the representations of {len(self.named)} models have no mean; name one run")
        (run,) = self.named
        if not isinstance(run.model, Embedder):
            raise InputError(f"{run.record.method}: its model has no hidden representations")
        data = self._data(dataset, "embed")
        targets = targets_of(data, nodes, ids)
        values = run.inference(data, choose_device(device), draws).hidden(targets)
        data.check_unchanged()
        return Embeddings(targets, data.ids_of(targets), values.cpu().numpy(), data.id_name)

    def explain(
        self,
        dataset: "Dataset | Data | None" = None,
        node: int | None = None,
        *,
        id: object = None,  # noqa: A002
        label: str | None = None,
        draws: int | None = None,
    ) -> Explanation:
        """Explain the probability of a node's class: what features contribute, and what each pick changes.

        Contributions of features are integrated gradients, see :mod:`mggcn.runs._explaining`. The effect of a pick is
        the probability with all picks minus that without it. Methods whose scores have no gradient with respect to the
        features (``label-propagation``, ``deepwalk``, ``node2vec``, ``random-forest``, ``lightgbm``) raise InputError.
        Computed on the CPU, for this node alone. Over several draws, its probabilities are the mean of calibrated ones;
        :meth:`predict` calibrates the mean, which is the same at temperature 1. Contributions of an ensemble are the
        means of its runs'; the effect of a pick is the mean over the draws of all runs that contain it.

        Args:
            dataset: as in :meth:`predict`.
            node: its node number.
            id: the user's id of the node, instead of ``node``.
            label: the name of the class to explain; the predicted class when None.
            draws: the number of independent draws of the picks to average over; as in the evaluation if None.
        """
        if (node is None) == (id is None):
            raise InputError("explain: name one node, by its number or by its id")
        if label is not None and label not in self.classes:
            raise unknown("class", label, self.classes)
        data = self._data(dataset, "explain")
        (target,) = targets_of(data, None if node is None else [node], None if id is None else [id])
        scorers = [
            replace(Scorer.of(run, data, draws=draws, calibrated=False), temperature=run.record.temperature)
            for run in self._together()
        ]
        return explain(scorers, int(target), None if label is None else self.classes.index(label))

    def _together(self) -> "list[Run]":
        """The runs, which share what they prepare of a graph."""
        first, *others = self.runs
        if not others:
            return [first]
        matched: list[Matched] = first.matched if first.matched is not None else []
        return [replace(run, matched=matched) for run in (first, *others)]

    def _check_same(self, what: str, values: Callable[[dict[str, Any]], list[object]]) -> None:
        """Raise InputError for the first run of whose data set the values differ from those of the first run."""
        first = self.named[0]
        for number, run in enumerate(self.named[1:], 2):
            found, expected = (values(each.record.dataset) for each in (run, first))
            if found != expected:
                one, other = (", ".join(map(str, each[:20])) or "none" for each in (found, expected))
                raise InputError(
                    f"{run.path or f'run {number}'}: {what} {one}, but {first.path or 'run 1'} has {other}; "
                    "an ensemble needs the same"
                )

    def _data(self, dataset: "Dataset | Data | None", caller: str) -> Dataset:
        """The graph to score; the edges of a ``Data`` are read as those that the runs were trained on."""
        if dataset is None:
            return self.training_data
        direction = self.runs[0].record.dataset.get("direction", "both")
        return as_dataset(dataset, caller, needs_split=False, direction=direction)


@dataclass(frozen=True, eq=False, repr=False)
class Run(Ensemble):
    """A trained model with what it takes to score nodes.

    Attributes:
        record: what happened.
        plan: the method with every setting.
        model: the module, with the best epoch's weights.
        scaler: the scaling of the features, as fitted in training.
        dataset: the data set it was trained on; None for a run read from disk.
        path: the folder it was saved to or read from.
        root: the folder in which its data set is searched if that has a name.
        access: how its data set is read.
        stored_split: the nodes of its split, as read from disk; None for a run with a data set.
        prepared: the first graph and the last one that were prepared for scoring.
        portfolio: the plan of the portfolio of which this is the best recipe; None if one recipe was trained.
        others: the other recipes of the portfolio if their mean with this one was selected: its probabilities are those
            of the run, and its test metrics those of the record.
        matched: of a run with others, the last graph that was scored, as they read it; they share the list.
    """

    record: RunRecord
    plan: Plan
    model: nn.Module
    scaler: Scaler
    dataset: Dataset | None = None
    path: Path | None = None
    root: Path | None = None
    access: Access = AUTOMATIC
    stored_split: SplitIds | None = None
    prepared: list[tuple[Dataset, Inference]] = field(default_factory=list)
    portfolio: Plan | None = None
    others: "tuple[Run, ...]" = ()
    matched: list[Matched] | None = None

    def __repr__(self) -> str:
        record, name = self.record, self.path or f"seed {self.record.seed}"
        return f"Run({record.method} on {record.dataset['name']}, {name}: test accuracy {record.test_accuracy:.2%})"

    @property
    def named(self) -> tuple["Run"]:
        """This run."""
        return (self,)

    @property
    def test_accuracy(self) -> float:
        """The accuracy on the test nodes."""
        return self.record.test_accuracy

    @property
    def test_macro_f1(self) -> float:
        """The mean over classes of the F1 score on the test nodes."""
        return self.record.test_macro_f1

    @property
    def val_accuracy(self) -> float:
        """The accuracy on the validation nodes, after the best epoch."""
        return self.record.val_accuracy

    @property
    def best_epoch(self) -> int:
        """The epoch whose weights the model has."""
        return self.record.best_epoch

    @property
    def key(self) -> Key:
        """The random key of the run."""
        return Key.of(self.record.seed)

    @cached_property
    def split_ids(self) -> SplitIds:
        """The ids of the nodes of its split."""
        return self.stored_split or SplitIds.of(self.training_data)

    @cached_property
    def training_data(self) -> Dataset:
        """The data set the run was trained on, loaded once if necessary; an error if it has changed."""
        if self.dataset is not None:
            return self.dataset
        path, name = self.record.dataset["path"], self.record.dataset["name"]
        try:
            data = load_with(self.access, path or name, root=self.root)
        except InputError as error:
            if path:
                raise
            raise InputError(
                f"{self.path or 'the run'}: trained on data {name!r}, which are in no folder; give dataset=… ({error})"
            ) from None
        if data.digest_without_split != self.record.dataset["digest_without_split"]:
            raise InputError(
                f"{path or name}: not the data that {self.path or 'the run'} was trained on; the data set changed "
                "since, or the run was trained on changes of it that were not stored"
            )
        return data

    def is_trained_on(self, data: Dataset) -> bool:
        """Whether this is the data set of the run, whatever its split."""
        expected = self.record.dataset["name"], self.record.dataset["digest_without_split"]
        return data is self.dataset or (data.name, data.digest_without_split) == expected

    def inference(self, dataset: Dataset, device: torch.device, draws: int | None = None) -> Inference:
        """The model with a graph prepared for scoring on a device; by default with the draws of the evaluation."""
        model, draws = self.model.to(device), self.plan.training.draws if draws is None else draws
        for graph, inference in self.prepared:
            if graph is dataset and inference.compute.device.type == device.type:
                return replace(inference, model=model, draws=draws)
        matched, shared = self._match(dataset)
        compute = self.plan.compute(device, dataset=matched)
        view = self.plan.method.prepare(methods.view_of(matched, self.scaler, model, self.key, compute, shared)).eval
        inference = Inference(model, view, self.key, compute, draws)
        self.prepared[1:] = [(dataset, inference)]
        return inference

    def _match(self, dataset: Dataset) -> tuple[Dataset, Shared]:
        """The graph with the features of the run, matched and prepared once for all runs that read it in one way."""
        trained = self.record.dataset
        read = [trained.get(name) for name in ("num_features", "feature_names", "encoding", "edges")]
        reader = Reader(self.plan.method.edge_parts, self.scaler.digest, json.dumps(read))
        for one in self.matched or ():
            if one.graph is dataset and one.reader == reader:
                return one.matched, one.shared
        matched, shared = match(dataset, self.record, reader.parts), Shared()
        if self.matched is not None:
            kept = [one for one in self.matched if one.graph is dataset]
            self.matched[:] = [*kept, Matched(dataset, reader, matched, shared)]
        return matched, shared

    def with_others(self, others: "Sequence[Run]") -> "Run":
        """This run as the best of several recipes whose mean was selected."""
        if not others:
            return self
        matched: list[Matched] = []
        return replace(self, matched=matched, others=tuple(replace(run, matched=matched) for run in others))

    def export(self, path: str | Path, batch_size: int = 1) -> None:
        """Write the model with ``torch.export``, as a program that scores batches without this package.

        ``torch.export.load(path).module()`` maps batches of input rows, called as ``module(*run.rows(…))``, to
        [batch_size, classes] log-probabilities of one draw of the picks, with the run's temperature: for a run whose
        ``draws`` are 1, those of :meth:`predict`. Only models whose input rows have a fixed shape can be exported:
        ``mlp``, ``sgc``, ``sign``, ``sagn``, ``gamlp``, and ``mg-gcn`` with up to two layers; see
        :mod:`mggcn.runs._export`. Others raise InputError.

        Args:
            path: of the file, ``*.pt2``.
            batch_size: the number of targets that the program scores in a call.
        """
        export(self, Path(path), batch_size)

    def rows(
        self,
        dataset: "Dataset | Data | None" = None,
        nodes: ArrayLike | None = None,
        *,
        ids: Iterable[object] | None = None,
    ) -> tuple[Tensor, ...]:
        """Return the input rows of nodes as an exported model reads them; arguments are those of :meth:`embed`.

        Returns:
            for each of the recipes whose mean the run is, usually one, float32, of scaled features: [n, num_features]
            for ``mlp``; [n, num_features] after propagation for ``sgc``; [n, (hops + 1) · num_features], one part per
            hop, for ``sign``, ``sagn`` and ``gamlp``; [n, 1 + picks, (hops + 1) · num_features], the target and its
            picks with their own features beside the aggregate of their neighbours, for ``mg-gcn``, without the second
            dimension if it has one layer. Picks are those of the evaluation's first draw; with ``padding="none"``, rows
            of picks that are missing are NaN.
        """
        recipes = (self, *self.others)
        shapes = [row_shape(run) for run in recipes]
        data = self._data(dataset, "rows")
        targets, cpu = targets_of(data, nodes, ids), torch.device("cpu")
        return tuple(
            input_rows(shape, run.inference(data, cpu).view, targets, run.key)
            for run, shape in zip(recipes, shapes, strict=True)
        )

    def as_origin(self) -> dict[str, Any]:
        """What the record of a run says that starts with the weights of this one; InputError if none can."""
        method, dataset = self.record.method, self.record.dataset
        if not any(parameter.requires_grad for parameter in self.model.parameters()):
            raise InputError(f"warm start: {method} has no weights to start from")
        if not self.plan.method.uses_features:
            raise InputError(f"warm start: the weights of {method} fit only the graph they were trained on")
        if self.path is None:
            raise InputError("warm start: save the run first, so that its folder can be named")
        state = self.model.state_dict().items()
        weights = save_tensors({name: tensor.detach().cpu().contiguous().clone() for name, tensor in state})
        return {
            "path": str(self.path),
            "dataset": {name: dataset[name] for name in ("name", "digest")},
            "seed": self.record.seed,
            "weights": hashlib.sha256(weights).hexdigest(),
        }

    def save(self, folder: str | Path) -> "Run":
        """Write the run folder and return the run as saved there; InputError if it could not be loaded from it."""
        self.plan.check_loadable()
        target = Path(folder)
        with replacing(target) as folder:
            for name, content in self.files().items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(content)
        return self.at(target)

    def at(self, folder: Path) -> "Run":
        """The run as it is saved in a folder."""
        path = folder.resolve()
        others = (replace(run, path=path / name) for name, run in self._folders().items())
        return replace(self, path=path, others=tuple(others))

    def _folders(self) -> "dict[str, Run]":
        """The other runs of a mean by the names of their folders."""
        return {f"{MEMBERS}/{number}": run for number, run in enumerate(self.others, 1)}

    def files(self) -> dict[str, bytes]:
        """The files of the run folder by name; the record, which marks it as finished, is the last."""
        tensors = {f"model.{name}": tensor.contiguous() for name, tensor in self.model.state_dict().items()}
        fitted = FITTED.get(self.scaler.kind, set())
        tensors |= {f"scaler.{name}": torch.from_numpy(getattr(self.scaler, name)) for name in fitted}
        files = {WEIGHTS: save_tensors(tensors), SPLIT: self.split_ids.to_bytes()}
        config = tomli_w.dumps((self.portfolio or self.plan).config(self.record.dataset["path"])).encode()
        members = {
            f"{folder}/{name}": content
            for folder, run in self._folders().items()
            for name, content in replace(run, stored_split=self.split_ids).files().items()
        }
        listed = {**files, **{name: content for name, content in members.items() if name.endswith(RECORD)}}
        return {**files, **members, CONFIG: config, RECORD: record_content(self.record, listed)}


def _mean_chunks(scorers: Sequence[Scorer], nodes: Nodes) -> Iterator[Probabilities]:
    """[n, classes] the mean probabilities of runs for some nodes at a time."""
    for rows in zip(*(scorer.chunks(nodes) for scorer in scorers), strict=True):
        yield rows[0] if len(rows) == 1 else np.mean(rows, axis=0)


def _collected(chunks: Iterator[Probabilities], folder: Path | None) -> Probabilities:
    """All rows: in memory, or mapped from a file of the folder that no other process sees."""
    if folder is None:
        return np.concatenate([*chunks])
    count = width = 0
    with tempfile.TemporaryFile(dir=folder) as file:
        for rows in chunks:
            file.write(rows.astype(np.float64).tobytes())
            count, width = count + len(rows), rows.shape[1]
        return np.memmap(file, np.float64, "r", shape=(count, width))


def _reasons(predictions: Predictions, scorers: Sequence[Scorer], count: int, share: slice) -> dict[int, list[str]]:
    """The reasons of the first rows of each class in a share of all; a warning if a method gives none."""
    rows = np.flatnonzero(predictions.positions_in_class[share] <= count) + share.start
    try:
        reasons = reasons_of(scorers, predictions.nodes[rows], predictions.class_index[rows])
    except InputError as error:
        warn_caller(str(error))
        reasons = []
    return dict(zip(rows.tolist(), reasons, strict=False))
