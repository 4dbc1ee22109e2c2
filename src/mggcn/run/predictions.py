"""Predictions: class probabilities of nodes with the user's ids, saved as CSV or Parquet."""

import csv
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mggcn.errors import InputError
from mggcn.files import write_atomically

FORMATS = (".csv", ".parquet")


@dataclass(frozen=True, eq=False)
class Predictions:
    """Class probabilities of nodes.

    Attributes:
        nodes: [n] node numbers.
        ids: [n] the user's ids.
        probabilities: [n, classes]; rows sum to 1.
        classes: the name of each class.
        id_name: the name of the id column.
    """

    nodes: NDArray[np.int64]
    ids: NDArray[np.generic]
    probabilities: NDArray[np.float64]
    classes: tuple[str, ...]
    id_name: str = "id"

    @property
    def labels(self) -> NDArray[np.int64]:
        """[n] the most probable class of each node."""
        return np.asarray(self.probabilities.argmax(axis=1), np.int64)

    def save(self, path: str | Path) -> None:
        """Write ids, the most probable ``class`` and a ``p(class)`` column per class, in the format of the suffix."""
        target = Path(path)
        check_format(target)
        content = self._csv() if target.suffix == ".csv" else self._parquet()
        write_atomically(target, content)

    def _columns(self) -> dict[str, NDArray[np.generic]]:
        columns = {self.id_name: self.ids, "class": np.asarray(self.classes)[self.labels]}
        return columns | {f"p({name})": self.probabilities[:, i] for i, name in enumerate(self.classes)}

    def _csv(self) -> bytes:
        columns = self._columns()
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
        return text.getvalue().encode()

    def _parquet(self) -> bytes:
        import pyarrow
        from pyarrow import parquet

        sink = io.BytesIO()
        parquet.write_table(pyarrow.table({name: column.tolist() for name, column in self._columns().items()}), sink)
        return sink.getvalue()


def check_format(path: Path) -> None:
    """Raise InputError, before any work is done, if predictions cannot be written to this file."""
    if path.suffix not in FORMATS:
        raise InputError(f"{path}: predictions are written as {' or '.join(FORMATS)}, not {path.suffix or 'no suffix'}")
    if path.is_dir():
        raise InputError(f"{path}: is a folder")
    if path.suffix == ".parquet":
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise InputError(f"{path}: Parquet needs pyarrow; pip install 'mggcn[parquet]'") from None
