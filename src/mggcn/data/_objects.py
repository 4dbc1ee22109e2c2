"""Objects that are given where a data set is expected: converted, or refused with a line that says what to call."""

from pathlib import Path
from typing import TYPE_CHECKING

from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.graph import Direction

if TYPE_CHECKING:
    from torch_geometric.data import Data

_ADVICE = {
    "mggcn.Dataset": "use dataset.to_pyg()",
    "mggcn.Graph": "use mggcn.Dataset(name, graph, x, y, classes, split)",
    "torch_geometric.Data": "use mggcn.Dataset.from_pyg(data)",
    "torch_geometric.HeteroData": "use data.to_homogeneous(), which gives one type of nodes and of edges",
    "torch_geometric.Dataset": "use its graph, dataset[0]",
    "networkx.Graph": "use mggcn.Dataset.from_networkx(graph)",
    "pandas.DataFrame": "use mggcn.Dataset.from_pandas(edges, nodes)",
    "scipy.spmatrix": "use mggcn.Dataset.from_scipy(adjacency, x, y)",
    "scipy.sparray": "use mggcn.Dataset.from_scipy(adjacency, x, y)",
    "torch.Tensor": "use mggcn.Dataset.from_pyg(torch_geometric.data.Data(x=x, edge_index=edge_index, y=y))",
}
_OTHERS = "use mggcn.load(name), or Dataset.from_pyg, from_networkx, from_pandas or from_scipy"


def as_dataset(
    value: "Dataset | Data", purpose: str, *, needs_split: bool, direction: Direction | None = None
) -> Dataset:
    """Return a data set as it is and PyG's ``Data`` converted; anything else is an InputError that says what to do.

    Args:
        value: the data set.
        purpose: the function that takes it, for the error.
        needs_split: whether a ``Data`` without masks must have enough labels to draw a split.
        direction: of a ``Data``, see :meth:`mggcn.Dataset.from_pyg`; the graph of a data set has one already.
    """
    if isinstance(value, Dataset):
        return value
    require(value, f"{purpose} takes a Dataset or PyG's Data", "torch_geometric.Data")
    from mggcn.data._pyg import from_pyg

    try:
        return from_pyg(value, "pyg", 0, direction)
    except InputError:
        if needs_split:
            raise
        return from_pyg(value, "pyg", None, direction)


def require(value: object, expected: str, *kinds: str) -> None:
    """Raise InputError unless ``value`` is of a kind such as ``networkx.Graph``, the class's package and name.

    The error says what is ``expected``, and what to do with this object. Nothing is imported.
    """
    found = [f"{base.__module__.partition('.')[0]}.{base.__name__}" for base in type(value).__mro__]
    if any(kind in found for kind in kinds):
        return
    if isinstance(value, str | Path):
        raise InputError(f"{expected}, not {str(value)!r}: use mggcn.load({str(value)!r})")
    advice = next((_ADVICE[kind] for kind in found if kind in _ADVICE), _OTHERS)
    raise InputError(f"{expected}, not {type(value).__name__}: {advice}")
