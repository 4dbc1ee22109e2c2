"""Convolutions over blocks of any grain and any sampler.

A convolution is a module called as ``conv(x, block)``; a :class:`Layer` can do more than plain modules. A
method ``hidden(x, block)`` says what the weights multiply, for embeddings.
"""

import inspect
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from mggcn.block import Block
from mggcn.errors import InputError
from mggcn.graph import EDGE_PARTS, EdgePart
from mggcn.kernels import dropout as kernel
from mggcn.kernels.combine import combine_project
from mggcn.kernels.gather import gather_sum
from mggcn.kernels.maximum import maximum
from mggcn.keys import MASK, Key
from mggcn.nn.rows import RepeatedRows, Rows, TableRows, is_sparse, product, to_dense

_SLOPE = 0.2  # of the leaky ReLU of attention scores
_EDGE_DATA = ("edge_weight", "edge_type", "edge_attr")


def aggregate(x: Tensor, block: Block) -> Tensor:
    """Reduce the senders of every receiver: their mean, or their weighted sum; zero for a receiver without senders.

    Args:
        x: [num_src, channels] rows of the layer below.
        block: the edges.

    Returns:
        [num_dst, channels].
    """
    if block.group == 1 and block.weight is None:
        return x
    if block.group is not None:
        grouped = x.view(block.group, block.num_dst, -1)
        if block.weight is None:
            return grouped.mean(dim=0)
        return torch.einsum("bg,gbc->bc", block.weight.view(block.num_dst, block.group), grouped)
    on_gpu = x.device.type == "cuda"
    if x.dtype == torch.float32 or (on_gpu and x.dtype == torch.bfloat16):
        return gather_sum(x, block)
    mode = "mean" if block.weight is None else "sum"
    weight = None if block.weight is None else block.weight.to(x.dtype)
    return functional.embedding_bag(
        block.indices, x, block.indptr, mode=mode, per_sample_weights=weight, include_last_offset=True
    )


class Layer(nn.Module):
    """Base class of models and convolutions with abilities that plain modules do not have.

    An ability is a keyword of the class, ``class Own(Layer, accepts_rows=True)``; a misspelt one is an error.

    Attributes:
        accepts_rows: ``x`` may also be sparse or repeated :data:`mggcn.nn.rows.Rows`.
        capturable: its shapes depend only on the blocks' shapes, so that a GPU can record and replay it.
        fuses_activation: a convolution that applies the leaky ReLU of the layer below itself, by ``negative_slope``.
        reads_edges: what it reads of edges, some of ``direction``, ``weight`` and ``type``: its blocks should have
            ``edge_weight`` and ``edge_type``, which samplers look up when asked.
    """

    accepts_rows: ClassVar[bool] = False
    fuses_activation: ClassVar[bool] = False
    capturable: bool = False
    reads_edges: frozenset[EdgePart] = frozenset()

    def __init_subclass__(
        cls,
        *,
        accepts_rows: bool | None = None,
        capturable: bool | None = None,
        fuses_activation: bool | None = None,
        reads_edges: Iterable[EdgePart] | None = None,
    ) -> None:
        super().__init_subclass__()
        cls.accepts_rows = cls.accepts_rows if accepts_rows is None else accepts_rows
        cls.fuses_activation = cls.fuses_activation if fuses_activation is None else fuses_activation
        cls.capturable = cls.capturable if capturable is None else capturable
        cls.reads_edges = cls.reads_edges if reads_edges is None else frozenset(reads_edges)
        if unknown := cls.reads_edges - set(EDGE_PARTS):
            raise TypeError(f"reads_edges: {min(unknown)!r} is not one of {', '.join(EDGE_PARTS)}")


class Linear(nn.Module):
    """A linear map of rows: of a tensor, or of sparse or repeated input rows.

    Args:
        in_channels: width of the rows.
        out_channels: width of the result.
        bias: the paper's layers have none.
        generator: of the initial weights; torch's global one when None.
    """

    def __init__(
        self, in_channels: int, out_channels: int, *, bias: bool = False, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_channels, out_channels))
        self.bias = nn.Parameter(torch.zeros(out_channels)) if bias else None
        nn.init.xavier_uniform_(self.weight, generator=generator)  # as in the authors' code

    def forward(self, x: Rows) -> Tensor:
        """[n, in_channels] to [n, out_channels]."""
        return product(x, self.weight, self.bias)


