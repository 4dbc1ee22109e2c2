"""A data set from plain arrays or SciPy's adjacency matrix, checked; a missing split or validation part is drawn."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, sparray, spmatrix

from mggcn.data._checks import check_labels
from mggcn.data._columns import ColumnEncoding
from mggcn.data._dataset import Dataset
from mggcn.data._features import Features, as_features
from mggcn.data._labels import class_numbers
from mggcn.data._split import NO_SPLIT, PARTS, UNLABELLED, Split, complete_split
from mggcn.errors import DataWarning, InputError, prefix_errors, warn_caller
from mggcn.graph import Changes, Direction, Graph, as_array, edge_types, edge_weights, node_numbers

_KNOWN = {"num_nodes", "num_edges", "num_features", "num_classes", "name", "n_id", "e_id", "input_id", "batch_size"}
"""Names of what the other arrays say, and of what PyG's loaders add; leaving them out changes nothing."""


def from_arrays(
    name: str,
    num_nodes: int,
    edge_index: NDArray[Any],
    x: "ArrayLike | sparray | spmatrix | Callable[[Graph], MadeFeatures] | None",
    *,
    edge_weight: ArrayLike | None = None,
    weights_from: str = "edge_weight",
    without_weights: str = "weights=False",
    edge_type: ArrayLike | None = None,
    types: Sequence[str] = (),
    y: NDArray[Any] | None = None,
    others: int = 0,
    classes: Iterable[Any] | None = None,
    parts: Sequence[NDArray[Any] | None] = NO_SPLIT,
    seed: int | None = 0,
    direction: Direction | None = None,
    lists_edges_once: bool = False,
    source: str = "",
    notes: Sequence[str] = (),
    **fields: Any,
) -> Dataset:
    """Build a data set from arrays; errors name the array and the value.

    Parallel edges are joined and their weights added. Weights that are all 1 are left out, so that parallel edges are
    then one edge and results are those of a graph without weights.

    Args:
        name: the name of the data set.
        num_nodes: the number of nodes, isolated ones included.
        edge_index: [2, E] integers, the sources and targets of the edges.
        x: [num_nodes, num_features] numbers; None for structural features, see
            :func:`mggcn.data._structure.structural_features`; or a function that makes features of the graph.
        edge_weight: [E] or [E, 1] weights of the edges, of 0 or more; an edge of weight 0 is removed.
        weights_from: what holds them, for the note that says that they are used, and for errors.
        without_weights: what leaves them out, for the same.
        edge_type: [E] or [E, 1] the type of each edge, an integer.
        types: the names of the types; their numbers if there are none.
        y: [num_nodes] or [num_nodes, 1] class numbers, also as whole floats, -1 or NaN for a node without a label; None
            if no node has one.
        others: how many of the last nodes are of other types than the targets.
        classes: the names of the classes, used if a node is labelled; ``class 0``, ``class 1``, … if None.
        parts: the nodes of train, val and test; None for a part that is not known.
        seed: of the split or validation part that is drawn if none is known; with None no split is drawn.
        direction: which neighbours a node has, see :class:`mggcn.graph.Graph`; None is ``both``, with a note if some
            edges have no reverse.
        lists_edges_once: whether such data usually hold an undirected edge once, so that this note is not a warning.
        source: one line on where the data came from; a note on what was drawn is added.
        notes: what of the input is not used; each is also a :class:`mggcn.errors.DataWarning`.
        fields: further fields of :class:`mggcn.data.Dataset`.
    """
    if edge_index.ndim != 2 or edge_index.shape[0] != 2:
        raise InputError(f"edge_index: must have shape [2, E], not {list(edge_index.shape)}")
    num_edges, weight = edge_index.shape[1], None
    if edge_weight is not None:
        weight = checked_weights(edge_weight, num_edges, weights_from, without_weights)
        weight = None if (weight == 1).all() else weight
    kinds, types = edge_types(None if edge_type is None else _vector(edge_type, "edge_type"), types, num_edges)
    with prefix_errors("edge_index"):
        graph, changed = Graph.from_edges_counted(
            edge_index[0],
            edge_index[1],
            num_nodes,
            direction=direction or "both",
            weight=weight,
            edge_type=kinds if types else None,
            types=types,
        )
    make = structural if x is None else x
    made = make(graph) if callable(make) else MadeFeatures(as_features(make))
    labels, names = class_numbers(y, num_nodes)
    if names and classes is not None:
        names = tuple(map(str, classes))
    check_labels(labels, len(names))
    num_unlabelled = int(np.sum(labels[: num_nodes - others] == UNLABELLED))
    if names and classes is None and num_unlabelled and all(part is None for part in parts):
        plural = "node has no label: its" if num_unlabelled == 1 else "nodes have no label: their"
        notes = [*notes, f"{num_unlabelled:,} {plural} y is {UNLABELLED} or NaN"]
    split, source = split_and_source(labels, names, parts, seed, source)
    if made.names:
        fields["feature_names"] = made.names
    if weight is not None:
        made = replace(made, notes=[weights_note(weights_from, without_weights), *made.notes])
    shown, notes = all_notes(
        notes,
        made,
        changed,
        direction=direction,
        lists_edges_once=lists_edges_once,
        is_weighted=weight is not None,
    )
    dataset = Dataset(name, graph, made.x, labels, names, split, others=others, source=source, notes=notes, **fields)
    for text in shown:
        warn_caller(f"{name}: {text}", DataWarning)
    return dataset


