"""Small files in the layouts of the sets that are too large for the tests: Reddit, Flickr and OGB's."""

import gc
import gzip
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import coo_matrix, csr_matrix, save_npz

from mggcn.cli import main
from mggcn.data import Dataset, load
from mggcn.data._pyg import torch_geometric
from mggcn.errors import InputError

Flickr, Reddit = (getattr(torch_geometric("these tests").datasets, name) for name in ("Flickr", "Reddit"))

N = 30
X = np.random.default_rng(0).normal(size=(N, 4)).astype(np.float32).astype(np.float64)
Y = np.arange(N) % 3
ENDS = np.array([[0, 1, 1, 2, 5, 5, 7], [1, 0, 2, 1, 5, 6, 29]])
NEIGHBOURS = {0: [1], 1: [0, 2], 2: [1], 5: [6], 6: [5], 7: [29], 29: [7]}
TYPES = np.array([1] * 15 + [2] * 5 + [3] * 8 + [0, 0])


def _check(data: Dataset) -> None:
    assert data.num_nodes == N
    for node in range(N):
        assert data.graph.row(node).tolist() == NEIGHBOURS.get(node, [])
    assert np.array_equal(data.x, X.astype(np.float32))
    assert np.array_equal(data.y, Y)
    assert np.array_equal(data.split.train, np.arange(15))
    assert np.array_equal(data.split.val, np.arange(15, 20))
    assert np.array_equal(data.split.test, np.arange(20, 28))


def _reddit(folder: Path, **changed: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    fields = {"feature": X, "label": Y, "node_types": TYPES, "node_ids": np.arange(N)} | changed
    np.savez(folder / "reddit_data.npz", **fields)
    save_npz(folder / "reddit_graph.npz", coo_matrix((np.ones(7), ENDS), shape=(N, N)))
    return folder


def _saint(folder: Path) -> Path:
    folder.mkdir(parents=True)
    adjacency = csr_matrix((np.ones(7), ENDS), shape=(N, N))
    save_npz(folder / "adj_full.npz", adjacency)
    np.save(folder / "feats.npy", X)
    (folder / "class_map.json").write_text(json.dumps({str(node): int(Y[node]) for node in range(N)}))
    (folder / "role.json").write_text(
        json.dumps({"tr": list(range(15)), "va": list(range(15, 20)), "te": list(range(20, 28))})
    )
    return folder


def _gz(path: Path, rows: object, form: str = "%d") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt") as file:
        np.savetxt(file, np.asarray(rows), fmt=form, delimiter=",")


def _ogb(folder: Path) -> Path:
    _gz(folder / "raw" / "edge.csv.gz", ENDS.T)
    _gz(folder / "raw" / "node-feat.csv.gz", X, "%.9g")
    _gz(folder / "raw" / "node-label.csv.gz", Y)
    _gz(folder / "raw" / "num-node-list.csv.gz", [N])
    for part, nodes in (("train", range(15)), ("valid", range(15, 20)), ("test", range(20, 28))):
        _gz(folder / "split" / "time" / f"{part}.csv.gz", list(nodes))
    mapping = folder / "mapping" / "labelidx2arxivcategeory.csv.gz"
    mapping.parent.mkdir()
    with gzip.open(mapping, "wt") as file:
        file.write("label idx,arxiv category\n0,arxiv cs na\n1,arxiv cs mm\n2,arxiv cs lo\n")
    return folder


def test_two_classes_of_one_name_in_a_mapping_of_ogb_are_refused(tmp_path: Path):
    folder = _ogb(tmp_path / "ogb" / "ogbn_arxiv")
    with gzip.open(folder / "mapping" / "labelidx2arxivcategeory.csv.gz", "at") as file:
        file.write("3,arxiv cs mm\n")
    with pytest.raises(InputError, match=r"labelidx2arxivcategeory.csv.gz: classes: 2 are called 'arxiv cs mm'$"):
        load("ogb:ogbn-arxiv", root=tmp_path)


def test_reddit_is_read_raw_converted_and_then_mapped(tmp_path: Path):
    raw = _reddit(tmp_path / "pyg" / "Reddit" / "raw")
    data = load("reddit", root=tmp_path)
    _check(data)
    assert data.inductive
    assert data.path == tmp_path / "converted" / "reddit"
    for file in raw.iterdir():
        file.unlink()
    mapped = load("pyg:Reddit", root=tmp_path, mmap=True)
    _check(mapped)
    assert isinstance(mapped.x, np.memmap)
    assert mapped.digest == data.digest


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"label": Y[:-1]}, "reddit: y: must have shape [30], one class per node, not [29]"),
        ({"node_types": TYPES[:-1]}, "reddit: data.train_mask: the mask has 29 entries, but the graph has 30 nodes"),
        ({"node_types": TYPES * 0}, "reddit: split: train is empty"),
        ({"feature": X * np.nan}, "reddit: x of node 0, feature 0 is nan"),
    ],
)
def test_bad_reddit_files_are_errors_and_nothing_is_converted(tmp_path: Path, changed, message: str):
    _reddit(tmp_path / "pyg" / "Reddit" / "raw", **changed)
    with pytest.raises(InputError, match=re.escape(message)):
        load("reddit", root=tmp_path)
    assert not (tmp_path / "converted").exists()


