"""What a run knows of a graph: its nodes by their ids and parts, and its features by columns, names or position.

A run folder keeps the ids of each part of the split in ``split.npz``, because other graphs have them as well: as text,
or as the node numbers of a graph without ids, which mean nothing in another graph. Features from tables are matched by
the columns they were made of, others by name if both sides have names, else by position.
"""

import io
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from mggcn.data import PARTS, UNLABELLED, ColumnEncoding, Dataset, as_features, ids_without_date
from mggcn.errors import InputError, prefix_errors, warn_caller
from mggcn.graph import EdgePart, node_numbers
from mggcn.training import RunRecord

if TYPE_CHECKING:
    from mggcn.runs._run import Run

SPLIT = "split.npz"
TRAIN, VAL, TEST, NEW = range(len(PARTS) + 1)
PART_NAMES = (*PARTS, "new")
"""The parts in the order of their use: a node that is in several for several runs is in the first of them."""

_AT_ONCE = 1 << 17


def targets_of(data: Dataset, nodes: ArrayLike | None, ids: Iterable[object] | None) -> NDArray[np.int64]:
    """The nodes that a caller names by numbers, a mask or ids; all but copies and other types if by neither."""
    if nodes is not None and ids is not None:
        raise InputError(f"{data.name}: nodes and ids both name nodes; give one of them")
    if isinstance(ids, str):
        raise InputError(f"{data.name}: ids: must be a list of ids, not the text {ids!r}")
    if ids is not None:
        targets = data.nodes_of([str(name) for name in ids])
    else:
        with prefix_errors(data.name):
            targets = np.arange(data.num_current) if nodes is None else node_numbers(nodes, data.num_nodes)
    if targets.size == 0:
        raise InputError(f"{data.name}: no nodes to predict")
    return targets


def labels_in(dataset: Dataset, classes: tuple[str, ...], nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """[n] the labels of nodes as indices into ``classes``; -1 for unlabelled nodes and for other classes."""
    index = {name: label for label, name in enumerate(classes)}
    labels = np.array([*(index.get(name, UNLABELLED) for name in dataset.classes), UNLABELLED], np.int64)
    return labels[dataset.y[nodes]]  # the label -1 selects the last entry


@dataclass(frozen=True, eq=False)
class SplitIds:
    """The ids of the nodes of train, val and test: text, or node numbers if the data set has no ids."""

    names: tuple[NDArray[np.generic], ...]

    @classmethod
    def of(cls, dataset: Dataset) -> "SplitIds":
        """The ids of a data set's split."""
        return cls(tuple(ids_without_date(dataset, nodes) for nodes in dataset.require_split().parts().values()))

    def to_bytes(self) -> bytes:
        """The content of ``split.npz``."""
        content = io.BytesIO()
        train, val, test = self.names
        np.savez_compressed(content, train=train, val=val, test=test)
        return content.getvalue()

    @property
    def are_numbers(self) -> bool:
        """Whether the names are node numbers, which only the same graph has."""
        return self.names[0].dtype.kind in "iu"

    def parts_of(self, dataset: Dataset, nodes: NDArray[np.int64]) -> NDArray[np.int8]:
        """[n] the index in :data:`PART_NAMES` of nodes of a graph; of the same one if the names are numbers."""
        result = np.full(nodes.size, NEW, np.int8)
        if self.are_numbers != (dataset.node_ids is None):
            return result
        known, part = self._sorted
        wanted = ids_without_date(dataset, nodes)
        nearest = np.minimum(np.searchsorted(known, wanted), known.size - 1)
        is_known = known[nearest] == wanted
        result[is_known] = part[nearest[is_known]]
        return result

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.generic], NDArray[np.int8]]:
        """All names in order, and the number of the part of each."""
        known = np.concatenate(self.names)
        part = np.repeat(np.arange(len(PARTS), dtype=np.int8), [names.size for names in self.names])
        order = np.argsort(known)
        return known[order], part[order]


def parts_of(runs: Sequence["Run"], data: Dataset, nodes: NDArray[np.int64]) -> NDArray[np.int8]:
    """[n] what runs used nodes of any graph for: a training node of one of them is a training node of all."""
    result = np.full(nodes.size, NEW, np.int8)
    for run in runs:
        if run.split_ids.are_numbers and not run.is_trained_on(data):
            continue
        for start in range(0, nodes.size, _AT_ONCE):
            rows = slice(start, start + _AT_ONCE)
            np.minimum(result[rows], run.split_ids.parts_of(data, nodes[rows]), out=result[rows])
    return result


def match(dataset: Dataset, record: RunRecord, used: Container[EdgePart]) -> Dataset:
    """The data set with the features and types of edges of the one that a run was trained on.

    InputError if the edges are of another kind and the method uses that, of what ``used`` says what it does.
    """
    return match_features(_match_edges(dataset, record, used), record.dataset)


