"""The types of a stage's columns, and the check that an engine wrote exactly these.

The check is needed because engines change the width of integers without an error.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import parquet

from mggcn.errors import InputError

Types = Mapping[str, str]

TEXT, INT, FLAG, WEI = "string", "int64", "boolean", "decimal(38,0)"
_ARROW = {TEXT: pyarrow.string(), INT: pyarrow.int64(), FLAG: pyarrow.bool_(), WEI: pyarrow.decimal128(38, 0)}


def arrow_schema(types: Types) -> Any:
    """Return the types as a ``pyarrow`` schema."""
    return pyarrow.schema([(column, _ARROW[kind]) for column, kind in types.items()])


def check_types(stage: str, files: Sequence[Path], types: Types) -> None:
    """Raise an error if the Parquet files of a stage have other columns, types or another order than ``types``."""
    expected = [(column, _ARROW[kind]) for column, kind in types.items()]
    for file in files:
        actual = [(field.name, field.type) for field in parquet.read_schema(file)]
        if actual != expected:
            wrong = [f"{column} is {kind}" for column, kind in actual if (column, kind) not in expected]
            raise InputError(
                f"{stage}: the engine wrote other columns than declared: {', '.join(wrong) or 'another order'}"
            )
