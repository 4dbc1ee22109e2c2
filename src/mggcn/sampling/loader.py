"""A loader for PyTorch Geometric that draws MG-GCN's picks; it needs no compiled extension."""

import warnings
from typing import Any, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mggcn._io.arrays import shared_tensor
from mggcn.data import (
    check_finite,
    check_kind,
    checked_weights,
    edge_values,
    edges_in,
    ignored_edge_data,
    one_way_note,
    sums_note,
)
from mggcn.errors import DataWarning, InputError
from mggcn.graph import Direction, Graph, node_numbers
from mggcn.kernels.aggregate import neighbour_mean
from mggcn.kernels.edges import arrivals, edge_data
from mggcn.kernels.pick import PickBy, PickTable, induce
from mggcn.keys import Key
from mggcn.sampling import grains
from mggcn.sampling.mix_grained import MixGrainedSampler

try:
    from torch_geometric.data import Data
    from torch_geometric.loader import NodeLoader
    from torch_geometric.sampler import BaseSampler, NodeSamplerInput, SamplerOutput
except ImportError as error:
    raise InputError("MixGrainedLoader needs PyTorch Geometric; pip install 'mggcn[pyg]'") from error


class MixGrainedLoader(NodeLoader):  # type: ignore[misc]
    """Batches of MG-GCN's picks for PyTorch Geometric, in place of its NeighborLoader.

    A batch is a ``Data`` object with one row per (target, node) pair: the first ``batch_size`` rows are the targets,
    the others their picks. A node that is picked for several targets has several rows. The batch has the fields that a
    script written for NeighborLoader uses, so that ``model(batch.x, batch.edge_index)[: batch.batch_size]`` works with
    any PyG model:

    * ``x``, ``y`` and the other node fields of ``data``, one entry per row,
    * ``edge_index``: from the rows of S(v) to each other where the graph has an edge, and from every pick to its target
      v; no edge occurs twice, and no edge joins the rows of two targets,
    * ``edge_weight`` or a single column ``edge_attr``, whichever ``data`` has, and ``edge_type``: those of the edges in
      ``edge_index``. An edge from a pick to its target has those of the edge by which the pick came, which is the same
      edge where they are neighbours,
    * ``n_id``: the node of each row,
    * ``batch_size`` and ``input_id``, as in NeighborLoader.

    Two more fields serve :class:`mggcn.nn.MGGCN`, called as ``model(batch.fine, batch.blocks)``:

    * ``fine``: the input rows ``[x | mean of x over N(v)]``, where the mean is weighted if there are weights,
    * ``blocks``: the :class:`mggcn.block.Block` of each layer after the first. ``blocks[i].edge_index`` has the edges
      of a single layer, for bipartite convolutions, with ``edge_weight`` and ``edge_type`` if ``data`` has any.

    Weights are numbers of 0 or more, and 0 is no edge. Two rows with several edges between them have one in a batch,
    with the sum of the weights and the type of the heaviest. Other attributes of edges are left out of a batch, and a
    warning names them.

    If the component of a target has too few nodes, the missing picks are rows that repeat the target; ``edge_index``
    has no edges for them. Picks depend only on (seed, epoch, target), so any number of workers gives the same batches.

    Args:
        data: a homogeneous graph with ``x``.
        picks: the paper's M, the number of nodes drawn per target.
        num_layers: of MGGCN; other models may have any number of layers.
        input_nodes: the targets, node numbers or a boolean mask; all nodes when None.
        direction: ``both`` takes edges as undirected, so that a batch also has the reverse of edges; ``in`` takes the
            sources of a node's edges as its neighbours, as NeighborLoader does; ``directed`` takes the neighbours at
            both ends of edges and keeps which way they go, so that ``edge_type`` is a relation: twice the type of an
            edge, and one more for the reverse of an edge. None is ``both``, with a warning if some edges have no
            reverse.
        weights: whether ``edge_weight`` or a single column ``edge_attr`` is read.
        pick_by: whether neighbours are picked in proportion to their ``degree`` (the paper), to the ``weight`` of the
            edge to them, or ``uniform``ly.
        weigh_picks: whether the means in ``blocks`` are weighted, see :func:`mggcn.sampling.grains.weighed`.
        fine_self: whether the mean in ``fine`` includes the node itself.
        skip_self: whether the mean over S(v) in the last block includes the target.
        padding: how the last block counts missing picks, see :func:`mggcn.sampling.grains.skip`.
        redraw: draw new picks in every epoch.
        seed: of the picks.
        **kwargs: further arguments of NodeLoader and DataLoader, such as ``batch_size``, ``shuffle``, ``num_workers``
            and ``transform``.
    """

    def __init__(
        self,
        data: Data,
        picks: int,
        num_layers: int = 2,
        *,
        input_nodes: Any = None,
        direction: Direction | None = None,
        weights: bool = True,
        pick_by: PickBy = "degree",
        weigh_picks: bool = False,
        fine_self: bool = True,
        skip_self: bool = True,
        padding: grains.Padding = "target",
        redraw: bool = True,
        seed: int = 0,
        **kwargs: Any,
    ) -> None:
        check_kind(data, "MixGrainedLoader takes PyG's Data", "torch_geometric.Data")
        if data.x is None or data.edge_index is None:
            raise InputError("data: MixGrainedLoader needs x and edge_index")
        if picks < 1:
            raise InputError(f"picks: {picks} is less than 1")
        if input_nodes is not None:
            numbers = shared_tensor(node_numbers(input_nodes, data.num_nodes, "input_nodes"))
            if getattr(input_nodes, "dtype", None) != torch.bool:  # NodeLoader sets input_id from a mask
                input_nodes = numbers
        if pick_by not in get_args(PickBy):
            raise InputError(f"pick_by: {pick_by!r} is not one of {', '.join(get_args(PickBy))}")
        edges, weight = edges_in(data, data.num_nodes, data.num_nodes, "data."), None
        ends, self._weights = edges.ends, ""
        if weights and edges.weight is not None:
            self._weights = edges.weight_field
            weight = checked_weights(edges.weight, data.num_edges, f"data.{self._weights}", "weights=False")
        graph, changed = Graph.from_edges_counted(
            ends[0],
            ends[1],
            data.num_nodes,
            direction=direction or "both",
            weight=weight,
            edge_type=data.get("edge_type"),
            types=data.get("edge_type_names") or (),
        )
        used = {self._weights, "edge_type", "edge_type_names"}
        for text in [
            *ignored_edge_data([name for name in edge_values(data.keys()) if name not in used], "data"),
            *(() if direction else one_way_note(changed.reverses)),
            *(() if direction else sums_note(changed.sums)),
        ]:
            warnings.warn(text, DataWarning, stacklevel=2)
        x = data.x.cpu().numpy().astype(np.float32, copy=False)
        check_finite(x)
        self._fine = torch.from_numpy(np.concatenate([x, neighbour_mean(graph, x, include_self=fine_self)], axis=1))
        key = Key.of(seed)
        sampler = MixGrainedSampler(
            PickTable.of(graph, by=pick_by),
            picks,
            num_layers,
            include_target=skip_self,
            padding=padding,
            fixed_key=None if redraw else key.fold("once"),
            threads=1 if kwargs.get("num_workers") else None,
            edges=graph.relations is not None,
            weigh=weigh_picks,
        )
        self._transform = kwargs.pop("transform", None)
        super().__init__(data, _PickSampler(sampler, key), input_nodes, **kwargs)

    def __iter__(self) -> Any:
        """Start the next epoch."""
        self.node_sampler.epoch += 1
        return super().__iter__()

    def filter_fn(self, out: SamplerOutput) -> Data:
        """Add the features and blocks to the rows that the sampler has drawn."""
        batch = super().filter_fn(out)
        batch.fine = self._fine[out.node]
        batch.blocks = self.node_sampler.sampler.blocks(out.metadata[2].numpy())
        weight, relation = out.metadata[3:]
        if self._weights:
            batch[self._weights] = weight if self.data[self._weights].ndim == 1 else weight[:, None]
        if relation is not None:
            batch.edge_type = relation
        return batch if self._transform is None else self._transform(batch)


