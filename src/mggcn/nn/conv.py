"""Convolutions over blocks of any grain and any sampler.

A convolution is a module called as ``conv(x, block)``; a :class:`Layer` can do more than plain modules. A
method ``hidden(x, block)`` says what the weights multiply, for embeddings.
"""

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from mggcn.block import Block
from mggcn.kernels.combine import combine_project
from mggcn.kernels.gather import gather_sum
from mggcn.nn.rows import RepeatedRows, Rows, is_sparse, product, to_dense


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
    """Base class of models and convolutions that can do more than plain modules, which can do nothing of the following.

    It is declared by keywords of the class, ``class Own(Layer, accepts_rows=True)``; a misspelt one is an error.

    Attributes:
        accepts_rows: ``x`` may also be sparse or repeated :data:`mggcn.nn.rows.Rows`.
        capturable: its shapes depend only on the blocks' shapes, so that a GPU can record and replay it.
        fuses_activation: a convolution that applies the leaky ReLU of the layer below itself, by ``negative_slope``.
    """

    accepts_rows: ClassVar[bool] = False
    fuses_activation: ClassVar[bool] = False
    _is_capturable: ClassVar[bool] = False

    def __init_subclass__(
        cls, *, accepts_rows: bool | None = None, capturable: bool | None = None, fuses_activation: bool | None = None
    ) -> None:
        super().__init_subclass__()
        cls.accepts_rows = cls.accepts_rows if accepts_rows is None else accepts_rows
        cls.fuses_activation = cls.fuses_activation if fuses_activation is None else fuses_activation
        cls._is_capturable = cls._is_capturable if capturable is None else capturable

    @property
    def capturable(self) -> bool:
        """Whether a GPU can record and replay it."""
        return self._is_capturable


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
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights: Xavier uniform, as in the authors' code."""
        nn.init.xavier_uniform_(self.weight, generator=generator)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

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
        if block.group is not None and block.weight is None:
            h, index, repeats = (x.rows, x.index, x.repeats) if isinstance(x, RepeatedRows) else (x, None, None)
            out = combine_project(to_dense(h), block.group, negative_slope, self.linear.weight, index, repeats)
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
