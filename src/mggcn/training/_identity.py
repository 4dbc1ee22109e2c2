"""Identities: tables of what must be the same, of a run that is resumed or of ranks that train together."""

from collections.abc import Mapping
from typing import Any

Identity = Mapping[str, Any]

_DIGEST, _SHOWN = 64, 200  # characters


def difference(one: Identity, other: Identity) -> tuple[str, str, str] | None:
    """The first field in which two identities differ, with its value in each; None if they are the same."""
    for name in sorted({*one, *other}):
        left, right = one.get(name), other.get(name)
        if left != right:
            if isinstance(left, Mapping) and isinstance(right, Mapping):
                return difference(left, right)
            return name.replace("_", " "), _short(left), _short(right)
    return None


def _short(value: object) -> str:
    try:
        text = str(value)
    except RecursionError:
        return "a value that is nested too deeply"
    if len(text) == _DIGEST:
        return f"{text[:12]}…"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
