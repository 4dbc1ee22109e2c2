"""A trained model as a program of ``torch.export``, which scores a batch of fixed size without this package.

A graph has no fixed shape, so only models whose input rows do are exported: those that read one row per target
(``mlp``, ``sgc``, ``sign``, ``sagn``, ``gamlp`` and MG-GCN with one layer), and MG-GCN with a skip layer above the
fine one, which reads one row for each member of S(v); rows of NaN stand for picks that a small component lacks,
unless the target is counted in their place. A mean of several recipes reads the rows of each. The coarse layers of a
deeper MG-GCN and the layers of other graph convolutions need edges of the graph, whose number differs from batch to
batch. Label propagation, DeepWalk and node2vec score only nodes of the graph they were trained on, and a tree is
a loop whose length depends on the data.
"""

import copy
import io
import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from mggcn._io.files import write_atomically
from mggcn.block import Block
from mggcn.errors import InputError
from mggcn.keys import Key
from mggcn.methods._hops import OverHops
from mggcn.methods.mg_gcn import MixGrained
from mggcn.methods.mlp import FeatureMLP
from mggcn.methods.sgc import SGC
from mggcn.nn import Layer
from mggcn.runs._scorer import dense_rows
from mggcn.sampling import grains
from mggcn.training import View, calibrated

if TYPE_CHECKING:
    from mggcn.runs._run import Run


def export(run: "Run", path: Path, batch_size: int) -> None:
    """Write the model of a run; see :meth:`mggcn.runs.Run.export`."""
    if path.suffix != ".pt2":
        raise InputError(f"{path}: an exported model is written as .pt2, not {path.suffix or 'no suffix'}")
    if batch_size < 1:
        raise InputError(f"batch_size: {batch_size} is less than 1")
    recipes = (run, *run.others)
    shapes = [row_shape(one) for one in recipes]
    models = (_model(one, shape, batch_size) for one, shape in zip(recipes, shapes, strict=True))
    examples = tuple(torch.zeros(batch_size, *shape) for shape in shapes)
    content = io.BytesIO()
    torch.export.save(torch.export.export(_Mean(models), examples), content)
    write_atomically(path, content.getvalue())


def _model(run: "Run", shape: tuple[int, ...], batch_size: int) -> "_LogProbabilities":
    method, block = run.plan.method, None
    if isinstance(method, MixGrained) and len(shape) > 1:  # which nodes are picked does not change the skip block
        block = grains.skip(np.zeros((batch_size, shape[0]), np.int64), include_target=method.skip_self)
    is_padded = not isinstance(method, MixGrained) or method.padding == "target"
    return _LogProbabilities(copy.deepcopy(run.model).cpu().eval(), block, run.record.temperature, is_padded)


def row_shape(run: "Run") -> tuple[int, ...]:
    """The shape of what the exported model of a recipe reads of each target: [width], or [1 + picks, width]."""
    name, method = run.record.method, run.plan.method
    width = method.input_width(int(run.record.dataset["num_features"]), run.record.edges)
    if isinstance(method, FeatureMLP | SGC | OverHops):
        return (width,)
    if not isinstance(method, MixGrained):
        raise InputError(
            f"{name}: cannot be exported; mlp, sgc, sign, sagn, gamlp and mg-gcn with up to two layers can"
        )
    grain_names = grains.schedule(method.layers, has_fine=method.fine, has_skip=method.skip)
    if not method.fine or not set(grain_names) <= {"fine", "skip"}:
        raise InputError(f"{name}: cannot be exported with {' and '.join(grain_names)} layers, only with fine and skip")
    if method.layers > 1 and method.weigh_picks:
        raise InputError(f"{name}: cannot be exported with weigh_picks, because weights differ from batch to batch")
    if not (isinstance(run.model, Layer) and run.model.capturable):
        raise InputError(f"{name}: cannot be exported with this convolution, only with mean, gcn, pool or gat")
    return (width,) if method.layers == 1 else (1 + method.picks, width)


def input_rows(shape: tuple[int, ...], view: View, targets: NDArray[np.int64], key: Key) -> Tensor:
    """[n, ...] the input rows of targets as an exported model reads them, with the picks of the evaluation's draw 0."""
    (batch,) = view.sampler.batches(targets, key.fold("eval", 0), targets.size)
    rows = dense_rows(view, batch)
    if len(shape) == 1:
        return rows
    members = rows.view(shape[0], targets.size, -1).transpose(0, 1).contiguous()
    weight = batch.blocks[-1].weight
    if weight is not None:
        members[:, 1:][weight.view(targets.size, shape[0])[:, 1:] == 0] = torch.nan
    return members


class _Mean(nn.Module):
    """From the input rows of each recipe to the log of the mean of their calibrated probabilities."""

    def __init__(self, models: "Iterable[_LogProbabilities]") -> None:
        super().__init__()
        self.models = nn.ModuleList(models)

    def forward(self, *rows: Tensor) -> Tensor:
        """[b, classes]; the log-probabilities of :meth:`mggcn.runs.Run.predict`."""
        scores = [model(of_model) for model, of_model in zip(self.models, rows, strict=True)]
        return torch.logsumexp(torch.stack(scores), dim=0) - math.log(len(scores))


class _LogProbabilities(nn.Module):
    """From the input rows of a batch to the calibrated log-probabilities of one recipe."""

    indptr: Tensor
    indices: Tensor
    root: Tensor
    weight: Tensor | None

    def __init__(self, model: nn.Module, block: Block | None, temperature: float, is_padded: bool) -> None:
        super().__init__()
        self.model, self.temperature, self.is_padded = model, temperature, is_padded
        self.group = None if block is None else block.group
        for name in ("indptr", "indices", "root", "weight"):
            self.register_buffer(name, None if block is None else getattr(block, name))

    def forward(self, rows: Tensor) -> Tensor:
        blocks: tuple[Block, ...] = ()
        if self.group is not None:
            weight = self.weight
            if not self.is_padded:
                counts = (~rows.isnan().any(dim=2)).float()
                if weight is not None:
                    counts = counts * (weight.view(counts.shape) > 0)
                weight = (counts / counts.sum(dim=1, keepdim=True).clamp(min=1)).view(-1)
                rows = rows.nan_to_num()
            rows = rows.transpose(0, 1).flatten(0, 1)
            blocks = (Block(rows.shape[0], self.indptr, self.indices, self.root, weight, self.group),)
        scores = functional.log_softmax(self.model(rows, blocks).double(), dim=1)
        return calibrated(scores, self.temperature)
