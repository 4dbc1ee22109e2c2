from pathlib import Path

import numpy as np
import pytest

from mggcn.data import _planetoid as planetoid_files
from mggcn.data import load
from mggcn.data._dataset import Dataset
from mggcn.data._planetoid import unpickle
from mggcn.errors import InputError


def _load(name: str, real) -> Dataset:
    return load(name, root=real("planetoid").parent)


def _sizes(data: Dataset) -> list[int]:
    assert data.split is not None
    return [part.size for part in (data.split.train, data.split.val, data.split.test)]


@pytest.mark.parametrize(
    ("name", "counts", "split", "public", "of_class"),
    [
        ("cora", (2708, 5278, 1433, 7), [1208, 500, 1000], [140, 500, 1000], [351, 217, 418, 818, 426, 298, 180]),
        ("citeseer", (3327, 4552, 3703, 6), [1812, 500, 1000], [120, 500, 1000], [249, 590, 668, 701, 596, 508]),
        ("pubmed", (19717, 44324, 500, 3), [18217, 500, 1000], [60, 500, 1000], [4103, 7739, 7875]),
    ],
)
def test_the_published_counts(name, counts, split, public, of_class, real):
    data = _load(name, real)
    assert (data.num_nodes, data.graph.num_edges, data.num_features, data.num_classes) == counts
    assert data.is_sparse
    assert _sizes(data) == split
    assert np.bincount(data.y[data.y >= 0]).tolist() == of_class
    other = _load(f"{name}:public", real)
    assert _sizes(other) == public
    assert np.bincount(other.y[other.split.train]).tolist() == [20] * counts[3]
    assert np.array_equal(other.split.test, data.split.test)
    assert (data.name, other.name) == (name, f"{name}:public")


def test_fastgcn_trains_on_what_comes_before_the_validation_nodes(real):
    split = _load("cora", real).split
    assert np.array_equal(split.train, np.arange(1208))
    assert np.array_equal(split.val, np.arange(1208, 1708))
    assert np.array_equal(split.test, np.arange(1708, 2708))


def test_test_rows_go_where_the_index_says(real):
    raw = real("planetoid/Cora/raw")
    data = _load("cora", real)
    index = [int(line) for line in (raw / "ind.cora.test.index").read_text().split()]
    assert index[0] == 2692
    rows = unpickle(raw / "ind.cora.tx")
    labels = unpickle(raw / "ind.cora.ty")
    for place in (0, 1, 999):
        node = index[place]
        assert np.array_equal(data.x[[node]].toarray(), rows[[place]].toarray())
        assert data.y[node] == labels[place].argmax()


def test_citeseers_missing_test_nodes_have_neither_features_nor_label_nor_part(real):
    data = _load("citeseer", real)
    missing = np.flatnonzero(data.y == -1)
    assert missing.size == 15
    assert data.x[missing].nnz == 0
    assert (data.graph.degrees == 0).sum() == 48
    assert not np.isin(missing, np.concatenate([data.split.train, data.split.val, data.split.test])).any()
    assert data.split.test.min() == 2312
    assert data.split.test.max() == 3326


def test_pubmed_features_are_weights_not_counts(real):
    data = _load("pubmed", real)
    assert data.x.dtype == np.float32
    assert 0 < data.x.data.min() < data.x.data.max() < 2


def test_a_changed_file_is_named(tmp_path: Path, real):
    raw = tmp_path / "planetoid" / "Cora" / "raw"
    raw.mkdir(parents=True)
    for file in planetoid_files.CHECKSUMS["planetoid/Cora/raw"]:
        (raw / file).write_bytes((real("planetoid/Cora/raw") / file).read_bytes())
    with (raw / "ind.cora.ally").open("ab") as file:
        file.write(b"x")
    with pytest.raises(InputError, match=r"ind.cora.ally: sha256 differs from the published file"):
        load("cora", root=tmp_path)
