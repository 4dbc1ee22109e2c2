"""Data sets: checked when they are created; from objects and files of others, by name, and as folders on disk."""

from mggcn.data._background import BACKGROUND, draw_background, draw_background_of_blocks
from mggcn.data._cache import Cache, Draft
from mggcn.data._columns import Chunk, Column, Encoder, FeatureTable, encoding_notes, feature_names, text_of
from mggcn.data._dataset import Dataset, headline
from mggcn.data._features import Features, Measure, as_features, check_finite, plain
from mggcn.data._folder import Verified, load_folder, save, verify
from mggcn.data._from_arrays import edge_values, ignored_edge_data, one_way_note
from mggcn.data._ids import COPY, find_nodes, ids_without_date, names_in_draws
from mggcn.data._load import load, load_with, names, raw_folder, stored
from mggcn.data._npz import read_fields, read_npz
from mggcn.data._objects import as_dataset, require
from mggcn.data._ogb import import_ogb
from mggcn.data._root import PREPARED, data_roots, prepared_folder, user_cache, writable_root
from mggcn.data._split import PARTS, UNLABELLED, Split
from mggcn.data._table_files import Table
from mggcn.data._tables import read_tables
from mggcn.data._writer import META, ArrayWriter, CsrWriter, FolderWriter, check_free, is_dataset, writing

__all__ = [
    "BACKGROUND",
    "COPY",
    "META",
    "PARTS",
    "PREPARED",
    "UNLABELLED",
    "ArrayWriter",
    "Cache",
    "Chunk",
    "Column",
    "CsrWriter",
    "Dataset",
    "Draft",
    "Encoder",
    "FeatureTable",
    "Features",
    "FolderWriter",
    "Measure",
    "Split",
    "Table",
    "Verified",
    "as_dataset",
    "as_features",
    "check_finite",
    "check_free",
    "data_roots",
    "draw_background",
    "draw_background_of_blocks",
    "edge_values",
    "encoding_notes",
    "feature_names",
    "find_nodes",
    "headline",
    "ids_without_date",
    "ignored_edge_data",
    "import_ogb",
    "is_dataset",
    "load",
    "load_folder",
    "load_with",
    "names",
    "names_in_draws",
    "one_way_note",
    "plain",
    "prepared_folder",
    "raw_folder",
    "read_fields",
    "read_npz",
    "read_tables",
    "require",
    "save",
    "stored",
    "text_of",
    "user_cache",
    "verify",
    "writable_root",
    "writing",
]
