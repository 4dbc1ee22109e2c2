"""Types of settings with bounds, which their dataclasses check when they are created."""

import sys
from typing import Annotated, Any, TypeAlias, get_type_hints

from msgspec import Meta

from mggcn.errors import InputError

MOST = 10**9
"""The largest whole number that a setting can have."""

Count: TypeAlias = Annotated[int, Meta(ge=1, le=MOST, description="is less than 1")]
NaturalNumber: TypeAlias = Annotated[int, Meta(ge=0, le=MOST, description="is less than 0")]
NonNegative: TypeAlias = Annotated[float, Meta(ge=0, description="is less than 0")]
Positive: TypeAlias = Annotated[float, Meta(gt=0, lt=sys.float_info.max, description="is not a positive number")]
Share: TypeAlias = Annotated[float, Meta(ge=0, lt=1, description="is not in [0, 1)")]


def check_bounds(settings: Any) -> None:
    """Raise InputError for a field of a dataclass that is outside the bounds of its type."""
    for name, hint in get_type_hints(type(settings), include_extras=True).items():
        for meta in getattr(hint, "__metadata__", ()):
            value = getattr(settings, name)
            if meta.le is not None and value > meta.le:
                raise InputError(f"{name}: {str(value)[:40]} is more than {meta.le:,}")
            is_above = value >= meta.ge if meta.gt is None else value > meta.gt
            if not (is_above and (meta.lt is None or value < meta.lt)):
                raise InputError(f"{name}: {value} {meta.description}")