def _vector(values: ArrayLike, field: str) -> NDArray[Any]:
    """An array, of which a single column is a vector."""
    array = as_array(values, field)
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def checked_weights(values: ArrayLike, num_edges: int, origin: str, without: str) -> NDArray[np.float32]:
    """[num_edges] weights; the InputError for bad ones says where they are from, and what leaves them out."""
    try:
        return edge_weights(_vector(values, origin), num_edges)
    except InputError as error:
        raise InputError(f"{origin}: {error}; {without} leaves them out") from None


@dataclass(frozen=True)
class MadeFeatures:
    """Features with their names and the notes on them.

    Attributes:
        x: the features; None if they are in a file.
        names: of the features, empty if they have none.
        encoding: how columns of a table became features.
        filled: the note on empty cells.
        notes: on what the features were made of.
    """

    x: "Features | None"
    names: tuple[str, ...] = ()
    encoding: tuple[ColumnEncoding, ...] = ()
    filled: Sequence[str] = ()
    notes: Sequence[str] = ()


def structural(graph: Graph) -> MadeFeatures:
    """Structural features, with a note that says so."""
    from mggcn.data._structure import structural_features

    x, names = structural_features(graph)
    return MadeFeatures(x, names, notes=[f"structural features, made of the edges: {', '.join(names)}"])


def split_and_source(
    y: NDArray[np.int64], classes: Sequence[str], parts: Sequence[NDArray[Any] | None], seed: int | None, source: str
) -> tuple[Split | None, str]:
    """The split, drawn where it is not known unless ``seed`` is None, and the source with a note on what was drawn."""
    split, note = None, "" if classes else "no labels"
    if any(part is not None for part in parts) or (classes and seed is not None):
        split, note = complete_split(y, parts, seed or 0)
    return split, "; ".join(filter(None, [source, note]))


def ignored_edge_data(names: Iterable[str], origin: str) -> list[str]:
    """The note on values of edges in ``origin`` that are not used; none if there are none."""
    listed = ", ".join(names)
    return [f"edge attributes are not used: ignored {listed} of {origin}"] if listed else []


def unused_notes(names: Iterable[str], origin: str) -> list[str]:
    """The notes on arrays of ``origin`` that are not used: values of edges according to their name, and others."""
    unused = sorted(set(names) - _KNOWN)
    edge_data = edge_values(unused)
    others = ", ".join(name for name in unused if name not in edge_data)
    return [*ignored_edge_data(edge_data, origin), *([f"not used: {others} of {origin}"] if others else [])]