class _PickSampler(BaseSampler):  # type: ignore[misc]
    """Draws picks for PyG's loader; the epoch is in shared memory, so that persistent workers see it change."""

    def __init__(self, sampler: MixGrainedSampler, key: Key) -> None:
        self.sampler, self.key = sampler, key
        self.epoch = torch.zeros((), dtype=torch.int64).share_memory_()  # type: ignore[no-untyped-call]

    def sample_from_nodes(self, inputs: NodeSamplerInput, **_: Any) -> SamplerOutput:
        sampler, key = self.sampler, self.sampler.fixed_key or self.key.fold("picks", int(self.epoch))
        picks = sampler.table.draw(inputs.node.numpy(), sampler.picks, key, threads=sampler.threads)
        edge_index, *values = _edges(sampler.table.graph, picks, sampler.threads)
        metadata = (inputs.input_id, inputs.time, torch.from_numpy(picks), *values)
        source, target = edge_index
        return SamplerOutput(grains.rows(picks).long(), row=source, col=target, edge=None, metadata=metadata)

    def sample_from_edges(self, *_: Any, **__: Any) -> SamplerOutput:
        raise NotImplementedError("picks are drawn for nodes, not for edges")


def _edges(graph: Graph, picks: NDArray[Any], threads: int | None) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """The edges of the graph inside each S(v) and those from every pick to v.

    Returns:
        [2, E] the rows of senders and receivers, sorted by receiver; then [E] the weight and the relation of each edge,
        or None if the graph has no weights, or neither directions nor types.
    """
    is_pick = picks[:, 1:] != picks[:, :1]
    joined = induce(graph, picks, threads=threads)  # [b, receiver, sender]
    joined[:, 1:] &= is_pick[:, :, None]
    joined[:, 0, 1:] |= is_pick
    receiver, t, sender = np.nonzero(joined.transpose(1, 0, 2))
    b, schema = picks.shape[0], graph.schema
    edge_index = torch.from_numpy(np.stack([sender * b + t, receiver * b + t]))
    if schema.is_plain:
        return edge_index, None, None
    came_by = np.where(receiver == 0, arrivals(graph, picks, threads=threads)[t, sender], receiver)
    found = edge_data(graph, picks[t, came_by], picks[t, sender], threads=threads)
    relation = torch.from_numpy(found.relation.astype(np.int64)) if schema.directed or schema.types else None
    return edge_index, torch.from_numpy(found.weight) if schema.weighted else None, relation
