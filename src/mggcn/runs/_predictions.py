"""Predictions: class probabilities of nodes with the user's ids, saved as CSV or Parquet."""

import itertools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mggcn.runs._table import Columns, check_format, to_frame, write_chunks, write_table

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
        details: further columns of the table, [n] each, by name.
    """

    nodes: NDArray[np.int64]
    ids: NDArray[np.generic]
    probabilities: NDArray[np.float64]
    classes: tuple[str, ...]
    parts: NDArray[np.str_]
    id_name: str = "id"
    details: Columns = field(default_factory=dict)

    @property
    def labels(self) -> NDArray[np.int64]:
        """[n] the most probable class of each node."""
        return np.asarray(self.probabilities.argmax(axis=1), np.int64)

    def save(self, path: str | Path) -> None:
        """Write ids, the most probable ``class``, ``part``, a probability per class (:func:`column_names`), details."""
        target = Path(path)
        check_format(target)
        write_table(target, self.columns())

    @classmethod
    def joined(cls, chunks: "Sequence[Predictions]") -> "Predictions":
        """Predictions one after the other; details are left out."""
        if len(chunks) == 1:
            return chunks[0]
        return replace(
            chunks[0],
            nodes=np.concatenate([chunk.nodes for chunk in chunks]),
            ids=np.concatenate([chunk.ids for chunk in chunks]),
            probabilities=np.concatenate([chunk.probabilities for chunk in chunks]),
            parts=np.concatenate([chunk.parts for chunk in chunks]),
            details={},
        )

    def to_pandas(self) -> "pandas.DataFrame":
        """The columns of :meth:`save` as a data frame, with the ids as its index; needs the extra ``pandas``."""
        return to_frame(self.columns(), self.id_name)

    def columns(self) -> Columns:
        """The columns of :meth:`save`."""
        columns = {self.id_name: self.ids, "class": np.asarray(self.classes)[self.labels], "part": self.parts}
        return {**columns, **dict(zip(column_names(self.classes), self.probabilities.T, strict=True)), **self.details}


def save_chunks(chunks: Iterable[Predictions], path: str | Path) -> None:
    """Write predictions that come in chunks as :meth:`Predictions.save` does; each is a row group of a Parquet file."""
    target = Path(path)
    check_format(target)
    write_chunks(target, (chunk.columns() for chunk in chunks))


def column_names(classes: Sequence[str]) -> list[str]:
    """The column of each class's probability, a plain name in SQL: ``p_phish`` for Phish.

    Letters are in lower case and without accents, all other characters are ``_``. A name that an earlier class has gets
    a number.
    """
    names: list[str] = []
    for label in classes:
        text = unicodedata.normalize("NFKD", label).encode("ascii", "ignore").decode().lower()
        plain = "p_" + re.sub("[^a-z0-9]+", "_", text).strip("_")
        numbered = (f"{plain}_{number}" for number in itertools.count(2))
        names.append(next(name for name in itertools.chain([plain], numbered) if name not in names))
    return names