def test_flickr_is_read_raw_and_never_from_pygs_pickle(tmp_path: Path):
    raw = _saint(tmp_path / "pyg" / "Flickr" / "raw")
    (raw.parent / "processed").mkdir()
    (raw.parent / "processed" / "data.pt").write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    data = load("pyg:Flickr", root=tmp_path)
    _check(data)
    assert (data.name, data.inductive) == ("pyg:Flickr", True)
    assert data.path == tmp_path / "converted" / "pyg-Flickr"


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("class_map.json", '{"0": [0, 1]}'),
        ("class_map.json", '{"30": 1}'),
        ("class_map.json", '{"3": "x"}'),
        ("class_map.json", "{"),
        ("class_map.json", "[1]"),
        ("role.json", '{"tr": [0]}'),
        ("role.json", '{"tr": ["a"], "va": [0], "te": [1]}'),
        ("feats.npy", "junk"),
        ("adj_full.npz", "junk"),
    ],
)
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # PyG leaves them to the garbage collector
def test_bad_graphsaint_files_are_errors(tmp_path: Path, file: str, content: str):
    (_saint(tmp_path / "pyg" / "Reddit2" / "raw") / file).write_text(content)
    with pytest.raises(InputError) as caught:
        load("pyg:Reddit2", root=tmp_path)
    assert str(caught.value).startswith(f"pyg:Reddit2: PyG could not load it from {tmp_path / 'pyg' / 'Reddit2'} (")
    assert "\n" not in str(caught.value)
    del caught
    gc.collect()


def test_a_split_of_graphsaint_that_overlaps_is_an_error(tmp_path: Path):
    roles = _saint(tmp_path / "pyg" / "Reddit2" / "raw") / "role.json"
    roles.write_text('{"tr": [0], "va": [0], "te": [1]}')
    with pytest.raises(InputError, match=r"^pyg:Reddit2: split: train and val overlap"):
        load("pyg:Reddit2", root=tmp_path)


def test_missing_raw_files_are_fetched_by_pygs_own_download(cache: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Reddit, "download", lambda self: _reddit(Path(self.raw_dir)))
    _check(load("reddit"))
    assert (cache / "pyg" / "Reddit" / "raw" / "reddit_data.npz").is_file()


def test_a_failed_download_is_one_line(cache: Path, monkeypatch: pytest.MonkeyPatch):
    def download(_: object) -> None:
        raise RuntimeError("host is down\nmore")

    monkeypatch.setattr(Flickr, "download", download)
    with pytest.raises(InputError, match=r"^pyg:Flickr: PyG could not load it from .*/pyg/Flickr \(host is down\)$"):
        load("pyg:Flickr")


def test_ogb_is_read_raw_converted_and_named(tmp_path: Path):
    _ogb(tmp_path / "ogb" / "ogbn_arxiv")
    data = load("ogb:ogbn-arxiv", root=tmp_path)
    _check(data)
    assert data.classes == ("arxiv cs na", "arxiv cs mm", "arxiv cs lo")
    assert data.source == "OGB ogbn-arxiv, raw files; its split by time"
    assert data.path == tmp_path / "converted" / "ogb-ogbn-arxiv"


