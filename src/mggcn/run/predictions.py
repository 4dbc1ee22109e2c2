"""Predictions: class probabilities of nodes with the user's ids, saved as CSV or Parquet."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mggcn.run.table import Columns, check_format, to_frame, write_table

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False)
class Predictions:
    """Class probabilities of nodes.

    Attributes:
        nodes: [n] node numbers.
        ids: [n] the user's ids.
        probabilities: [n, classes]; rows sum to 1.
        classes: the name of each class.
        parts: [n] what the run used each node for: ``train``, ``val``, ``test``, or ``new`` for a node in no part of
            its split. Nodes of another graph are recognised by their ids.
        id_name: the name of the id column.
    """

    nodes: NDArray[np.int64]
    ids: NDArray[np.generic]
    probabilities: NDArray[np.float64]
    classes: tuple[str, ...]
    parts: NDArray[np.str_]
    id_name: str = "id"

    @property
    def labels(self) -> NDArray[np.int64]:
        """[n] the most probable class of each node."""
        return np.asarray(self.probabilities.argmax(axis=1), np.int64)

    def save(self, path: str | Path) -> None:
        """Write ids, the most probable ``class``, the ``part`` and a ``p(class)`` column per class."""
        target = Path(path)
        check_format(target)
        write_table(target, self._columns())

    def to_pandas(self) -> "pandas.DataFrame":
        """The columns of :meth:`save` as a data frame, with the ids as its index; needs the extra ``pandas``."""
        return to_frame(self._columns(), self.id_name)

    def _columns(self) -> Columns:
        columns = {self.id_name: self.ids, "class": np.asarray(self.classes)[self.labels], "part": self.parts}
        return columns | {f"p({name})": self.probabilities[:, i] for i, name in enumerate(self.classes)}
