"""A plain implementation of every kernel, which specifies it."""


def below(value: int, bound: int) -> int:
    """Map a 64-bit hash to 0 … bound - 1."""
    return (value * bound) >> 64
