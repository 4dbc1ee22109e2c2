"""pandas data frames as a data set. pandas is never imported here: whoever has a frame has imported it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mggcn.data._columns import Cells, Chunk
from mggcn.data._dataset import Dataset
from mggcn.data._objects import require
from mggcn.data._tables import TableColumns as TableColumns
from mggcn.data._tables import from_tables
from mggcn.errors import InputError
from mggcn.graph import Direction

if TYPE_CHECKING:
    from pandas import DataFrame, Series

_NO_ID = "nodes has no column 'id', and id_column names no other"
_NUMBERS = {"i": np.int64, "u": np.uint64, "f": np.float64, "b": np.bool_}


def from_pandas(
    edges: "DataFrame",
    nodes: "DataFrame | None",
    columns: TableColumns,
    name: str,
    seed: int | None,
    direction: Direction | None,
) -> Dataset:
    """See :meth:`mggcn.data.Dataset.from_pandas`."""
    tables = _Frame.of(edges, "edges"), None if nodes is None else _Frame.of(nodes, "nodes", columns.id)
    index = nodes.index if nodes is not None and columns.id not in nodes.columns else None
    is_assumed = index is not None and index.name != columns.id
    return from_tables(
        *tables,
        columns,
        name=name,
        seed=seed,
        direction=direction,
        ids="" if index is None else f"index ({_NO_ID})" if is_assumed else f"index {index.name!r}",
        notes=[f"the ids are the numbers in the index: {_NO_ID}"] if is_assumed and _is_row_number(index) else (),
    )


def _is_row_number(index: Any) -> bool:
    """Whether nobody has said what an index is: it has no name, and numbers as pandas gives them."""
    return index.name is None and index.dtype.kind in "iu"


@dataclass(frozen=True)
class _Frame:
    """A data frame as a table; ``id_name`` is the name of its index, if that holds the ids."""

    frame: Any
    name: str
    names: Sequence[str]
    id_name: str | None = None

    @classmethod
    def of(cls, frame: Any, name: str, id_column: str = "") -> "_Frame":
        require(frame, "pandas.DataFrame", f"from_pandas takes data frames of pandas as {name}")
        names = list(frame.columns)
        for column in names:
            if not isinstance(column, str):
                raise InputError(f"{name}: column {column!r} must have a text as its name")
            if names.count(column) > 1:
                raise InputError(f"{name}: column {column!r} is there twice")
        if id_column not in names and id_column in ("id", frame.index.name):
            return cls(frame, name, [id_column, *names], id_column)
        return cls(frame, name, names)

    def __str__(self) -> str:
        return self.name

    @property
    def categorical(self) -> Sequence[str]:
        """The columns of type ``category``."""
        return [name for name, kind in self.frame.dtypes.items() if str(kind) == "category"]

    def chunks(self, wanted: Sequence[str]) -> Iterator[Chunk]:
        """The whole frame as one chunk."""
        for column in wanted:
            if column not in self.names:
                listed = ", ".join(map(repr, self.names))
                raise InputError(f"{self}: column {column!r} is missing (it has {listed})")
        series = {name: self.frame.index.to_series() if name == self.id_name else self.frame[name] for name in wanted}
        cells = {name: _cells(column) for name, column in series.items()}
        labels = self.frame.index
        yield Chunk(cells, len(self.frame), lambda row: f"{self}.loc[{labels[row]!r}]")


def _cells(column: "Series") -> Cells:
    """An array of numbers, booleans or times if nothing is lost by it, else Python objects with None if empty."""
    dtype = column.dtype
    kind = getattr(dtype, "kind", "O")
    if isinstance(dtype, np.dtype) and kind in "iufbM":
        return np.asarray(column.to_numpy())
    if kind == "M" and getattr(dtype, "tz", None) is not None:
        return np.asarray(column.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy())
    if kind in _NUMBERS and not column.isna().any():
        return np.asarray(column, dtype=_NUMBERS[kind])
    objects: list[Any] = column.astype(object).where(column.notna(), None).tolist()
    return objects
