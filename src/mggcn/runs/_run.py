"""Run: a trained model with its record, the folder it is saved in, and what follows from it for nodes.

The folder holds ``record.json`` (see :class:`mggcn.training.RunRecord`), ``weights.safetensors`` (model and scaling),
``split.npz`` (see :mod:`mggcn.runs._nodes`) and ``config.toml``, which reproduces the run.
"""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import tomli_w
import torch
from numpy.typing import ArrayLike
from safetensors.torch import save as save_tensors
from torch import Tensor, nn

from mggcn import methods
from mggcn._io.files import replacing, write_durably
from mggcn._io.mapping import AUTOMATIC, Access
from mggcn.data import Dataset, load_with
from mggcn.errors import InputError, unknown
from mggcn.keys import Key
from mggcn.runs._explanation import Explanation, explain
from mggcn.runs._export import export, input_rows, row_shape
from mggcn.runs._features import match_features
from mggcn.runs._nodes import SPLIT, SplitIds, targets_of
from mggcn.runs._plan import Plan
from mggcn.runs._predicting import Predictor
from mggcn.runs._predictions import Embeddings
from mggcn.runs._scoring import Scorer
from mggcn.training import (
    CONFIG,
    RECORD,
    Compute,
    Embedder,
    Inference,
    RunRecord,
    Scaler,
    View,
    choose_device,
    record_content,
)

if TYPE_CHECKING:
    from torch_geometric.data import Data

SCALER_ARRAYS = ("mean", "deviation", "idf")
WEIGHTS = "weights.safetensors"