class MeanConv(Layer, accepts_rows=True, capturable=True, fuses_activation=True):
    """The paper's aggregator f(h, set) = concat(h, mean of the set), times W; also GraphSAGE's mean aggregator.

    Args:
        in_channels: width of the layer below.
        out_channels: width of the result.
        bias: the paper's layers have none.
        generator: of the initial weights; torch's global one when None.
    """

    def __init__(
        self, in_channels: int, out_channels: int, *, bias: bool = False, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        self.linear = Linear(2 * in_channels, out_channels, bias=bias, generator=generator)

    def forward(self, x: Rows, block: Block, negative_slope: float = 1.0) -> Tensor:
        """[num_src, in_channels] to [num_dst, out_channels]; x first passes a leaky ReLU of this slope."""
        if is_sparse(x):
            return self._project_first(x, block)
        if block.group is not None and (block.weight is None or not block.weight.requires_grad):
            h, index, repeats = (x.rows, x.index, x.repeats) if isinstance(x, RepeatedRows) else (x, None, None)
            factors = None if block.weight is None else block.weight.view(block.num_dst, block.group)
            out = combine_project(to_dense(h), block.group, negative_slope, self.linear.weight, index, repeats, factors)
            return out if self.linear.bias is None else out + self.linear.bias
        joined: Tensor = self.linear(self.hidden(functional.leaky_relu(to_dense(x), negative_slope), block))
        return joined

    def hidden(self, x: Tensor, block: Block) -> Tensor:
        """[num_dst, 2 · in_channels] what the weights multiply: the receiver's row and the aggregate."""
        return torch.cat([x.index_select(0, block.root), aggregate(x, block)], dim=1)

    def _project_first(self, x: Rows, block: Block) -> Tensor:
        """The same for sparse rows, which are multiplied before the mean is taken; the result is the same."""
        root, mean = x.matmul(torch.cat(self.linear.weight.chunk(2), dim=1)).chunk(2, dim=1)
        out = root.index_select(0, block.root) + aggregate(mean.contiguous(), block)
        return out if self.linear.bias is None else out + self.linear.bias


class GCNConv(Layer, accepts_rows=True, capturable=True):
    """A graph convolution: the weighted sum of the senders (their mean where the block has no weights), times W.

    Args:
        in_channels: width of the layer below.
        out_channels: width of the result.
        bias: added after the sum.
        generator: of the initial weights; torch's global one when None.
    """

    def __init__(
        self, in_channels: int, out_channels: int, *, bias: bool = False, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        self.linear = Linear(in_channels, out_channels, generator=generator)
        self.bias = nn.Parameter(torch.zeros(out_channels)) if bias else None

    def forward(self, x: Rows, block: Block) -> Tensor:
        """[num_src, in_channels] to [num_dst, out_channels]."""
        in_channels, out_channels = self.linear.weight.shape
        if in_channels < out_channels and not is_sparse(x):
            out: Tensor = self.linear(aggregate(to_dense(x), block))
        else:
            out = aggregate(self.linear(x), block)
        return out if self.bias is None else out + self.bias

    def hidden(self, x: Tensor, block: Block) -> Tensor:
        """[num_dst, in_channels] the aggregate; its product with the weights is the aggregate of their products."""
        return aggregate(x, block)


class GATConv(Layer, accepts_rows=True, capturable=True):
    """Graph attention (Veličković and others): the sum of W h over the senders, each times a softmax of its score.

    The score of sender j for receiver i is LeakyReLU(a_root · W h_i + a_sender · W h_j), of slope 0.2. The sum
    is zero for a receiver without senders. Of a block's weights only zeros are used: such a sender is left out.

    Args:
        in_channels: width of the layer below.
        out_channels: width of the result.
        bias: added to the result.
        generator: of the initial weights; torch's global one when None.
    """

    def __init__(
        self, in_channels: int, out_channels: int, *, bias: bool = False, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        self.linear = Linear(in_channels, out_channels, generator=generator)
        self.root = nn.Parameter(torch.empty(1, out_channels))
        self.sender = nn.Parameter(torch.empty(1, out_channels))
        self.bias = nn.Parameter(torch.zeros(out_channels)) if bias else None
        for vector in (self.root, self.sender):
            nn.init.xavier_uniform_(vector, generator=generator)

    def forward(self, x: Rows, block: Block) -> Tensor:
        """[num_src, in_channels] to [num_dst, out_channels]."""
        h: Tensor = self.linear(x)
        root, sender = (h * self.root).sum(dim=1), (h * self.sender).sum(dim=1)  # [num_src]
        root = root.index_select(0, block.root).index_select(0, block.receivers)
        scores = functional.leaky_relu(root + sender.index_select(0, block.indices), _SLOPE)  # [num_edges]
        out = aggregate(h, replace(block, weight=_softmax(scores.float(), block).to(h.dtype)))
        return out if self.bias is None else out + self.bias


def _softmax(scores: Tensor, block: Block) -> Tensor:
    """The softmax of [num_edges] scores over every receiver's senders."""
    receivers = block.receivers
    if block.weight is not None:
        scores = scores.masked_fill(block.weight.detach() == 0, -torch.inf)
    lowest = scores.new_full((block.num_dst,), torch.finfo(scores.dtype).min)
    highest = lowest.scatter_reduce(0, receivers, scores.detach(), "amax")
    factors = (scores - highest.index_select(0, receivers)).exp()
    total = torch.zeros_like(highest).scatter_add(0, receivers, factors)
    return factors / total.clamp(min=torch.finfo(total.dtype).tiny).index_select(0, receivers)


class PyGConv(Layer):
    """Calls a convolution of PyTorch Geometric, such as GCNConv, SAGEConv, GATConv or RGCNConv, on a block.

    A convolution that accepts a pair of feature matrices receives ``((x, x[root]), edge_index)``: the rows of the layer
    below, those of the receivers, and the block's edges. One whose ``forward`` takes a single ``Tensor``, such as
    GCNConv, receives the rows of the layer below and edges between these rows; the rows of the receivers are its
    result. Of a block's weights only zeros are used: such an edge is left out.

    It also receives what it takes of ``edge_weight``, ``edge_type`` and ``edge_attr``, see :class:`mggcn.block.Block`.
    ``edge_attr`` has ``conv.edge_dim`` columns, 1 if the convolution has no ``edge_dim``: the weight, and in further
    columns 1 for the relation. So GATConv sees weights with ``edge_dim=1``, and relations, too, with
    ``edge_dim=1 + len(graph.schema.relations)``; with ``edge_dim=None`` it receives nothing. RGCNConv needs
    ``num_relations=1 + len(graph.schema.relations)``, the last one for a node and itself.

    Args:
        conv: the convolution. One that adds self-loops to bipartite graphs (GATConv by default) connects row i with
            receiver i, which is the receiver's own row in MG-GCN's blocks.
        edge_data: which of ``edge_weight``, ``edge_type`` and ``edge_attr`` it receives; by default those of them that
            its ``forward`` takes.
    """

    def __init__(self, conv: nn.Module, *, edge_data: Sequence[str] | None = None) -> None:
        super().__init__()
        self.conv = conv
        parameters = inspect.signature(conv.forward).parameters
        self._takes_pair = next(iter(parameters.values())).annotation not in (Tensor, "Tensor", "torch.Tensor")
        self._edge_dim = getattr(conv, "edge_dim", 1)
        if edge_data is None:
            known = [name for name in _EDGE_DATA if name in parameters]
            edge_data = [name for name in known if name != "edge_attr" or self._edge_dim is not None]
        if unknown := [name for name in edge_data if name not in _EDGE_DATA]:
            raise InputError(f"edge_data: {unknown[0]!r} is not one of {', '.join(_EDGE_DATA)}")
        self._edge_data = tuple(edge_data)
        weights: set[EdgePart] = {"weight"} if {"edge_weight", "edge_attr"} & {*edge_data} else set()
        reads_relations = "edge_type" in edge_data or ("edge_attr" in edge_data and (self._edge_dim or 1) > 1)
        relations: set[EdgePart] = {"direction", "type"} if reads_relations else set()
        self.reads_edges = frozenset(weights | relations)

    def forward(self, x: Tensor, block: Block) -> Tensor:
        """[num_src, in_channels] to [num_dst, out_channels]."""
        kept = None if block.weight is None else block.weight.detach() != 0
        values = {name: value if kept is None else value[kept] for name, value in self._values(x, block).items()}
        if self._takes_pair:
            edge_index = block.edge_index if kept is None else block.edge_index[:, kept]
            bipartite: Tensor = self.conv((x, x.index_select(0, block.root)), edge_index, **values)
            return bipartite
        senders, receivers = block.edge_index
        _check_distinct(block.root, type(self.conv).__name__)
        edge_index = torch.stack([senders, block.root.long()[receivers]])
        out: Tensor = self.conv(x, edge_index if kept is None else edge_index[:, kept], **values)
        return out.index_select(0, block.root)

    def _values(self, x: Tensor, block: Block) -> dict[str, Tensor]:
        """What the convolution receives of each edge."""
        weight, relation, name = block.edge_weight, block.edge_type, type(self.conv).__name__
        num_relations = getattr(self.conv, "num_relations", None)
        if weight is None or relation is None:
            if "edge_type" in self._edge_data and num_relations != 1:
                problem = "the graph has no types of edges, or its sampler was not asked for them"
                raise InputError(f"{name}: needs edge_type, but the blocks have none: {problem}")
            return {}
        values, highest = {}, int(relation.max()) if relation.numel() else 0
        if "edge_weight" in self._edge_data:
            values["edge_weight"] = weight.to(x.dtype)
        if "edge_type" in self._edge_data:
            if num_relations is not None and highest >= num_relations:
                raise InputError(
                    f"{name}: num_relations is {num_relations}, but edges have the relation {highest}; it must be 1 "
                    "more than the relations of the graph"
                )
            values["edge_type"] = relation
        if "edge_attr" in self._edge_data:
            width = (self._edge_dim or 1) - 1
            if 0 < width < highest:
                raise InputError(
                    f"{name}: edge_dim is {width + 1}, but edges have the relation {highest - 1}; it must be 1 for "
                    "weights, or 1 more than the relations of the graph"
                )
            columns = [functional.one_hot(relation, width + 1)[:, :width]] if width else []
            values["edge_attr"] = torch.cat([weight[:, None], *columns], dim=1).to(x.dtype)
        return values


def _check_distinct(root: Tensor, name: str) -> None:
    """Raise InputError if receivers share a row, which edges between rows cannot tell apart."""
    first = torch.arange(root.numel(), dtype=root.dtype, device=root.device)
    if not torch.equal(root, first) and torch.unique(root).numel() < root.numel():
        raise InputError(f"{name}: takes no pair of matrices, but some receivers of the block share a row")


def dropout(h: Tensor, share: float, training: bool) -> Tensor:
    """Set a share of hidden units to zero and scale the others up, in training only.

    On a CPU torch's generator is read once per call, for the key of the kernel; on a GPU it is torch's dropout.
    """
    if not (training and share):
        return h
    if h.device.type != "cpu" or h.dtype != torch.float32:
        return functional.dropout(h, share)
    key = Key(int(torch.randint(-(2**63), 2**63 - 1, ())) & MASK)
    return kernel.dropout(h, torch.arange(h.shape[0]), share, key, threads=torch.get_num_threads())


class PoolConv(Layer, accepts_rows=True, capturable=True):
    """GraphSAGE's pooling aggregator: concat(h, max over the senders of ReLU(h W_pool + b)), times W.

    Without senders the maximum is zero. Of a block's weights only zeros are used: such a sender is left out.

    Args:
        in_channels: width of the layer below.
        out_channels: width of the result.
        bias: of the result; the pooling layer always has a bias.
        pool_channels: width of the pooled rows; ``in_channels`` when None.
        generator: of the initial weights; torch's global one when None.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        bias: bool = False,
        pool_channels: int | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        width = pool_channels or in_channels
        self.pool = Linear(in_channels, width, bias=True, generator=generator)
        self.root = Linear(in_channels, out_channels, bias=bias, generator=generator)
        self.pooled = Linear(width, out_channels, generator=generator)

    def forward(self, x: Rows, block: Block) -> Tensor:
        """[num_src, in_channels] to [num_dst, out_channels]."""
        if isinstance(x, RepeatedRows):
            largest = maximum(self.pool(x.rows), block, x.index, x.repeats)
        else:
            largest = maximum(self.pool(x), block)
        pooled: Tensor = self.pooled(largest)
        return pooled + linear_at(self.root, x, block.root)

    def hidden(self, x: Tensor, block: Block) -> Tensor:
        """[num_dst, in_channels + pool_channels] what the weights multiply: the receiver's row and the maximum."""
        return torch.cat([x.index_select(0, block.root), maximum(self.pool(x), block)], dim=1)


def linear_at(linear: Linear, x: Rows, index: Tensor) -> Tensor:
    """A linear map of the rows at ``index``: dense rows are selected first, others multiplied first."""
    table: Rows = x
    if isinstance(x, RepeatedRows) and isinstance(x.rows, Tensor | TableRows) and x.repeats is None:
        table, index = x.rows, x.index.index_select(0, index)
    if isinstance(table, TableRows):
        rows: Tensor = linear(replace(table, nodes=table.nodes.index_select(0, index)))
    elif isinstance(table, Tensor):
        rows = linear(table.index_select(0, index))
    else:
        rows = linear(table).index_select(0, index)
    return rows


class LSTMConv(Layer, accepts_rows=True):
    """GraphSAGE's LSTM aggregator: concat(h, last state of an LSTM over the senders), times W.

    The LSTM reads a receiver's senders in the block's order, which the sampler has shuffled. Without senders the state
    is zero. Of a block's weights only zeros are used: such a sender is left out.

    Each row is multiplied by the input weights once, for all its receivers; the recurrence then runs over all receivers
    in parallel, those with most senders first, without padding.

    Args:
        in_channels: width of the layer below.
        out_channels: width of the result.
        bias: of the result; the LSTM's gates always have their own.
        state_channels: width of the LSTM's state; ``in_channels`` when None.
        generator: of the initial weights; torch's global one when None.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        bias: bool = False,
        state_channels: int | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.width = state_channels or in_channels
        self.gates = Linear(in_channels, 4 * self.width, bias=True, generator=generator)
        self.recur = Linear(self.width, 4 * self.width, generator=generator)
        self.root = Linear(in_channels, out_channels, bias=bias, generator=generator)
        self.states = Linear(self.width, out_channels, generator=generator)
        with torch.no_grad():
            self.gates.bias[self.width : 2 * self.width] = 1  # type: ignore[index]  # initially the forget gate keeps the state

    def forward(self, x: Rows, block: Block) -> Tensor:
        """[num_src, in_channels] to [num_dst, out_channels]."""
        aggregated: Tensor = self.states(self._states(self.gates(x), block))
        return aggregated + linear_at(self.root, x, block.root)

    def hidden(self, x: Tensor, block: Block) -> Tensor:
        """[num_dst, in_channels + state_channels] what the weights multiply: the receiver's row and the last state."""
        return torch.cat([x.index_select(0, block.root), self._states(self.gates(x), block)], dim=1)

    def _states(self, gates: Tensor, block: Block) -> Tensor:
        """From [num_src, 4 · width] to the last states [num_dst, width]; gates are input, forget, output and cell."""
        starts, senders = _senders(block)
        lengths = starts.diff()
        order = torch.argsort(lengths, descending=True, stable=True)
        first = starts[:-1][order]
        running = _running(lengths)
        edges = torch.cat([first[:count] + step for step, count in enumerate(running)]) if running else first[:0]
        state = cell = gates.new_zeros(0, self.width)
        done: list[Tensor] = []
        for step, now in enumerate(torch.split(gates.index_select(0, senders[edges]), running)):
            if step:
                ended = state.shape[0] - now.shape[0]
                state, last = torch.split(state, [now.shape[0], ended])
                cell, _ = torch.split(cell, [now.shape[0], ended])
                done.append(last)
                now = now + self.recur(state)
            gate_values, new = torch.split(now, [3 * self.width, self.width], dim=1)
            input_gate, forget_gate, output_gate = gate_values.sigmoid().chunk(3, dim=1)
            cell = input_gate * new.tanh() + forget_gate * cell if step else input_gate * new.tanh()
            state = output_gate * cell.tanh()
        without_senders = gates.new_zeros(block.num_dst - (running[0] if running else 0), self.width)
        ordered = torch.cat([state, *reversed(done), without_senders])
        return torch.empty_like(ordered).index_copy(0, order, ordered)


def _senders(block: Block) -> tuple[Tensor, Tensor]:
    """The start of each receiver's senders and the senders, without those of weight zero."""
    if block.weight is None:
        return block.indptr, block.indices
    keep = block.weight.detach() != 0
    before = torch.cat([block.indptr.new_zeros(1), keep.cumsum(0).to(block.indptr.dtype)])
    return before[block.indptr], block.indices[keep]


def _running(lengths: Tensor) -> list[int]:
    """How many receivers have more than 0, 1, 2 … senders."""
    counts = torch.bincount(lengths)  # [longest + 1]
    return (lengths.numel() - counts.cumsum(0))[:-1].tolist()
