"""Data sets: checked when they are created; from objects and files of others, by name, and as folders on disk.

Names that are not in ``__all__`` are for the other packages.
"""

from mggcn.data._background import BACKGROUND, draw_background
from mggcn.data._cache import Cache as Cache
from mggcn.data._checks import require as require
from mggcn.data._columns import Chunk as Chunk
from mggcn.data._columns import Column
from mggcn.data._columns import Encoder as Encoder
from mggcn.data._columns import encoding_notes as encoding_notes
from mggcn.data._columns import feature_names as feature_names
from mggcn.data._columns import fill as fill
from mggcn.data._columns import text_of as text_of
from mggcn.data._dataset import Dataset, headline
from mggcn.data._features import Features, Measure, as_features
from mggcn.data._features import check_finite as check_finite
from mggcn.data._features import plain as plain
from mggcn.data._folder import Verified, load_folder, save, verify
from mggcn.data._from_arrays import edge_values as edge_values
from mggcn.data._from_arrays import ignored_edge_data as ignored_edge_data
from mggcn.data._from_arrays import one_way_note as one_way_note
from mggcn.data._ids import COPY
from mggcn.data._ids import find_nodes as find_nodes
from mggcn.data._ids import ids_without_date as ids_without_date
from mggcn.data._ids import names_in_draws as names_in_draws
from mggcn.data._load import load, names, raw_folder, stored
from mggcn.data._load import load_with as load_with
from mggcn.data._npz import read_fields as read_fields
from mggcn.data._npz import read_npz
from mggcn.data._ogb import import_ogb
from mggcn.data._pyg import as_dataset
from mggcn.data._root import PREPARED
from mggcn.data._root import data_roots as data_roots
from mggcn.data._root import prepared_folder as prepared_folder
from mggcn.data._root import user_cache as user_cache
from mggcn.data._root import writable_root as writable_root
from mggcn.data._split import PARTS, UNLABELLED, Split
from mggcn.data._table_files import Table as Table
from mggcn.data._tables import read_tables
from mggcn.data._writer import META, ArrayWriter, CsrWriter, FolderWriter, writing
from mggcn.data._writer import check_free as check_free
from mggcn.data._writer import is_dataset as is_dataset

__all__ = [
    "BACKGROUND",
    "COPY",
    "META",
    "PARTS",
    "PREPARED",
    "UNLABELLED",
    "ArrayWriter",
    "Column",
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
