"""PyG's ``HeteroData``, with several types of nodes and edges, as one graph with one type of targets.

The nodes of the target type come first, so that their numbers are those in PyG. A feature says of which type a node is,
and each type has feature columns of its own. Types of edges stay types.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_diag, csr_array, hstack

from mggcn._io import memory
from mggcn.data._features import Features, as_features, check_finite
from mggcn.data._from_arrays import MadeFeatures, checked_weights, structural
from mggcn.data._pyg_stores import WITHOUT_WEIGHTS, EdgesIn, Store, array_in, edges_in, features_in, ids_in
from mggcn.data._split import PART_KEYS, UNLABELLED, named_parts
from mggcn.errors import InputError, prefix_errors, unknown
from mggcn.graph import Direction, Graph

if TYPE_CHECKING:
    from torch_geometric.data import HeteroData

EdgeType = tuple[str, str, str]
_REVERSE = "rev_"  # what PyG's ToUndirected puts before the name of a relation


def hetero_fields(
    data: "HeteroData", target: str | None, direction: Direction | None, *, weights: bool
) -> dict[str, Any]:
    """The arguments of ``from_arrays`` for one type of targets, see :meth:`mggcn.data.Dataset.from_pyg`."""
    target, notes = _target(data, target)
    stores: dict[str, Store] = {name: data[name] for name in (target, *data.node_types)}  # the targets first
    x = {name: _features(store, name) for name, store in stores.items()}
    sizes = {name: _num_nodes(store, name, x[name]) for name, store in stores.items()}
    given = {name: _edges(data[name], name, sizes) for name in data.edge_types}
    edges = _weighted(given) if weights else {name: replace(found, weight=None) for name, found in given.items()}
    for reverse, other in () if direction in ("in", "out") else _reverses(edges).items():
        del edges[reverse]
        notes.append(f"edges {' '.join(reverse)} are left out: they are the reverses of {' '.join(other)}")
    labels, several = _labels(stores[target], target, sizes)
    known = {name: {"x", "num_nodes", "node_ids"} for name in stores}
    if labels:
        known[target] |= {"y", "class_names", *(PART_KEYS if "parts" in labels else ())}
    unused = [f"{key} of {name}" for name, store in stores.items() for key in sorted(set(store.keys()) - known[name])]
    for name, found in edges.items():
        keys = set(data[name].keys()) - {found.field, found.weight_field}
        unused += [f"{key} of {' '.join(name)}" for key in sorted(keys)]
    starts = dict(zip(sizes, np.cumsum([0, *sizes.values()]).tolist(), strict=False))
    ends = [found.ends + np.array([[starts[name[0]]], [starts[name[2]]]]) for name, found in edges.items()]
    weight = [found.weight for found in edges.values() if found.weight is not None]
    return {
        "num_nodes": sum(sizes.values()),
        "edge_index": np.concatenate([np.empty((2, 0), np.int64), *ends], axis=1),
        "x": partial(_made, x, sizes, notes),
        "edge_weight": np.concatenate(weight) if weight else None,
        "weights_from": " and ".join(sorted({found.weight_field for found in edges.values()})) + " of data",
        "edge_type": np.repeat(np.arange(len(edges)), [part.shape[1] for part in ends]),
        "types": _names(edges),
        "others": sum(sizes.values()) - sizes[target],
        "lists_edges_once": True,
        "notes": [*([f"not used: {', '.join(unused)}"] if unused else []), *several],
        "node_ids": _ids(stores, sizes),
        **labels,
    }


def _target(data: "HeteroData", target: str | None) -> tuple[str, list[str]]:
    """The type of the targets, and a note if it is the only one that can be."""
    if target is not None:
        if target not in data.node_types:
            raise unknown("type of nodes", target, data.node_types)
        return target, []
    labelled = [name for name in data.node_types if data[name].get("y") is not None]
    if len(labelled) == 1:
        return labelled[0], [f"target: nodes {labelled[0]!r}, the only ones with y"]
    choice = " or ".join(f"target={name!r}" for name in labelled or data.node_types)
    raise InputError(
        f"target: {len(labelled) or 'no'} types of nodes have y; {f'give {choice}' if choice else 'data has no nodes'}"
    )


def _features(store: Store, name: str) -> "Features | None":
    x = features_in(store, f"data[{name!r}].")
    if x is None:
        return None
    with prefix_errors(f"data[{name!r}]"):
        features = as_features(x)
        check_finite(features)
    return features


def _num_nodes(store: Store, name: str, x: "Features | None") -> int:
    """The number of nodes of a type: of rows of ``x``, ``num_nodes``, or of labels."""
    if x is not None:
        return int(x.shape[0])
    size, y = store.get("num_nodes") if "num_nodes" in store else None, store.get("y")
    size = len(y) if size is None and y is not None else size
    if size is None:
        raise InputError(f"data[{name!r}].x and data[{name!r}].num_nodes are missing")
    return int(size)


def _edges(store: Store, name: EdgeType, sizes: Mapping[str, int]) -> EdgesIn:
    """The edges of a type, whose ends are checked."""
    origin = f"data[{', '.join(map(repr, name))}]"
    for end in (name[0], name[2]):
        if end not in sizes:
            raise InputError(f"{origin}: there are no nodes of type {end!r}")
    found = edges_in(store, sizes[name[0]], sizes[name[2]], f"{origin}.")
    if found.ends.ndim != 2 or found.ends.shape[0] != 2 or found.ends.dtype.kind not in "iu":
        kind = f"{found.ends.dtype} of shape {list(found.ends.shape)}"
        raise InputError(f"{origin}.edge_index: must be integers of shape [2, E], not {kind}")
    for side, kind, ends in zip(("source", "target"), name[::2], found.ends, strict=True):
        bad = np.flatnonzero((ends < 0) | (ends >= sizes[kind]))
        if bad.size:
            of = f"{ends[bad[0]]} of edge {bad[0]} is out of range for {sizes[kind]} nodes of type {kind!r}"
            raise InputError(f"{origin}.edge_index: {side} {of}")
    return found


def _weighted(edges: Mapping[EdgeType, EdgesIn]) -> dict[EdgeType, EdgesIn]:
    """Edges with weights of shape [E] for all types or, if those that there are are all 1, for none.

    Attributes with one column count as weights only if all types have weights.
    """
    if any(found.weight is None for found in edges.values()):
        guessed = {name: found for name, found in edges.items() if found.weight_field == "edge_attr"}
        edges = {**edges, **{name: replace(found, weight=None, weight_field="") for name, found in guessed.items()}}
    weights = {name: np.empty(0, np.float32) for name, found in edges.items() if not found.ends.size}
    for name, found in edges.items():
        if found.weight is not None:
            origin = f"{found.weight_field} of {' '.join(name)}"
            weights[name] = checked_weights(found.weight, found.ends.shape[1], origin, WITHOUT_WEIGHTS)
    weighted = next((name for name, weight in weights.items() if (weight != 1).any()), None)
    without = next((name for name in edges if name not in weights), None)
    if weighted is not None and without is not None:
        one, other = " ".join(weighted), " ".join(without)
        raise InputError(f"edges {one} have weights, but {other} have none; {WITHOUT_WEIGHTS} leaves them out")
    return {name: replace(found, weight=weights[name] if weighted else None) for name, found in edges.items()}


def _reverses(edges: Mapping[EdgeType, EdgesIn]) -> dict[EdgeType, EdgeType]:
    """The types of edges that hold the reverses of another type and are named after it."""
    reverses: dict[EdgeType, EdgeType] = {}
    order = list(edges)
    for name, found in edges.items():
        source, relation, target = name
        earlier = order[: order.index(name)]
        forward, same = (target, relation.removeprefix(_REVERSE), source), (target, relation, source)
        other = forward if relation.startswith(_REVERSE) and forward in edges else same if same in earlier else None
        if other is not None and other not in reverses and _are_equal(found, edges[other]):
            reverses[name] = other
    return reverses


def _are_equal(edges: EdgesIn, reversed_edges: EdgesIn) -> bool:
    """Whether edges are the reverses of others, with the same weights."""
    columns = []
    for found, ends in ((edges, edges.ends[::-1]), (reversed_edges, reversed_edges.ends)):
        rows = [*ends, *([] if found.weight is None else [found.weight])]
        order = np.lexsort(rows)
        columns.append([row[order] for row in rows])
    return len(columns[0]) == len(columns[1]) and all(map(np.array_equal, *columns))


def _names(edges: Iterable[EdgeType]) -> list[str]:
    """What types of edges are called: the relation or, where several types have it, all three words."""
    counts = Counter(relation for _, relation, _ in edges)
    return [name[1] if counts[name[1]] == 1 else " ".join(name) for name in edges]


def _labels(store: Store, target: str, sizes: Mapping[str, int]) -> tuple[dict[str, Any], list[str]]:
    """The arguments of ``from_arrays`` that are about labels, of which other types have none, and notes."""
    origin = f"data[{target!r}]."
    y, size = array_in(store, "y", origin), sizes[target]
    if y is None:
        return {}, []
    if y.shape not in ((size,), (size, 1)):
        raise InputError(f"{origin}y: must have shape [{size}], one class per node, not {list(y.shape)}")
    if y.dtype.kind not in "iuf":
        raise InputError(f"{origin}y: must hold integers, not {y.dtype}")
    labels: dict[str, Any] = {"classes": store.get("class_names") or None}
    labels["y"] = np.full(sum(sizes.values()), UNLABELLED, np.float64 if y.dtype.kind == "f" else np.int64)
    labels["y"][:size] = y.reshape(-1)
    several: list[str] = []
    if (y >= 0).any():
        labels["parts"], several = named_parts(partial(array_in, store, origin=origin), size, origin)
    return labels, several


def _ids(stores: Mapping[str, Store], sizes: Mapping[str, int]) -> NDArray[np.generic]:
    """The type of each node, and its id or number among those of this type."""
    ids: list[str] = []
    for name, size in sizes.items():
        known = ids_in(stores[name], f"data[{name!r}].")
        if known is not None and known.shape != (size,):
            raise InputError(f"data[{name!r}].node_ids: shape {list(known.shape)}, but there are {size} nodes")
        ids += [f"{name} {key}" for key in (range(size) if known is None else known.tolist())]
    return np.array(ids, dtype=str)


def _made(
    x: "Mapping[str, Features | None]", sizes: Mapping[str, int], notes: Sequence[str], graph: Graph
) -> MadeFeatures:
    """A column for each type of nodes if there are several, then the features of each type or structural ones."""
    num_nodes, num_types = graph.num_nodes, len(sizes)
    kinds = np.repeat(np.arange(num_types), [*sizes.values()])
    kind = csr_array((np.ones(num_nodes, np.float32), (np.arange(num_nodes), kinds)), shape=(num_nodes, num_types))
    kind, names = (kind, [f"type={name}" for name in sizes]) if num_types > 1 else (kind[:, :0], [])
    if all(part is None for part in x.values()):
        made = structural(graph)
        matrix = np.concatenate([kind.toarray(), made.x], axis=1)
        return MadeFeatures(matrix, (*names, *made.names), notes=[*notes, *made.notes])
    parts = [np.empty((sizes[name], 0), np.float32) if part is None else part for name, part in x.items()]
    names += [f"{name} x{column}" for name, part in zip(x, parts, strict=True) for column in range(part.shape[1])]
    num_filled = sum(part.shape[0] * part.shape[1] for part in parts) + kind.nnz
    if not all(isinstance(part, np.ndarray) for part in parts) or 2 * num_filled < num_nodes * len(names):
        wide = block_diag([csr_array(part) for part in parts], format="csr")
        return MadeFeatures(as_features(hstack([kind, wide], format="csr")), tuple(names), notes=notes)
    memory.require(4 * num_nodes * len(names), f"features: {len(names)} columns for {num_nodes:,} nodes")
    dense = np.zeros((num_nodes, len(names)), np.float32)
    dense[:, : kind.shape[1]] = kind.toarray()
    row, column = 0, kind.shape[1]
    for part in parts:
        dense[row : row + part.shape[0], column : column + part.shape[1]] = part
        row, column = row + part.shape[0], column + part.shape[1]
    return MadeFeatures(dense, tuple(names), notes=notes)
