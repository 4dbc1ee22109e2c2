"""Ethereum: collect or simulate transactions, and build a data set of accounts from them."""

from importlib.util import find_spec

from mggcn.errors import InputError


def require(module: str, extra: str) -> None:
    """Refuse to go on without a library, naming the extra that has it."""
    if find_spec(module) is None:
        raise InputError(f"this needs {module}: pip install 'mggcn[{extra}]'")
