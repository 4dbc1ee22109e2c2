"""Data sets: checked when they are created; from objects and files of others, by name, and as folders on disk.

Names that are not in ``__all__`` are for the other packages.
"""

from mggcn.data._background import BACKGROUND, draw_background
from mggcn.data._cache import Cache
from mggcn.data._checks import check_kind
from mggcn.data._columns import (
    KINDS,
    Chunk,
    ColumnEncoding,
    Encoder,
    encoding_notes,
    feature_names,
    fill,
    parsed,
    shown,
    text_of,
)
from mggcn.data._csr_writer import CsrWriter
from mggcn.data._dataset import Dataset, edges_in_words, headline
from mggcn.data._features import Features, Measure, as_features, check_finite, plain
from mggcn.data._folder import Verified, load_folder, save, verify
from mggcn.data._from_arrays import checked_weights, edge_values, ignored_edge_data, one_way_note, sums_note
from mggcn.data._ids import COPY, find_nodes, ids_without_date, names_in_draws
from mggcn.data._load import load, load_with, names, raw_folder, stored
from mggcn.data._npz import read_fields, read_npz
from mggcn.data._ogb import import_ogb
from mggcn.data._pyg import as_dataset
from mggcn.data._pyg_stores import edges_in
from mggcn.data._root import PREPARED, data_roots, prepared_folder, user_cache, writable_root
from mggcn.data._split import PARTS, UNLABELLED, Split
from mggcn.data._table_files import InputTable
from mggcn.data._tables import read_tables
from mggcn.data._writer import META, ArrayWriter, FolderWriter, check_free, is_dataset, writing

__all__ = [
    "BACKGROUND",
    "COPY",
    "META",
    "PARTS",
    "PREPARED",
    "UNLABELLED",
    "ArrayWriter",
    "ColumnEncoding",
    "CsrWriter",
    "Dataset",
    "Features",
    "FolderWriter",
    "Measure",
    "Split",
    "Verified",
    "as_dataset",
    "as_features",
    "draw_background",
    "headline",
    "import_ogb",
    "load",
    "load_folder",
    "names",
    "raw_folder",
    "read_npz",
    "read_tables",
    "save",
    "stored",
    "verify",
    "writing",
]
