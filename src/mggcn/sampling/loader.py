"""MG-GCN's sampler for PyTorch Geometric: its NodeLoader with our picks; no compiled extension is needed."""

from typing import Any

import numpy as np
import torch

from mggcn.errors import InputError
from mggcn.graph import Direction, Graph
from mggcn.kernels.aggregate import neighbour_mean
from mggcn.kernels.pick import PickTable
from mggcn.keys import Key
from mggcn.sampling import MixGrainedSampler, grains

try:
    from torch_geometric.data import Data
    from torch_geometric.loader import NodeLoader
    from torch_geometric.sampler import BaseSampler, NodeSamplerInput, SamplerOutput
except ImportError as error:
    raise InputError("MixGrainedLoader needs PyTorch Geometric; pip install 'mggcn[pyg]'") from error


class _PickSampler(BaseSampler):  # type: ignore[misc]
    """Draws picks for PyG's loader; the epoch lives in shared memory, so that long-lived workers see it."""

    def __init__(self, sampler: MixGrainedSampler, key: Key) -> None:
        self.sampler, self.key = sampler, key
        self.epoch = torch.zeros((), dtype=torch.int64).share_memory_()  # type: ignore[no-untyped-call]

    def sample_from_nodes(self, inputs: NodeSamplerInput, **_: Any) -> SamplerOutput:
        targets = inputs.node.numpy()
        key = self.sampler.fixed_key or self.key.fold("picks", int(self.epoch))
        picks = self.sampler.table.draw(targets, self.sampler.picks, key, threads=self.sampler.threads)
        near = grains.coarse(self.sampler.table.graph, picks, threads=self.sampler.threads)
        receivers = torch.repeat_interleave(near.root, near.indptr.diff())
        nodes = grains.rows(picks).long()
        metadata = (inputs.input_id, inputs.time, torch.from_numpy(picks))
        return SamplerOutput(nodes, row=near.indices, col=receivers, edge=None, metadata=metadata)

    def sample_from_edges(self, *_: Any, **__: Any) -> SamplerOutput:
        raise NotImplementedError("picks are drawn for nodes, not for edges")

    @property
    def edge_permutation(self) -> None:
        return None


class MixGrainedLoader(NodeLoader):  # type: ignore[misc]
    """PyG's NodeLoader over MG-GCN's picks.

    A batch is an ordinary ``Data`` whose first ``batch_size`` rows are the targets and the rest their picks, a row per
    (target, node) pair. Beside PyG's own fields it holds

    * ``fine``: the input rows ``[x | mean of x over N(v)]``,
    * ``blocks``: what :class:`mggcn.nn.MGGCN` takes after them,
    * ``edge_index``: the coarse edges, between picks of one target that neighbour each other,
    * ``skip_edge_index``: from every member of S(v) to the target v,

    so that ``model(batch.fine, batch.blocks)`` and PyG's own convolutions both work on it. Picks depend on (seed,
    epoch, target) only: any number of workers gives the same batches.

    Args:
        data: a homogeneous graph with ``x``.
        picks: the paper's M.
        num_layers: of the model.
        input_nodes: the targets, as in NodeLoader.
        direction: ``both`` takes edges as undirected; ``in`` lets a node hear the sources of its edges only.
        fine_self: whether the fine mean counts the node itself.
        skip_self: whether the skip mean counts the target.
        padding: what stands for missing picks, see :func:`mggcn.sampling.grains.skip`.
        redraw: draw new picks every epoch.
        seed: of the picks.
        **kwargs: NodeLoader's and DataLoader's own, such as ``batch_size``, ``shuffle``, ``num_workers`` and
            ``transform``.
    """

    def __init__(
        self,
        data: Data,
        picks: int,
        num_layers: int = 2,
        *,
        input_nodes: Any = None,
        direction: Direction = "both",
        fine_self: bool = True,
        skip_self: bool = True,
        padding: grains.Padding = "target",
        redraw: bool = True,
        seed: int = 0,
        **kwargs: Any,
    ) -> None:
        if data.x is None or data.edge_index is None:
            raise InputError("data: MixGrainedLoader needs x and edge_index")
        if picks < 1:
            raise InputError(f"picks: {picks} is less than 1")
        source, target = data.edge_index.cpu().numpy()
        graph = Graph.from_edges(source, target, data.num_nodes, direction=direction)
        x = data.x.cpu().numpy().astype(np.float32, copy=False)
        self._fine = torch.from_numpy(np.concatenate([x, neighbour_mean(graph, x, include_self=fine_self)], axis=1))
        key = Key.of(seed)
        sampler = MixGrainedSampler(
            PickTable.of(graph),
            picks,
            num_layers,
            include_target=skip_self,
            padding=padding,
            fixed_key=None if redraw else key.fold("once"),
            threads=1 if kwargs.get("num_workers") else None,
        )
        self._then = kwargs.pop("transform", None)
        super().__init__(data, _PickSampler(sampler, key), input_nodes, **kwargs)

    def __iter__(self) -> Any:
        """Start the next epoch."""
        self.node_sampler.epoch += 1
        return super().__iter__()

    def filter_fn(self, out: SamplerOutput) -> Data:
        """Join the rows with their features and blocks."""
        batch = super().filter_fn(out)
        picks = out.metadata[2].numpy()
        batch.fine = self._fine[out.node]
        batch.blocks = self.node_sampler.sampler.blocks(picks)
        members = torch.arange(out.node.numel())
        batch.skip_edge_index = torch.stack([members, members % batch.batch_size])
        return batch if self._then is None else self._then(batch)