@pytest.mark.parametrize(
    ("file", "rows", "message"),
    [
        ("raw/edge.csv.gz", [[0, 30]], "edge.csv.gz: edges: target 30 of edge 0 is out of range"),
        ("raw/edge.csv.gz", [[0, 1, 2]], "edge.csv.gz: 3 columns, not 2"),
        ("raw/node-label.csv.gz", Y[1:], "node-label.csv.gz: y: must have shape [30], one class per node, not [29]"),
        (
            "raw/node-label.csv.gz",
            np.ones((30, 2)),
            "node-label.csv.gz: y: must have shape [30], one class per node, not [30, 2]; several labels per node",
        ),
        ("raw/node-label.csv.gz", Y - 2, "node-label.csv.gz: y of node 0 is -2, outside the 1 classes"),
        (
            "raw/num-node-list.csv.gz",
            [10, 20],
            "num-node-list.csv.gz: number of nodes: must be one integer, not int64 of shape (2, 1)",
        ),
        ("raw/node-feat.csv.gz", X[1:], "node-feat.csv.gz: x has 29 rows but the graph has 30 nodes"),
        ("split/time/valid.csv.gz", [0], "time: split: train and val overlap"),
        ("split/other/valid.csv.gz", [0], "split: 2 split schemes; one is needed"),
    ],
)
def test_bad_ogb_files_are_errors(tmp_path: Path, file: str, rows, message: str):
    home = _ogb(tmp_path / "ogb" / "ogbn_arxiv")
    _gz(home / file, rows)
    with pytest.raises(InputError) as caught:
        load("ogb:ogbn-arxiv", root=tmp_path)
    assert message in str(caught.value)


def _ogb_binary(folder: Path, compressed: bool = True, **changed: object) -> Path:
    """OGB's files in the binary layout; ``changed`` replaces arrays, and leaves out those that are None."""
    _ogb(folder)
    for path in (folder / "raw").iterdir():
        path.unlink()
    arrays = {
        "edge_index": ENDS,
        "node_feat": X,
        "node_year": np.arange(N),
        "num_nodes_list": np.array([N]),
        "num_edges_list": np.array([ENDS.shape[1]]),
        "node_label": np.where(Y < 0, np.nan, Y).reshape(-1, 1),
    }
    arrays = {name: array for name, array in (arrays | changed).items() if array is not None}
    save = np.savez_compressed if compressed else np.savez
    save(folder / "raw" / "node-label.npz", **{name: arrays.pop(name) for name in ["node_label"] if name in arrays})
    save(folder / "raw" / "data.npz", **arrays)
    return folder


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("rows", [1, 3, 1 << 14])
@pytest.mark.parametrize("order", ["C", "F"])
def test_ogbs_binary_files_give_the_folder_of_its_csv_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compressed: bool, rows: int, order: str
):
    monkeypatch.setattr("mggcn.data._ogb._ROWS", rows)
    _ogb(tmp_path / "csv" / "ogb" / "ogbn_arxiv")
    changed = {"edge_index": np.asarray(ENDS, order=order), "node_feat": np.asarray(X, order=order)}
    _ogb_binary(tmp_path / "npz" / "ogb" / "ogbn_arxiv", compressed, **changed)
    text, binary = (load("ogb:ogbn-arxiv", root=tmp_path / layout) for layout in ("csv", "npz"))
    _check(binary)
    files = [{path.name: path.read_bytes() for path in data.path.iterdir()} for data in (text, binary)]
    assert files[0] == files[1]
    assert [path.name for path in binary.path.parent.iterdir()] == ["ogb-ogbn-arxiv"]


def test_other_types_of_ogbs_binary_arrays(tmp_path: Path):
    changed = {"node_feat": X.astype(np.float64), "edge_index": ENDS.astype(np.int32), "node_label": Y.reshape(-1, 1)}
    _check(load("ogb:ogbn-arxiv", root=_ogb_binary(tmp_path / "ogb" / "ogbn_arxiv", **changed).parents[1]))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"edge_index": ENDS + 1}, "data.npz: edge_index: "),
        ({"edge_index": ENDS.T}, "data.npz: edge_index: int64 of shape ["),
        ({"edge_index": ENDS * 1.0}, "data.npz: edge_index: float64 of shape [2, "),
        (
            {"edge_index": None},
            "data.npz: edge_index: not readable (\"There is no item named 'edge_index.npy' in the archive\")",
        ),
        ({"node_feat": X[1:]}, "data.npz: node_feat: x has 29 rows but the graph has 30 nodes"),
        ({"node_feat": X * np.nan}, "data.npz: node_feat: x of node 0, feature 0 is nan"),
        (
            {"node_feat": np.array([[None]] * N)},
            "data.npz: node_feat: not readable (Array can't be memory-mapped: Python objects in dtype.)",
        ),
        (
            {"num_nodes_list": np.array([10, 20])},
            "data.npz: number of nodes: must be one integer, not int64 of shape (2,)",
        ),
        (
            {"node_label": Y[1:].reshape(-1, 1)},
            "node-label.npz: y: must have shape [30], one class per node, not [29]",
        ),
        ({"node_label": Y.reshape(-1, 1) + 0.5}, "node-label.npz: y of node 0 is 0.5, not a whole number"),
        ({"node_label": np.full((N, 1), np.nan)}, "time: split: train holds node 0, which has no label"),
    ],
)
def test_bad_binary_ogb_files_are_errors_and_nothing_is_converted(tmp_path: Path, changed: dict, message: str):
    _ogb_binary(tmp_path / "ogb" / "ogbn_arxiv", **changed)
    with pytest.raises(InputError) as caught:
        load("ogb:ogbn-arxiv", root=tmp_path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert list((tmp_path / "converted").glob("*")) == []


def test_damaged_binary_ogb_files_are_errors(tmp_path: Path):
    path = _ogb_binary(tmp_path / "ogb" / "ogbn_arxiv") / "raw" / "data.npz"
    whole = path.read_bytes()
    middle = len(whole) // 3
    for content in (b"", b"1,2\n", whole[:-20], whole[:middle] + bytes(40) + whole[middle + 40 :]):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"data\.npz: (\w+: )?not (a )?readable"):
            load("ogb:ogbn-arxiv", root=tmp_path)