def edge_values(names: Iterable[str]) -> list[str]:
    """Those names of arrays that stand for a value of each edge, such as PyG's edge_weight."""
    return sorted(
        name
        for name in names
        if name in ("weight", "weights") or (name.startswith("edge_") and name not in ("edge_index", "edge_type_names"))
    )


def all_notes(
    notes: Sequence[str],
    made: MadeFeatures,
    changed: Changes,
    *,
    direction: Direction | None,
    lists_edges_once: bool,
    is_weighted: bool = False,
) -> tuple[list[str], tuple[str, ...]]:
    """The notes that are warnings, too, and all notes of a data set.

    Args:
        notes: what of the input is not used.
        made: its features.
        changed: how edges were removed, joined and reversed.
        direction: that the user has chosen; None if edges became undirected by default.
        lists_edges_once: see :func:`from_arrays`.
        is_weighted: whether the edges have weights.
    """
    undirected = sums_note(changed.sums)
    undirected = [*one_way_note(changed.reverses), *undirected] if direction is None else undirected
    is_warning = direction is None and not lists_edges_once
    shown = [*notes, *(undirected if is_warning else ()), *made.filled]
    others = [*made.notes, *(() if is_warning else undirected), *_changes_notes(changed, is_weighted=is_weighted)]
    return shown, (*shown, *others)


def _changes_notes(changed: Changes, *, is_weighted: bool) -> list[str]:
    """The notes on edges that were removed and joined."""
    same = 0 if is_weighted else changed.duplicates
    counts = ((changed.loops, "self-loop", ""), (same, "duplicate edge", ""), (changed.zeros, "edge", " of weight 0"))
    removed = " and ".join(f"{count:,} {what}{'s' * (count > 1)}{kind}" for count, what, kind in counts if count)
    joined = changed.duplicates - same
    parallel = f"{joined:,} parallel edge{'s' * (joined > 1)} joined, weights added"
    return [*([f"{removed} removed"] if removed else []), *([parallel] if joined else [])]


def sums_note(count: int) -> list[str]:
    """The note on undirected edges whose weights are sums, none if there are none."""
    edges = f"{count:,} edge{'s' * (count > 1)} given in both directions"
    return [f"{edges}: weights added; direction 'directed' keeps them apart"] if count else []


def weights_note(origin: str, without: str) -> str:
    """The note that says where the weights of edges are from, and what leaves them out."""
    return f"weights of edges: {origin}; {without} leaves them out"


def one_way_note(count: int) -> list[str]:
    """The note on edges that were made undirected, none if there are none."""
    edges = "1 edge has" if count == 1 else f"{count:,} edges have"
    return [f"{edges} no reverse: taken as undirected; direction 'directed' keeps directions"] if count else []


def edges_of(matrix: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """The [2, E] rows and columns of the values other than 0 of a sparse matrix, and these values."""
    entries = coo_array(matrix)
    kept = entries.data != 0
    rows, columns = entries.coords
    return np.stack([rows[kept], columns[kept]]), entries.data[kept]


def parts_of(split: Split | Sequence[ArrayLike | None] | None, num_nodes: int) -> Sequence[NDArray[np.int64] | None]:
    """The nodes of train, val and test of a split as :meth:`mggcn.data.Dataset.from_scipy` takes it."""
    if split is None:
        return NO_SPLIT
    parts = list(split.parts().values()) if isinstance(split, Split) else split
    if not isinstance(parts, list | tuple) or len(parts) != len(PARTS):
        raise InputError(
            "split: must be a Split or the nodes of train, val and test, None for a part that is not known"
        )
    return [
        None if nodes is None else node_numbers(nodes, num_nodes, f"split: {part}")
        for part, nodes in zip(PARTS, parts, strict=True)
    ]
