"""Packages that import their modules when a name of theirs is used first."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy_names(package: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package: from its modules to the names that they define."""
    home_of = {name: module for module, names in homes.items() for name in names}

    def get(name: str) -> Any:
        if name in homes:
            return import_module(f"{package}.{name}")
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{home_of[name]}"), name)

    return get