@pytest.mark.parametrize("layout", [_ogb, _ogb_binary])
def test_a_folder_of_ogb_is_imported(tmp_path: Path, layout: Callable, capsys: pytest.CaptureFixture[str]):
    folder = layout(tmp_path / "papers")
    assert main(["data", "import", str(folder), "--out", str(tmp_path / "d"), "--quiet"]) == 0
    assert capsys.readouterr().out.startswith("d: 30 nodes, ")
    data = load(tmp_path / "d")
    assert data.source == "OGB papers, raw files; its split by time"
    assert main(["data", "import", str(folder), "--out", str(tmp_path / "d")]) == 2
    assert main(["data", "import", str(folder), "--out", str(tmp_path / "e"), "--features", "none"]) == 2
    assert "a folder of OGB is a whole data set" in capsys.readouterr().err
    assert main(["data", "import", str(folder), "--out", str(tmp_path / "e"), "--memory", "1GB", "--quiet"]) == 0
    assert load(tmp_path / "e").digest == data.digest
    assert main(["data", "import", str(tmp_path), "--out", str(tmp_path / "f")]) == 2
    assert capsys.readouterr().err.endswith("num-node-list.csv.gz not found.\n")


def test_damaged_ogb_files_are_errors(tmp_path: Path):
    path = _ogb(tmp_path / "ogb" / "ogbn_arxiv") / "raw" / "node-feat.csv.gz"
    whole = path.read_bytes()
    for content in (b"", b"1,2\n", whole[:-20]):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"node-feat.csv.gz: ") as caught:
            load("ogb:ogbn-arxiv", root=tmp_path)
        assert "\n" not in str(caught.value)


def test_unlabelled_ogb_nodes_stay_so(tmp_path: Path):
    home = _ogb(tmp_path / "ogb" / "ogbn_arxiv")
    _gz(home / "raw" / "node-label.csv.gz", np.r_[Y[:-1], np.nan], "%g")
    assert load("ogb:ogbn-arxiv", root=tmp_path).y[-1] == -1


def test_without_ogb_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "ogb", None)
    with pytest.raises(InputError, match=r"ogbn_arxiv, and fetching them needs OGB: pip install 'mggcn\[ogb\]'"):
        load("ogb:ogbn-arxiv", root=tmp_path)
    with pytest.raises(InputError, match=r"ogb:\.\./x: not the name of an OGB node data set"):
        load("ogb:../x")


def test_ogb_fetches_but_its_pickle_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def fetch(name: str, root: str) -> object:
        _ogb(Path(root) / name.replace("-", "_"))
        return SimpleNamespace()

    package, module = ModuleType("ogb"), ModuleType("ogb.nodeproppred")
    module.NodePropPredDataset = fetch
    monkeypatch.setitem(sys.modules, "ogb", package)
    monkeypatch.setitem(sys.modules, "ogb.nodeproppred", module)
    _check(load("ogb:ogbn-arxiv", root=tmp_path))
    (tmp_path / "ogb" / "ogbn_products" / "processed").mkdir(parents=True)
    with pytest.raises(InputError, match="ogbn_products: holds OGB's processed files but not its raw ones"):
        load("ogb:ogbn-products", root=tmp_path)
