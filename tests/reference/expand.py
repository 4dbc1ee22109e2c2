"""Copies distinct rows to the rows that repeat them, in torch."""

from torch import Tensor

from mggcn.block import Repeats


def expand(distinct: Tensor, repeats: Repeats) -> Tensor:
    """[c, channels] to [n, channels]."""
    return distinct[repeats.index.long()]
