import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mggcn import data as datasets
from mggcn.data import _planetoid, save
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, mggcn.data; print([m for m in ('torch', 'sklearn', 'pyarrow') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_names_hold_every_name_and_pattern():
    assert datasets.names() == [
        *("cora", "cora:public", "citeseer", "citeseer:public", "pubmed", "pubmed:public"),
        *("digits", "reddit", "reddit-like", "reddit-like:SCALE", "ethereum-like", "ethereum-like:SCALE"),
        *("direction-labels", "weight-labels", "type-labels", "pyg:NAME", "ogb:NAME"),
    ]


@pytest.mark.parametrize("name", ["corra", "Cora", "cora:publik", "digits:2", ""])
def test_an_unknown_name_is_refused_with_the_nearest(name: str):
    with pytest.raises(InputError, match=r"^unknown data set '") as caught:
        datasets.load(name)
    assert "\n" not in str(caught.value)


def test_a_near_miss_is_an_error():
    with pytest.raises(InputError, match=r"did you mean .*pubmed"):
        datasets.load("pubmet")


@pytest.mark.parametrize("mmap", [False, True])
def test_a_folder_is_loaded_by_its_path(tmp_path: Path, mmap: bool):
    stored = save(datasets.load("digits"), tmp_path / "mine")
    for name in (tmp_path / "mine", str(tmp_path / "mine")):
        loaded = datasets.load(name, mmap=mmap)
        assert loaded.digest == stored.digest
        assert isinstance(loaded.x, np.memmap) == mmap


def test_a_path_that_is_no_dataset_folder_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match=r"not a dataset folder \(meta.json is missing\)"):
        datasets.load(tmp_path)
    with pytest.raises(InputError, match="nowhere: no such folder"):
        datasets.load(str(tmp_path / "nowhere"))
    (tmp_path / "table.csv").write_text("id\n")
    with pytest.raises(InputError, match=r"table.csv: a file, not a dataset folder"):
        datasets.load(str(tmp_path / "table.csv"))


def test_a_path_object_is_never_a_name():
    with pytest.raises(InputError, match="digits: no such folder"):
        datasets.load(Path("digits"))


def test_the_neighbours_of_digits_do_not_depend_on_threads():
    data = datasets.load("digits")
    pixels = np.rint(data.x * 16).astype(np.int64)
    expected = np.zeros((data.num_nodes, data.num_nodes), bool)
    for node, row in enumerate(pixels):
        distances = ((pixels - row) ** 2).sum(axis=1)
        nearest = sorted((distance, other) for other, distance in enumerate(distances) if other != node)[:10]
        expected[node, [other for _, other in nearest]] = True
    rows = np.repeat(np.arange(data.num_nodes), np.diff(data.graph.indptr))
    actual = np.zeros_like(expected)
    actual[rows, data.graph.indices] = True
    assert np.array_equal(actual, expected | expected.T)


def test_digits_are_the_images_beside_their_nearest():
    data = datasets.load("digits", seed=3)
    assert (data.num_nodes, data.num_features, data.classes[7]) == (1797, 64, "7")
    assert np.bincount(data.y).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert data.graph.degrees.min() >= 10
    rows, columns = data.graph.edges()
    assert np.mean(data.y[rows] == data.y[columns]) > 0.9
    assert data.split is not None
    assert [part.size for part in (data.split.train, data.split.val, data.split.test)] == [1078, 360, 359]
    other = datasets.load("digits", seed=4)
    assert other.split is not None
    assert not np.array_equal(other.split.train, data.split.train)


def test_what_a_data_root_holds(tmp_path: Path, small: Dataset) -> None:
    assert datasets.stored(tmp_path) == []
    folder = tmp_path / "planetoid" / "Cora" / "raw"
    folder.mkdir(parents=True)
    for file in _planetoid.CHECKSUMS["planetoid/Cora/raw"].keys() - {"ind.cora.x"}:
        (folder / file).touch()
    assert datasets.stored(tmp_path) == [], "a file is missing"
    (folder / "ind.cora.x").touch()
    (tmp_path / "ogb" / "ogbn_arxiv" / "raw").mkdir(parents=True)
    save(small, tmp_path / "synthetic" / "small")
    save(small, tmp_path / "mine")
    assert datasets.stored(tmp_path) == ["cora", "ogb:ogbn-arxiv", "mine", "synthetic/small"]
