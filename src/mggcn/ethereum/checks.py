"""The types of a stage, checked in what an engine wrote: engines widen or narrow integers without a word."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import parquet

from mggcn.errors import InputError

Types = Mapping[str, str]

_ARROW = {
    "string": pyarrow.string(),
    "int64": pyarrow.int64(),
    "boolean": pyarrow.bool_(),
    "decimal(38,0)": pyarrow.decimal128(38, 0),
}


def arrow_schema(types: Types) -> Any:
    """The same types as a ``pyarrow`` schema."""
    return pyarrow.schema([(column, _ARROW[kind]) for column, kind in types.items()])


def check_types(name: str, files: Sequence[Path], types: Types) -> None:
    """Refuse a stage whose Parquet columns have other types, or another order, than it declares."""
    wanted = [(column, _ARROW[kind]) for column, kind in types.items()]
    for file in files:
        found = [(field.name, field.type) for field in parquet.read_schema(file)]
        if found != wanted:
            wrong = [f"{column} is {kind}" for column, kind in found if (column, kind) not in wanted]
            raise InputError(
                f"{name}: the engine wrote other columns than declared: {', '.join(wrong) or 'another order'}"
            )
