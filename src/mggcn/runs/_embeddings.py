"""Embeddings: hidden representations of nodes with the user's ids, saved as CSV, Parquet or a NumPy array."""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mggcn._io.files import write_atomically
from mggcn.runs._table import FORMATS, Columns, check_format, to_frame, write_table

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False)
class Embeddings:
    """Hidden representations of nodes.

    Attributes:
        nodes: [n] node numbers.
        ids: [n] the user's ids.
        values: [n, channels] float32, a row for each node.
        id_name: the name of the id column.
    """

    nodes: NDArray[np.int64]
    ids: NDArray[np.generic]
    values: NDArray[np.float32]
    id_name: str = "id"

    def save(self, path: str | Path) -> None:
        """Write ids and the columns ``h0``, ``h1`` … as ``.csv`` or ``.parquet``, or the values alone as ``.npy``."""
        target = Path(path)
        check_embeddings_format(target)
        if target.suffix != ".npy":
            write_table(target, self._columns())
            return
        content = io.BytesIO()
        np.save(content, self.values)
        write_atomically(target, content.getvalue())

    def to_pandas(self) -> "pandas.DataFrame":
        """The columns ``h0``, ``h1`` … as a data frame, with the ids as its index; needs the extra ``pandas``."""
        return to_frame(self._columns(), self.id_name)

    def _columns(self) -> Columns:
        return {self.id_name: self.ids, **{f"h{column}": values for column, values in enumerate(self.values.T)}}


def check_embeddings_format(path: Path) -> None:
    """Raise InputError, before any work is done, if embeddings cannot be written to this file."""
    check_format(path, "embeddings", (*FORMATS, ".npy"))
