"""Dataset: a graph with features, labels and a split, checked when it is created.

Features are float32, dense or compressed sparse rows (CSR); no result depends on which. :mod:`mggcn.data._writer`
describes the folder of a data set on disk.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from mggcn._io.arrays import checksum, compact_text, locked, read_only
from mggcn._io.mapping import AUTOMATIC, Access, MappedFiles
from mggcn.data._checks import check_descriptions, check_ids, check_kind, check_labels, check_types
from mggcn.data._columns import ColumnEncoding
from mggcn.data._features import Features, Measure, check_finite, csr_arrays, density_of, read_only_features
from mggcn.data._split import Split, check_part
from mggcn.errors import InputError, prefix_errors
from mggcn.graph import Direction, Graph, as_array, node_numbers

if TYPE_CHECKING:
    import networkx
    from pandas import DataFrame
    from scipy.sparse import sparray, spmatrix
    from torch_geometric.data import Data, HeteroData

    from mggcn.data._tables import FeatureChoice


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A node-classification task; its arrays are read-only, and copies of arrays that can be written to.

    Args:
        name: its name in runs and records.
        graph: the whole graph.
        x: [num_nodes, num_features] features, float32, dense or CSR.
        y: [num_nodes] class numbers, -1 for a node without a label.
        classes: the name of each class.
        split: None for a graph that is only used for prediction.
        node_ids: [num_nodes] the user's ids, unique; None if they are the node numbers.
        id_name: what an id is, for example ``address``; the name of the id column of predictions.
        inductive: train on the subgraph of the training nodes, test on the whole graph.
        source: one line on where the data came from; shown with every result.
        feature_names: the names of the columns of ``x``; empty if they have none.
        encoding: how columns of a table became the columns of ``x``; empty if they are not from a table.
        measures: what the numbers of some features mean, by the name of the feature.
        edge_attributes: [graph.num_stored] each, aligned with ``graph.indices``; the entry of u in row v describes
            the edge from v to u (in a graph of direction ``in``, from u to v).
        copies: the number of last nodes that are copies of others as of an earlier date, see
            :mod:`mggcn.ethereum._build`; they are trained and validated on, but not scored unless they are named.
        others: the number of last nodes that are of other types than the targets, see :meth:`from_pyg`; they have no
            labels, count as training nodes where features are scaled, and are not scored unless they are named.
        notes: what was left out or assumed when the data was read, one sentence each.
        mapped: the files of a mapped folder, which must not change.
        access: how the folder was read, and where what is computed from it is kept.
        checked: skip the checks of values and the copies, for arrays that are known to be valid and that nobody else
            writes to; :func:`dataclasses.replace` does not keep it.
        stored_in: the dataset folder that holds this content; :func:`dataclasses.replace` does not keep it.

    Attributes:
        path: the dataset folder it was read from or stored in; None after any change.
    """

    name: str
    graph: Graph
    x: Features
    y: NDArray[np.int64]
    classes: tuple[str, ...]
    split: Split | None = None
    node_ids: NDArray[np.generic] | None = None
    id_name: str = "id"
    inductive: bool = False
    source: str = ""
    feature_names: tuple[str, ...] = ()
    encoding: tuple[ColumnEncoding, ...] = ()
    measures: Mapping[str, Measure] = field(default_factory=dict)
    edge_attributes: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)
    copies: int = 0
    others: int = 0
    notes: tuple[str, ...] = ()
    mapped: MappedFiles | None = field(default=None)
    access: Access = field(default=AUTOMATIC)
    path: Path | None = field(default=None, init=False)
    checked: InitVar[bool] = False
    stored_in: InitVar[Path | None] = None

    def __post_init__(self, checked: bool, stored_in: Path | None) -> None:
        check_types(self)
        self._make_read_only(checked)
        object.__setattr__(self, "path", stored_in)
        if self.x.dtype != np.float32:
            raise InputError(f"{self.name}: x must be float32, not {self.x.dtype}")
        check_descriptions(self)
        if not checked:
            check_finite(self.x)
            check_labels(self.y, len(self.classes))
            if self.node_ids is not None:
                check_ids(self.node_ids)
        if self.split is not None:
            if self.split.num_nodes not in (None, self.num_nodes):
                raise InputError(
                    f"split: the masks have {self.split.num_nodes} entries, but the graph has {self.num_nodes} nodes"
                )
            for part, nodes in self.split.parts().items():
                check_part(part, nodes, self.y)

    def __repr__(self) -> str:
        return f"<Dataset {headline(self)}>"

    def _make_read_only(self, checked: bool) -> None:
        protected = locked if checked else read_only
        changes: dict[str, Any] = {
            "x": read_only_features(self.x, checked=checked),
            "y": protected(self.y),
            "node_ids": None if self.node_ids is None else protected(self.node_ids),
            "edge_attributes": {name: protected(values) for name, values in self.edge_attributes.items()},
            "measures": dict(self.measures),
        }
        for name, value in changes.items():
            object.__setattr__(self, name, value)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_read_only(checked=True)  # copies and unpickled arrays can be written to

    @property
    def digest(self) -> str:
        """The sha256 of everything that can change a result or its meaning; arrays are hashed once."""
        return self._digest(self.split.checksums if self.split else {})

    @property
    def digest_without_split(self) -> str:
        """The same for any split."""
        return self._digest({})

    def _digest(self, split: dict[str, str]) -> str:
        content = {
            "arrays": self.checksums | split,
            "classes": self.classes,
            "copies": self.copies,
            "direction": self.graph.direction,
            "encoding": self.encoding,
            "feature_names": self.feature_names,
            "id_name": self.id_name,
            "inductive": self.inductive,
            "measures": self.measures,
            "num_features": self.num_features,
        }
        content |= {"edge_types": self.graph.types} if self.graph.types else {}
        content |= {"others": self.others} if self.others else {}
        return hashlib.sha256(json.dumps(msgspec.to_builtins(content), sort_keys=True).encode()).hexdigest()

    @property
    def checksums(self) -> dict[str, str]:
        """The sha256 of each array as a ``.npy`` file, without those of the split."""
        x = {"x": self.x} if isinstance(self.x, np.ndarray) else csr_arrays(self.x)
        arrays = {"y": self.y, **x, **{f"edge_{name}": values for name, values in self.edge_attributes.items()}}
        ids = {} if self.node_ids is None else {"ids": checksum(self.node_ids, compact_text)}
        return self.graph.checksums | {name: checksum(array) for name, array in arrays.items()} | ids

    @property
    def num_nodes(self) -> int:
        """The number of nodes."""
        return self.graph.num_nodes

    @property
    def num_current(self) -> int:
        """The number of nodes without copies and those of other types."""
        return self.num_nodes - self.copies - self.others

    @property
    def num_features(self) -> int:
        """The width of ``x``."""
        return int(self.x.shape[1])

    @property
    def num_classes(self) -> int:
        """The number of classes."""
        return len(self.classes)

    @cached_property
    def density(self) -> float:
        """The share of the features' values that are not 0, see :func:`mggcn.data._features.density_of`."""
        return density_of(self.x)

    @cached_property
    def is_sparse(self) -> bool:
        """Whether more than half of the features' values are 0, dense or CSR.

        With nodes of other types, only the features that the targets have are counted, for these.
        """
        if not self.others:
            return self.density < 0.5
        x = self.x[: self.num_nodes - self.others]
        counts = np.asarray((x != 0).sum(axis=0)).reshape(-1)
        return bool(counts.sum() < 0.5 * x.shape[0] * np.count_nonzero(counts))

    @property
    def warnings(self) -> tuple[str, ...]:
        """The notes, and one more if classes have no training nodes."""
        if self.split is None:
            return self.notes
        sizes = np.bincount(self.y[self.split.train], minlength=self.num_classes)
        missing = [repr(name) for name, size in zip(self.classes, sizes.tolist(), strict=True) if not size]
        if sizes.max() == self.split.train.size:
            text = f"all training nodes are of class {self.classes[sizes.argmax()]!r}: accuracy says nothing"
            return (*self.notes, text)
        if not missing:
            return self.notes
        listed = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        return (*self.notes, f"no training nodes of class {listed}: it cannot be learnt")

    @classmethod
    def from_pyg(
        cls,
        data: "Data | HeteroData",
        name: str = "pyg",
        *,
        target: str | None = None,
        seed: int | None = 0,
        direction: Direction | None = None,
        weights: bool = True,
        inductive: bool = False,
        source: str = "",
    ) -> "Dataset":
        """Convert a ``torch_geometric.data.Data``, or a ``HeteroData`` for one type of target.

        The nodes of a HeteroData become nodes of one graph, those of the target type first, called such as ``paper 0``.
        Features are a column for each type of node and the columns of ``x`` of each type, which are 0 for other types.
        Types of edges are called by their relation, or such as ``author writes paper`` where two have the same. A type
        that holds the reverses of another and has the same name, or ``rev_`` before it, is left out unless
        ``direction`` is ``in`` or ``out``, because its edges are known already.

        Args:
            data: with ``x`` and ``edge_index``, and optionally ``y`` (-1 or NaN: no label), ``train_mask``,
                ``val_mask`` or ``valid_mask``, ``test_mask`` (or node numbers as ``train_idx``, ``val_idx`` or
                ``valid_idx``, ``test_idx``), ``node_ids`` and ``class_names``. ``edge_weight`` or, without it,
                ``edge_attr`` with one column are the weights of edges; ``edge_type`` are their types, integers, and
                ``edge_type_names`` the names of these. ``adj_t`` takes the place of a missing ``edge_index``; its
                values are weights. Weights that are all 1 are left out. With ``num_nodes`` instead of ``x`` its
                features are structural, see :func:`mggcn.data._structure.structural_features`. Labels that are floats
                must be whole. Of masks with one column for each split the first column is used; for another one
                assign, for example, ``data.train_mask[:, 1]``. Everything else is ignored, and a warning names it.
            name: the name of the data set.
            target: the type of the nodes of a HeteroData that are labelled and predicted; others are never labelled.
                Without it, the only one with ``y``.
            seed: of the split or validation part that is drawn if ``data`` has none; None draws no split.
            direction: which neighbours a node has, see :class:`mggcn.graph.Graph`; None is ``both``, with a warning if
                some edges have no reverse. ``directed`` keeps which way each edge goes.
            weights: whether to use weights of edges; a note says where they are from.
            inductive: whether training uses only the subgraph of the training nodes.
            source: one line on where the data came from; the class of ``data`` if empty.
        """
        from mggcn.data._pyg import from_pyg

        return from_pyg(data, name, seed, direction, inductive, source, weights=weights, target=target)

    @classmethod
    def from_networkx(
        cls,
        graph: "networkx.Graph",
        *,
        name: str = "networkx",
        features: "FeatureChoice" = "all",
        categories: Sequence[str] = (),
        label: str = "label",
        split: str = "split",
        weight: str = "weight",
        edge_type: str | None = None,
        seed: int | None = 0,
        direction: Direction | None = None,
        weights: bool = True,
        inductive: bool = False,
        source: str = "networkx graph",
    ) -> "Dataset":
        """Convert a NetworkX graph, directed or not; the keys of the nodes become their ids.

        Parallel edges of a multigraph are one edge, whose weight is the sum of theirs. Attributes of edges that are not
        named here are ignored; a warning says so.

        Args:
            graph: with features as node attributes.
            name: the name of the data set.
            features: the node attributes to use, read like columns of a table, or lists of numbers; or ``all``,
                ``none`` or ``structural``, which nodes without attributes get in any case.
            categories: attributes that are categories, even if they are numbers.
            label: the node attribute with the name or number of the class; a node without it has no label.
            split: the node attribute that is train, val or test; a node without it is in no part.
            weight: the edge attribute with the weight, a number of 0 or more; all edges have it or none. Weights that
                are all 1 are left out.
            edge_type: the edge attribute with the type, a text or a number, which every edge has.
            seed: of the split or validation part that is drawn if the nodes have none; None draws no split.
            direction: which neighbours a node has, see :class:`mggcn.graph.Graph`; others than ``both`` need a
                DiGraph. ``directed`` keeps which way each edge goes. None is ``both``, with a warning if some edges of
                a DiGraph have no reverse.
            weights: whether to use weights of edges; a note says that they are used.
            inductive: whether training uses only the subgraph of the training nodes.
            source: one line on where the data came from.
        """
        from mggcn.data._table_objects import from_networkx
        from mggcn.data._tables import TableColumns

        columns = TableColumns(
            label=label,
            split=split,
            features=features,
            categories=categories,
            weight=weight,
            kind=edge_type,
            without_weights="weights=False",
        )
        return from_networkx(graph, columns, name, seed, direction, inductive, source, weights=weights)

    @classmethod
    def from_scipy(
        cls,
        adjacency: "sparray | spmatrix",
        x: "ArrayLike | sparray | spmatrix | None",
        y: ArrayLike | None = None,
        *,
        name: str = "scipy",
        classes: Sequence[str] | None = None,
        split: "Split | Sequence[ArrayLike | None] | None" = None,
        node_ids: ArrayLike | None = None,
        feature_names: Sequence[str] = (),
        seed: int | None = 0,
        direction: Direction | None = None,
        weights: bool = True,
        inductive: bool = False,
        source: str = "scipy adjacency matrix",
    ) -> "Dataset":
        """Convert a sparse adjacency matrix of SciPy with features and labels, given as arrays, lists or tensors.

        Args:
            adjacency: [num_nodes, num_nodes] in any format; a value other than 0 in row u and column v is an edge from
                u to v, and its weight. Values that are all 1 are no weights.
            x: [num_nodes, num_features] features, dense or a sparse matrix of SciPy; None for structural ones.
            y: [num_nodes] class numbers, -1 for a node without a label; None if no node has one.
            name: the name of the data set.
            classes: the name of each class; ``class 0``, ``class 1``, … if None.
            split: a Split, or node numbers or masks of train, val and test, None for a part that is not known.
            node_ids: [num_nodes] the ids of the nodes, unique; None if they are the node numbers.
            feature_names: the names of the columns of ``x``.
            seed: of the split or validation part that is drawn if none is known; None draws no split.
            direction: which neighbours a node has, see :class:`mggcn.graph.Graph`; None is ``both``, with a warning if
                the matrix is not symmetric. ``directed`` keeps which way each edge goes.
            weights: whether the values are the weights of the edges; a note says so.
            inductive: whether training uses only the subgraph of the training nodes.
            source: one line on where the data came from.
        """
        from mggcn.data._from_arrays import edges_of, from_arrays, parts_of

        check_kind(adjacency, "from_scipy takes a sparse matrix of SciPy", "scipy.sparray", "scipy.spmatrix")
        with prefix_errors(name):
            if adjacency.ndim != 2 or adjacency.shape[0] != adjacency.shape[1]:
                raise InputError(f"adjacency: must be square, not of shape {list(adjacency.shape)}")
            edge_index, values = edges_of(adjacency)
            num_nodes = adjacency.shape[0]
            return from_arrays(
                name,
                num_nodes,
                edge_index,
                x,
                edge_weight=values if weights else None,
                weights_from="values of adjacency",
                y=None if y is None else as_array(y, "y"),
                classes=classes,
                parts=parts_of(split, num_nodes),
                seed=seed,
                direction=direction,
                source=source,
                node_ids=None if node_ids is None else as_array(node_ids, "node_ids"),
                feature_names=tuple(feature_names),
                inductive=inductive,
            )

    @classmethod
    def from_pandas(
        cls,
        edges: "DataFrame",
        nodes: "DataFrame | None" = None,
        name: str = "pandas",
        *,
        id_column: str = "id",
        source_column: str = "source",
        target_column: str = "target",
        label_column: str = "label",
        split_column: str = "split",
        features: "FeatureChoice" = "all",
        categories: Sequence[str] = (),
        weight_column: str = "weight",
        type_column: str | None = None,
        seed: int | None = 0,
        direction: Direction | None = None,
    ) -> "Dataset":
        """Convert two pandas data frames; the columns are as in :func:`mggcn.data.read_tables`.

        Args:
            edges: one row per edge.
            nodes: one row per node. Without it the nodes are the ends of the edges, without labels.
            name: the name of the data set.
            id_column: of ``nodes``, or the name of its index; the index if there is no column ``id``, with a warning if
                it has no name and holds numbers: name it ``id`` if it is meant.
            source_column: of ``edges``: ids of nodes.
            target_column: of ``edges``: ids of nodes.
            label_column: of ``nodes``: classes, empty if unknown. Without this column no node is labelled.
            split_column: of ``nodes``: train, val, test or empty. Without this column the split is drawn by ``seed``.
            features: ``all`` other columns of ``nodes``, a list of columns, ``structural`` or ``none``.
            categories: feature columns whose values are categories even if they are numbers, dates, or many; text and
                columns of pandas' type ``category`` are.
            weight_column: of ``edges``: numbers of 0 or more; 0 is no edge, and the weights of parallel edges are
                added. A column of this name is used by default, and a note says so; ``none`` reads no weights.
            type_column: of ``edges``: texts or numbers that name at most 255 types of edges.
            seed: of the split or validation part that is drawn if ``nodes`` has none; None draws no split.
            direction: ``directed`` keeps which way each edge goes; for the others see :class:`mggcn.graph.Graph`. None
                is ``both``, with a note on the number of edges without a reverse.
        """
        from mggcn.data._table_objects import from_pandas
        from mggcn.data._tables import TableColumns

        columns = TableColumns(
            id=id_column,
            source=source_column,
            target=target_column,
            label=label_column,
            split=split_column,
            features=features,
            categories=tuple(categories),
            weight=weight_column,
            kind=type_column,
        )
        return from_pandas(edges, nodes, columns, name, seed, direction)

    def to_pyg(self) -> "Data":
        """Convert to a ``torch_geometric.data.Data`` with dense ``x``, and with masks if there is a split.

        Weights and types of edges are ``edge_weight``, ``edge_type`` and ``edge_type_names``. ``edge_index`` has both
        directions of an undirected edge, and an edge of a directed graph once.
        """
        from mggcn.data._pyg import to_pyg

        return to_pyg(self)

    def check_unchanged(self) -> None:
        """Raise InputError if the data set is mapped and its files have changed since."""
        if self.mapped is not None:
            self.mapped.check()

    def with_split(self, split: Split) -> "Dataset":
        """Return the same data with another split."""
        return replace(self, split=split, checked=True)

    def require_split(self) -> Split:
        """Return the split, or raise InputError if the data set has none."""
        if self.split is None:
            raise InputError(f"{self.name}: no training labels (the data set has no split)")
        return self.split

    def ids_of(self, nodes: ArrayLike) -> NDArray[np.generic]:
        """Return the user's ids of node numbers or of a boolean mask; ids stored as bytes become text."""
        numbers = node_numbers(nodes, self.num_nodes)
        if self.node_ids is None:
            return numbers
        ids = np.asarray(self.node_ids[numbers])
        return np.char.decode(ids, "ascii") if ids.dtype.kind == "S" else ids

    def nodes_of(self, ids: Sequence[str]) -> NDArray[np.int64]:
        """Return the node numbers of the user's ids, given as text; Ethereum addresses match in any case."""
        from mggcn.data._ids import nodes_of

        return nodes_of(self, ids)


def edges_in_words(graph: Graph) -> str:
    """The number of edges, and what is known of them."""
    schema = graph.schema
    words = [word for word, applies in (("directed", schema.directed), ("weighted", schema.weighted)) if applies]
    kinds = f" of {len(schema.types)} type{'s' * (len(schema.types) > 1)}" if schema.types else ""
    return " ".join([f"{graph.num_edges:,}", *words, f"edges{kinds}"])


def headline(dataset: Dataset) -> str:
    """The sizes of a data set, and on further lines its source and what may mislead."""
    split = dataset.split
    sizes = f"{split.train.size:,}/{split.val.size:,}/{split.test.size:,}" if split else "no split"
    counts = f"{dataset.num_nodes:,} nodes, {edges_in_words(dataset.graph)}, {dataset.num_features:,} features"
    first = f"{dataset.name}: {counts}, {dataset.num_classes} classes, split {sizes}"
    return "\n".join(filter(None, [first, dataset.source, *(f"note: {text}" for text in dataset.warnings)]))