@dataclass(frozen=True, eq=False, repr=False)
class Run(Predictor):
    """A trained model with what it takes to score nodes.

    Attributes:
        record: what happened.
        plan: the method with every setting.
        model: the module, with the best epoch's weights.
        scaler: the scaling of the features, as fitted in training.
        dataset: the data set it was trained on; None for a run read from disk.
        path: the folder it was saved to or read from.
        scored_on: the training data as prepared for scoring, and the device; None for a run read from disk.
        stored_split: the nodes of its split, as read from disk; None for a run with a data set.
    """

    record: RunRecord
    plan: Plan
    model: nn.Module
    scaler: Scaler
    dataset: Dataset | None = None
    path: Path | None = None
    scored_on: tuple[View, Compute] | None = None
    stored_split: SplitIds | None = None

    def __repr__(self) -> str:
        record, name = self.record, self.path or f"seed {self.record.seed}"
        return f"Run({record.method} on {record.dataset['name']}, {name}: test accuracy {record.test_accuracy:.2%})"

    @property
    def runs(self) -> tuple["Run"]:
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

    @cached_property
    def split_ids(self) -> SplitIds:
        """The ids of the nodes of its split."""
        return self.stored_split or SplitIds.of(self.training_data())

    @property
    def key(self) -> Key:
        """The random key of the run."""
        return Key.of(self.record.seed)

    def embed(
        self,
        dataset: "Dataset | Data | None" = None,
        nodes: ArrayLike | None = None,
        *,
        ids: Iterable[object] | None = None,
        draws: int | None = None,
        device: str | torch.device = "auto",
        root: Path | None = None,
    ) -> Embeddings:
        """Return hidden representations of nodes: what the model's last layer multiplies by its weights.

        These are the last hidden units for ``mlp`` and ``sign``, the propagated features for ``sgc``, and the embedding
        itself for ``deepwalk`` and ``node2vec``. In graph convolutions they are what the last layer aggregates: the
        target's hidden row beside that of its senders (picks, for MG-GCN) for ``mean``, ``pool`` and ``lstm``, their
        sum for ``gcn``. A last layer that does not say what it multiplies, such as ``gat`` or a PyG convolution, gives
        the target's hidden row below it. ``label-propagation`` and ``random-forest`` have none, and raise InputError,
        as does a module of your own without a method ``hidden(rows, blocks)``.

        Args:
            dataset: as in :meth:`predict`.
            nodes: as in :meth:`predict`.
            ids: the user's ids of the nodes, instead of ``nodes``.
            draws: average over so many independent draws of the picks; as in the evaluation if None.
            device: ``auto``, ``cpu``, ``cuda`` or a device.
            root: the folder in which named data sets are searched.
        """
        if not isinstance(self.model, Embedder):
            raise InputError(f"{self.record.method}: its model has no hidden representations")
        data = self.data(dataset, "embed", root)
        targets = targets_of(data, nodes, ids)
        view, compute = self.view(data, choose_device(device))
        values = Inference(self.model, view, self.key, compute, self.draws_of(draws)).hidden(targets)
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
        root: Path | None = None,
    ) -> Explanation:
        """Explain the probability of a node's class: what features contribute, and what each pick changes.

        Contributions of features are integrated gradients, see :mod:`mggcn.runs._attribution`. The effect of a pick is
        the probability with all picks minus that without it. Methods whose scores have no gradient with respect to the
        features (``label-propagation``, ``deepwalk``, ``node2vec``, ``random-forest``) raise InputError. Computed on
        the CPU, for this node alone. Over several draws, its probabilities are the mean of calibrated ones;
        :meth:`predict` calibrates the mean, which is the same at temperature 1.

        Args:
            dataset: as in :meth:`predict`.
            node: its node number.
            id: the user's id of the node, instead of ``node``.
            label: the name of the class to explain; the predicted class when None.
            draws: average over so many independent draws of the picks; as in the evaluation if None.
            root: the folder in which named data sets are searched.
        """
        if (node is None) == (id is None):
            raise InputError("explain: name one node, by its number or by its id")
        if label is not None and label not in self.classes:
            raise unknown("class", label, self.classes)
        data = self.data(dataset, "explain", root)
        (target,) = targets_of(data, None if node is None else [node], None if id is None else [id])
        scorer = Scorer.of(self, data)
        return explain(scorer, int(target), None if label is None else self.classes.index(label), self.draws_of(draws))

    def export(self, path: str | Path, batch_size: int = 1) -> None:
        """Write the model with ``torch.export``, as a program that scores batches without this package.

        ``torch.export.load(path).module()`` maps a batch of input rows, as :meth:`rows` returns them, to
        [batch_size, classes] log-probabilities of one draw of the picks, with the run's temperature: for a run whose
        ``draws`` are 1, those of :meth:`predict`. Only models whose input rows have a fixed shape can be exported:
        ``mlp``, ``sgc``, ``sign``, and ``mg-gcn`` with up to two layers; see :mod:`mggcn.runs._export`. Others raise
        InputError.

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
        root: Path | None = None,
    ) -> Tensor:
        """Return the input rows of nodes as an exported model reads them; arguments are those of :meth:`embed`.

        Returns:
            float32, of scaled features: [n, num_features] for ``mlp``; [n, num_features] after propagation for ``sgc``;
            [n, (hops + 1) · num_features], one part per hop, for ``sign``; [n, 1 + picks, (hops + 1) ·
            num_features], the target and its picks with their own features beside the aggregate of their neighbours,
            for ``mg-gcn``, without the second dimension if it has one layer. Picks are those of the evaluation's first
            draw.
        """
        shape = row_shape(self)
        data = self.data(dataset, "rows", root)
        view, _ = self.view(data, torch.device("cpu"))
        return input_rows(shape, view, targets_of(data, nodes, ids), self.key)

    def draws_of(self, draws: int | None) -> int:
        """The number of draws that a user asks for; as in the evaluation if None."""
        if draws is not None and draws < 1:
            raise InputError(f"draws: {draws} is less than 1")
        return draws or self.plan.training.draws

    def view(self, dataset: Dataset, device: torch.device) -> tuple[View, Compute]:
        """A graph prepared for scoring on a device, to which the model is moved; not prepared again if it was."""
        model = self.model.to(device)
        if self.scored_on is not None and dataset is self.dataset and self.scored_on[1].device.type == device.type:
            return self.scored_on
        matched = match_features(dataset, self.record.dataset)
        compute = self.plan.compute(device, dataset=matched)
        view = methods.view_of(matched, self.scaler, model, self.key, compute)
        return self.plan.method.prepare(view).eval, compute

    def save(self, folder: str | Path) -> "Run":
        """Write the run folder and return the run as saved there; InputError if it could not be loaded from it."""
        self.plan.check_loadable()
        target = Path(folder)
        with replacing(target) as draft:
            for name, content in self.files().items():
                write_durably(draft / name, content)
        return dataclasses.replace(self, path=target.resolve())

    def files(self) -> dict[str, bytes]:
        """The files of the run folder by name; the record, which marks it as finished, is the last."""
        tensors = {f"model.{name}": tensor.contiguous() for name, tensor in self.model.state_dict().items()}
        for name in SCALER_ARRAYS:
            if (array := getattr(self.scaler, name)) is not None:
                tensors[f"scaler.{name}"] = torch.from_numpy(array)
        files = {WEIGHTS: save_tensors(tensors), SPLIT: self.split_ids.to_bytes()}
        config = tomli_w.dumps(self.plan.config(self.record.dataset["path"])).encode()
        return {**files, CONFIG: config, RECORD: record_content(self.record, files)}

    def is_trained_on(self, data: Dataset) -> bool:
        """Whether this is the data set of the run, whatever its split."""
        expected = self.record.dataset["name"], self.record.dataset["digest_without_split"]
        return data is self.dataset or (data.name, data.digest_without_split) == expected

    def training_data(self, root: Path | None = None, access: Access = AUTOMATIC) -> Dataset:
        """The data set the run was trained on, loaded again if necessary; an error if it has changed."""
        if self.dataset is not None:
            return self.dataset
        path, name = self.record.dataset["path"], self.record.dataset["name"]
        try:
            data = load_with(access, path or name, root=root)
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
