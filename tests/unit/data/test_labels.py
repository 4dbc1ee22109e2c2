"""What is no label and what are no classes, the same for every way in."""

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from mggcn.data._dataset import Dataset
from mggcn.data._npz import read_npz
from mggcn.data._tables import read_tables
from mggcn.errors import DataWarning, InputError

torch = pytest.importorskip("torch")
pytest.importorskip("duckdb")
Data = pytest.importorskip("torch_geometric").data.Data

Way = Callable[[Path, Sequence[Any]], Dataset]


def _tables(folder: Path, labels: Sequence[Any]) -> tuple[Path, Path]:
    with (folder / "nodes.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["id", "label"], *([number, label] for number, label in enumerate(labels))])
    (folder / "edges.csv").write_text("source,target\n0,1\n")
    return folder / "edges.csv", folder / "nodes.csv"


def _json(folder: Path, labels: Sequence[Any]) -> tuple[Path, Path]:
    rows = [json.dumps({"id": number, "label": label}) for number, label in enumerate(labels)]
    (folder / "nodes.jsonl").write_text("\n".join(rows))
    (folder / "edges.csv").write_text("source,target\n0,1\n")
    return folder / "edges.csv", folder / "nodes.jsonl"


def _in_memory(folder: Path, labels: Sequence[Any]) -> Dataset:
    return read_tables(*_tables(folder, labels))


def _streamed(folder: Path, labels: Sequence[Any]) -> Dataset:
    return read_tables(*_tables(folder, labels), out=folder / "out", memory="500MB")


def _pandas(_: Path, labels: Sequence[Any]) -> Dataset:
    nodes = pd.DataFrame({"id": range(len(labels)), "label": pd.Series(labels, dtype=object)})
    return Dataset.from_pandas(pd.DataFrame({"source": [0], "target": [1]}), nodes)


def _networkx(_: Path, labels: Sequence[Any]) -> Dataset:
    graph = networkx.Graph([(0, 1)])
    graph.add_nodes_from((number, {"label": label}) for number, label in enumerate(labels))
    return Dataset.from_networkx(graph)


def _npz(folder: Path, labels: Sequence[Any]) -> Dataset:
    edges = np.array([[0], [1]])
    np.savez(folder / "a.npz", num_nodes=len(labels), edge_index=edges, x=np.ones((len(labels), 1)), y=labels)
    return read_npz(folder / "a.npz")


def _scipy(_: Path, labels: Sequence[Any]) -> Dataset:
    adjacency = scipy.sparse.coo_array((np.ones(1), ([0], [1])), shape=(len(labels),) * 2)
    return Dataset.from_scipy(adjacency, np.ones((len(labels), 1)), labels, direction="both")


def _pyg(_: Path, labels: Sequence[Any]) -> Dataset:
    edges = torch.tensor([[0], [1]])
    return Dataset.from_pyg(
        Data(x=torch.ones(len(labels), 1), edge_index=edges, y=torch.tensor(labels)), direction="both"
    )


TABLES = [_in_memory, _streamed, _pandas, _networkx]
ARRAYS = [_npz, _scipy, _pyg]


@pytest.mark.parametrize("way", TABLES)
def test_texts_for_an_empty_cell_are_no_label(way: Way, tmp_path: Path) -> None:
    labels = ["a", "NA", "b", "nan", "", "null", "None", "NA", *"ab" * 5, " ", "none"]
    with pytest.warns(DataWarning, match="read as no label: 'NA' ") as caught:
        data = way(tmp_path, labels)
    assert [warning.filename for warning in caught] == [__file__]
    assert data.classes == ("a", "b", "none")
    assert np.flatnonzero(data.y == -1).tolist() == [1, 3, 4, 5, 6, 7, 18]
    listed = "'NA' (2), 'nan' (1), 'null' (1), 'None' (1)"
    assert f"read as no label: {listed}; if it is a class, give it another name" in data.notes


def test_missing_values_of_python_are_no_label(tmp_path: Path) -> None:
    labels = [None, float("nan"), *[0, 1] * 5]
    for way in (_pandas, _networkx):
        data = way(tmp_path, labels)
        assert (data.classes, data.y[:2].tolist()) == (("0", "1"), [-1, -1])


@pytest.mark.parametrize("way", ARRAYS)
def test_minus_one_and_nan_are_counted(way: Way, tmp_path: Path) -> None:
    with pytest.warns(DataWarning, match="3 nodes have no label: their y is -1 or NaN") as caught:
        data = way(tmp_path, [-1.0, float("nan"), -1.0, *[0.0, 1.0] * 5])
    assert len(caught) == 1
    assert data.notes[0] == "3 nodes have no label: their y is -1 or NaN"
    assert data.y.tolist() == [-1, -1, -1, *[0, 1] * 5]


def test_with_a_split_nodes_of_no_part_need_no_label() -> None:
    masks = {f"{part}_mask": torch.arange(6) % 3 == number for number, part in enumerate(("train", "val", "test"))}
    ends = {"x": torch.ones(7, 1), "edge_index": torch.tensor([[0], [1]])}
    apart = {name: torch.cat([mask, torch.tensor([False])]) for name, mask in masks.items()}
    data = Dataset.from_pyg(Data(**ends, y=torch.tensor([0, 0, 0, 1, 1, 1, -1]), **apart), direction="both")
    assert data.notes == ()
    for number, part in enumerate(("train", "val", "test")):
        y = torch.tensor([0, 0, 0, 1, 1, 1, -1])
        y[number] = -1
        with pytest.raises(InputError, match=rf"split: {part} holds node {number}, which has no label \(its y is -1\)"):
            Dataset.from_pyg(Data(**ends, y=y, **apart), direction="both")


@pytest.mark.parametrize("way", TABLES)
@pytest.mark.parametrize("count", [4, 40])
def test_numbers_with_fractions_are_a_regression_target(way: Way, count: int, tmp_path: Path) -> None:
    message = (
        rf"label.*: {count} different numbers such as 0.37 in {count} labelled nodes look like a regression target"
    )
    with pytest.raises(InputError, match=message) as caught:
        way(tmp_path, [number + 0.37 for number in range(count)])
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("way", ARRAYS)
def test_an_array_with_fractions_is_a_regression_target(way: Way, tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"y of node 1 is 0\.25, not a whole number: it looks like a regression target"
    ):
        way(tmp_path, [0.0, 0.25, 1.0, 1.0])


@pytest.mark.parametrize("way", [*TABLES, *ARRAYS])
def test_values_that_hardly_repeat_are_no_classes(way: Way, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="120 different labels such as '0' in 121 labelled nodes look like ids, texts"):
        way(tmp_path, [0, *range(120)])


@pytest.mark.parametrize("way", TABLES)
def test_few_fractions_and_brackets_are_classes(way: Way, tmp_path: Path) -> None:
    for labels in (["0.5", "1.5"], ["(a, b)", "0.5", "[deleted]"]):
        (folder := tmp_path / str(len(labels))).mkdir()
        assert way(folder, labels * 5).classes == tuple(labels)


@pytest.mark.parametrize("way", TABLES)
def test_a_list_is_several_labels(way: Way, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"label.*\[0, 1\].* looks like several labels of one node") as caught:
        way(tmp_path, ["a", [0, 1], "b"])
    assert "\n" not in str(caught.value)


def test_a_list_in_json_is_several_labels(tmp_path: Path) -> None:
    edges, nodes = _json(tmp_path, [[0], [1], [0]])
    message = (
        r"nodes.jsonl: row 1: column 'label': \[0\] looks like several labels of one node, which are not supported"
    )
    with pytest.raises(InputError, match=message):
        read_tables(edges, nodes)
    with pytest.raises(InputError, match=message):
        read_tables(edges, nodes, out=tmp_path / "out", memory="500MB")


@pytest.mark.parametrize("way", ARRAYS)
def test_columns_of_labels_are_several_labels(way: Way, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"y: must have shape \[3\].*, not \[3, 2\]; several labels per node are not"):
        way(tmp_path, [[0, 1], [1, 0], [1, 1]])
