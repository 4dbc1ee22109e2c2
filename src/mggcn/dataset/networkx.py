"""NetworkX graphs as data sets: node attributes become features, labels and the split."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mggcn.dataset.arrays import from_arrays, ignored_edge_data
from mggcn.dataset.dataset import Dataset
from mggcn.dataset.objects import require
from mggcn.dataset.split import NO_SPLIT, PARTS, UNLABELLED
from mggcn.errors import InputError, prefix_errors, unknown
from mggcn.graph import Direction

if TYPE_CHECKING:
    import networkx

_DEFAULTS = ("label", "split")  # only these may be missing from all nodes


def from_networkx(
    graph: "networkx.Graph",
    name: str,
    features: Sequence[str] | None,
    label: str,
    split: str,
    seed: int | None,
    direction: Direction,
    **fields: Any,
) -> Dataset:
    """See :meth:`mggcn.dataset.Dataset.from_networkx`."""
    try:
        import networkx  # noqa: F401
    except ImportError:
        raise InputError("from_networkx needs NetworkX: pip install 'mggcn[networkx]'") from None
    require(graph, "networkx.Graph", "from_networkx takes a graph of NetworkX")
    if direction != "both" and not graph.is_directed():
        raise InputError(f"{name}: direction {direction!r} needs a DiGraph; the edges of this graph have none")
    with prefix_errors(name):
        keys = list(graph.nodes)
        if not keys:
            raise InputError("the graph has no nodes")
        attributes = _attributes(graph)
        for attribute in (label, split):
            if attribute not in attributes and attribute not in _DEFAULTS:
                raise unknown("node attribute", attribute, attributes)
        nothing = [None] * len(keys)
        classes, y = _classes(attributes.pop(label, nothing), keys)
        parts = _parts(attributes.pop(split, nothing), keys, y)
        x, names, notes = _encode(attributes, features, keys)
        return from_arrays(
            name,
            len(keys),
            _edge_index(graph, keys),
            x,
            y=y,
            classes=classes,
            parts=parts,
            seed=seed,
            direction=direction,
            notes=[*_edge_notes(graph), *notes, *_minus_one(classes)],
            stacklevel=4,
            node_ids=_ids(keys),
            feature_names=names,
            **fields,
        )


def _attributes(graph: "networkx.Graph") -> dict[str, list[Any]]:
    """The attributes of all nodes: [num_nodes] values each, None where a node has no such attribute."""
    nodes = [data for _, data in graph.nodes(data=True)]
    names = dict.fromkeys(name for data in nodes for name in data)
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"node attribute {name!r}: its name must be text")
    return {name: [data.get(name) for data in nodes] for name in names}


def _edge_index(graph: "networkx.Graph", keys: list[Any]) -> NDArray[np.int64]:
    number = {key: node for node, key in enumerate(keys)}
    ends = [(number[source], number[target]) for source, target in graph.edges()]
    return np.array(ends, dtype=np.int64).reshape(-1, 2).T


def _edge_notes(graph: "networkx.Graph") -> list[str]:
    names = {str(name) for *_, data in graph.edges(data=True) for name in data}
    return ignored_edge_data(sorted(names), "the graph")


def _ids(keys: list[Any]) -> NDArray[Any] | None:
    """The keys of the nodes: None if they are the node numbers, integers if all are, else text."""
    if all(type(key) is int and abs(key) < 2**63 for key in keys):
        return None if keys == list(range(len(keys))) else np.array(keys, dtype=np.int64)
    return np.array([str(key) for key in keys])


def _encode(
    attributes: Mapping[str, list[Any]], features: Sequence[str] | None, keys: list[Any]
) -> tuple[NDArray[Any] | None, tuple[str, ...], list[str]]:
    """Return the features, their names, and a note on attributes that are left out because they are not numbers.

    The features are None, for structural ones, if the nodes have no attributes.
    """
    if features is None and not attributes:
        return None, (), []
    columns: dict[str, NDArray[Any]] = {}
    skipped = []
    for attribute in attributes if features is None else features:
        if attribute not in attributes:
            raise unknown("node attribute", attribute, attributes)
        try:
            added = _columns_of(attribute, attributes[attribute], keys)
        except InputError as error:
            if features is not None:
                raise
            skipped.append(str(error))
            continue
        if shared := columns.keys() & added:
            raise InputError(f"two features are called {min(shared)!r}")
        columns |= added
    if not columns:
        reason = f" ({skipped[0]})" if skipped else ""
        raise InputError(f"no features: the nodes have no attribute that holds numbers{reason}")
    notes = [f"not all node attributes are features: {'; '.join(skipped)}"] if skipped else []
    return np.column_stack(list(columns.values())), tuple(columns), notes


def _columns_of(attribute: str, values: list[Any], keys: list[Any]) -> dict[str, NDArray[Any]]:
    """The column of an attribute, or several columns if it is a list of numbers, such as an embedding."""
    array = _as_numbers(values)
    if array is not None and array.ndim == 1:
        return {attribute: array}
    if array is not None and array.ndim == 2:
        return {f"{attribute}_{index}": column for index, column in enumerate(array.T)}
    first = _as_numbers(values[0])
    shape = () if first is None else first.shape
    for key, value in zip(keys, values, strict=True):
        numbers = _as_numbers(value)
        if numbers is None or numbers.shape != shape:
            shown = "missing" if value is None else f"{value!r}, not {'numbers' if shape else 'a number'}"
            raise InputError(f"{attribute} of node {key!r} is {shown}")
    raise InputError(f"{attribute} has shape {list(shape)} at each node, not one number or a list of numbers")


def _as_numbers(value: Any) -> NDArray[Any] | None:
    """Convert to an array of finite numbers; None for anything else."""
    try:
        array = np.asarray(value)
    except (ValueError, TypeError):  # lists of different lengths
        return None
    return array if array.dtype.kind in "biuf" and np.isfinite(array).all() else None


def _classes(labels: Iterable[Any], keys: list[Any]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Return the names of the classes, sorted, and the class number of each node."""
    texts = [_class_name(label, key) for label, key in zip(labels, keys, strict=True)]
    present = set(texts) - {""}
    try:
        names = sorted(present, key=int)
    except ValueError:
        names = sorted(present)
    numbers = {name: number for number, name in enumerate(names)} | {"": UNLABELLED}
    return tuple(names), np.array([numbers[text] for text in texts], dtype=np.int64)


