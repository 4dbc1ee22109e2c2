"""Only what the name of a data set says tells the class: a linear model of anything else has chance accuracy."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from mggcn.data import load, load_folder, save
from mggcn.data._dataset import Dataset
from mggcn.graph import Graph

NAMES = {"direction-labels": "direction", "weight-labels": "none", "type-labels": "type"}


def mean(graph: Graph, x: np.ndarray, *, relations: tuple[int, ...] | None = None) -> np.ndarray:
    matrix = graph.matrix(relations)
    return (matrix @ x) / np.maximum(matrix.sum(axis=1), 1e-9)[:, None]


def accuracy(data: Dataset, columns: list[np.ndarray]) -> float:
    features, train, test = np.column_stack([data.x, *columns]), data.split.train, data.split.test
    model = LogisticRegression(max_iter=1000).fit(features[train], data.y[train])
    return float(model.score(features[test], data.y[test]))


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", NAMES)
def test_a_mean_for_each_relation_tells_the_class_and_a_plain_one_does_not(name: str, seed: int) -> None:
    data = load(name, seed=seed)
    plain = Graph.from_edges(*data.graph.edges(), data.num_nodes)
    hops = [mean(plain, data.x), mean(plain, mean(plain, data.x)), np.log1p(plain.degrees)[:, None]]
    assert 0.43 < accuracy(data, hops) < 0.57
    groups = data.graph.schema.groups(NAMES[name]).values()
    assert accuracy(data, [mean(data.graph, data.x, relations=numbers) for numbers in groups]) > 0.97


@pytest.mark.parametrize("name", NAMES)
def test_numbers_and_weights_of_edges_do_not_tell_the_class(name: str) -> None:
    data = load(name)
    numbers = range(len(data.graph.schema.relations))
    sums = [data.graph.matrix([number]).sum(axis=1) for number in numbers]
    counts = [(data.graph.matrix([number]) != 0).sum(axis=1) for number in numbers]
    assert 0.43 < accuracy(data, [*sums, *counts]) < 0.57


@pytest.mark.parametrize("name", NAMES)
def test_sizes_and_what_is_known_of_edges(name: str, tmp_path: Path) -> None:
    data = load(name)
    assert data.num_nodes == 4000
    assert np.bincount(data.y).tolist() == [2000, 2000]
    assert [part.size for part in data.split.parts().values()] == [2400, 800, 800]
    schema = data.graph.schema
    assert (schema.directed, schema.weighted, schema.types) == {
        "direction-labels": (True, False, ()),
        "weight-labels": (False, True, ()),
        "type-labels": (False, False, ("a", "b")),
    }[name]
    save(data, tmp_path / "d")
    assert (
        load_folder(tmp_path / "d", mmap=True).digest == data.digest == load(name).digest != load(name, seed=1).digest
    )