def _match_edges(dataset: Dataset, record: RunRecord, used: Container[EdgePart]) -> Dataset:
    """The data set with types of edges numbered as in training."""
    graph, trained, name, origin = dataset.graph, record.edges, dataset.name, record.dataset["name"]
    schema = graph.schema
    if "direction" in used and schema.directed != trained.directed:
        own, other, hint = ("have", "have none", "both") if schema.directed else ("have no", "have", "directed")
        raise InputError(
            f"{name}: edges {own} directions, but those that the run was trained on {other} ({origin}); "
            f"import it with direction {hint!r}"
        )
    if "weight" in used and schema.weighted != trained.weighted:
        own, other = ("have", "have none") if schema.weighted else ("have no", "have")
        warn_caller(f"{name}: edges {own} weights, but those that the run was trained on {other} ({origin})")
    if "type" not in used or schema.types == trained.types:
        return dataset
    if not schema.types or not trained.types:
        own, other = ("have", "have none") if schema.types else ("have no", "have")
        raise InputError(f"{name}: edges {own} types, but those that the run was trained on {other} ({origin})")
    if unknown := [kind for kind in schema.types if kind not in trained.types]:
        raise InputError(
            f"{name}: edges of type {_list(unknown)}, but the run was trained on {_list(trained.types)} ({origin})"
        )
    return replace(dataset, graph=graph.with_types(trained.types), checked=True)


def match_features(dataset: Dataset, trained: Mapping[str, Any]) -> Dataset:
    """The data set with the columns of the one that a run was trained on, which ``trained`` in its record describes."""
    name, names, present = dataset.name, tuple(trained.get("feature_names") or ()), dataset.feature_names
    encoding = tuple(msgspec.convert(trained.get("encoding") or [], list[ColumnEncoding]))
    matched, notes = dataset, list[str]()
    if encoding and dataset.encoding:
        if encoding != dataset.encoding:
            matched, notes = _encode(dataset, encoding, names)
    elif names and present:
        if names != present:
            matched = _select(dataset, names)
            notes = _ignored([feature for feature in present if feature not in set(names)])
    elif dataset.num_features != trained["num_features"]:
        raise InputError(
            f"{name}: {dataset.num_features} features, "
            f"but the run was trained on {trained['num_features']} ({trained['name']})"
        )
    elif names:
        notes = [f"no names of features, so columns are matched by position with {_list(names)}"]
    if notes:
        warn_caller(f"{name}: {'; '.join(notes)}")
    return matched


def _encode(
    dataset: Dataset, encoding: tuple[ColumnEncoding, ...], names: tuple[str, ...]
) -> tuple[Dataset, list[str]]:
    """The features as the run encodes them, and notes on what it cannot encode."""
    ends = np.cumsum([len(column.features) for column in dataset.encoding]).tolist()
    present = {column.name: (column, end) for column, end in zip(dataset.encoding, ends, strict=True)}
    _check_present(dataset, [column.name for column in encoding], present)
    x = np.zeros((dataset.num_nodes, len(names)), np.float32)
    unknown, unmarked, start = [], [], 0
    for column in encoding:
        given, end = present[column.name]
        first, written = end - len(given.features), x[:, start : start + len(column.features)]
        start += len(column.features)
        is_empty = _feature(dataset, end - 1) == 1 if given.has_empty else np.zeros(dataset.num_nodes, bool)
        if column.has_empty:
            written[:, -1] = is_empty
        elif is_empty.any():
            unmarked.append(f"{is_empty.sum():,} in {column.name!r}")
        is_alike = given.kind == column.kind or {given.kind, column.kind} == {"number", "boolean"}  # 0 and 1
        if not is_alike and not is_empty.all():
            hint = "; import it as a category" if column.kind == "category" else ""
            raise InputError(
                f"{dataset.name}: column {column.name!r} holds {_plural(given)}, but the run was trained on "
                f"{_plural(column)}{hint}"
            )
        if column.kind != "category":
            written[:, 0] = np.where(is_empty, np.float32(column.mean), _feature(dataset, first))
            continue
        num_unknown, position = 0, {text: index for index, text in enumerate(column.categories)}
        for index, text in enumerate(given.categories, first):
            values = _feature(dataset, index)
            if text in position:
                written[:, position[text]] = values
            else:
                num_unknown += int(values.sum(dtype=np.float64))
        if num_unknown:
            unknown.append(f"{num_unknown:,} in {column.name!r}")
    notes = [f"categories that the run was not trained on, so it ignores them: {', '.join(unknown)}"] if unknown else []
    if unmarked:
        notes += [f"empty cells in columns that had none in training, so they are not marked: {', '.join(unmarked)}"]
    used = {column.name for column in encoding}
    notes += _ignored([name for name in present if name not in used])
    return replace(dataset, x=x, feature_names=names, encoding=encoding, checked=True), notes


def _feature(dataset: Dataset, index: int) -> NDArray[np.float32]:
    x = dataset.x
    values: NDArray[np.float32] = x[:, index] if isinstance(x, np.ndarray) else x[:, [index]].toarray()[:, 0]
    return values


def _plural(column: ColumnEncoding) -> str:
    return "categories" if column.kind == "category" else f"{column.kind}s"


def _select(dataset: Dataset, names: tuple[str, ...]) -> Dataset:
    column_of = {feature: column for column, feature in enumerate(dataset.feature_names)}
    _check_present(dataset, names, column_of)
    columns = [column_of[feature] for feature in names]
    is_dense = isinstance(dataset.x, np.ndarray)
    x = np.take(dataset.x, columns, axis=1) if is_dense else as_features(dataset.x[:, columns])
    return replace(dataset, x=x, feature_names=names, encoding=(), checked=True)


def _check_present(dataset: Dataset, names: Sequence[str], present: Container[str]) -> None:
    if missing := [name for name in names if name not in present]:
        raise InputError(f"{dataset.name}: missing features that the run was trained on: {_list(missing)}")


def _ignored(names: Sequence[str]) -> list[str]:
    return [f"ignored features that the run was not trained on: {_list(names)}"] if names else []


def _list(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:3])) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