def _minus_one(classes: Sequence[str]) -> list[str]:
    """The note on a label that means "no label" in PyG, but is a class here."""
    is_class = len(classes) > 2 and str(UNLABELLED) in classes
    return ["the label -1 is a class; remove it from nodes that have no label"] if is_class else []


def _class_name(label: Any, key: Any) -> str:
    """The text of a label: empty for None and NaN, and without a fraction for a whole number."""
    if label is not None and not np.isscalar(label):
        raise InputError(f"label of node {key!r} is {label!r}, not the name or number of one class")
    if isinstance(label, float | np.floating):
        return "" if np.isnan(label) else str(int(label)) if label.is_integer() else str(label)
    return "" if label is None else str(label)


def _parts(values: list[Any], keys: list[Any], y: NDArray[np.int64]) -> Sequence[NDArray[np.int64] | None]:
    for key, value, label in zip(keys, values, y, strict=True):
        if value is not None and value not in PARTS:
            raise InputError(f"split of node {key!r} is {value!r}, not one of {', '.join(PARTS)}")
        if value is not None and label == UNLABELLED:
            raise InputError(f"node {key!r} is in split {value} but has no label")
    if not any(values):
        return NO_SPLIT
    train, val, test = (np.array([i for i, value in enumerate(values) if value == part], np.int64) for part in PARTS)
    return [train, val if val.size else None, test]
