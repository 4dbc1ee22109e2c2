"""From distinct rows to rows that repeat, by torch."""

from torch import Tensor

from mggcn.block import Repeats


def expand(distinct: Tensor, repeats: Repeats) -> Tensor:
    """[c, channels] to [n, channels]."""
    return distinct[repeats.place.long()]
