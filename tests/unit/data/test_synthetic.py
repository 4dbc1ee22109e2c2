from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from mggcn.data import _synthetic as synthetic
from mggcn.data import load
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError


@pytest.fixture(scope="module")
def reddit() -> Dataset:
    return synthetic.generate("reddit-like", 0.02, seed=0)


def _sizes(data: Dataset) -> list[int]:
    assert data.split is not None
    return [part.size for part in (data.split.train, data.split.val, data.split.test)]


def test_reddit_like_has_reddits_sizes_times_the_scale(reddit: Dataset):
    assert (reddit.num_nodes, reddit.graph.num_edges, reddit.num_features, reddit.num_classes) == (
        4659,
        232138,
        602,
        41,
    )
    assert _sizes(reddit) == [3048, 474, 1107]
    assert (reddit.name, reddit.inductive) == ("reddit-like", True)
    assert reddit.source == "synthetic: degree-corrected block model, scale 0.02, seed 0"
    assert np.bincount(reddit.y[reddit.split.train], minlength=41).min() > 10


def test_degrees_have_a_heavy_tail_and_no_node_is_alone(reddit: Dataset):
    degrees = reddit.graph.degrees
    assert degrees.min() >= 1
    assert degrees.max() > 4 * degrees.mean() > 5 * np.median(degrees)


def test_neighbours_tell_the_class_and_own_features_do_not(reddit: Dataset):
    graph, split = reddit.graph, reddit.split
    adjacency = csr_array((np.ones(graph.num_stored, np.float32), graph.indices, graph.indptr))
    means = (adjacency @ reddit.x) / graph.degrees[:, None]

    def nearest_centre(x: np.ndarray) -> float:
        centres = np.stack([x[split.train[reddit.y[split.train] == label]].mean(axis=0) for label in range(41)])
        score = x[split.test] @ centres.T - (centres**2).sum(axis=1) / 2
        return float(np.mean(score.argmax(axis=1) == reddit.y[split.test]))

    assert nearest_centre(reddit.x) < 0.6
    assert 0.85 < nearest_centre(means) < 0.97


def test_ethereum_like_labels_few_nodes():
    data = synthetic.generate("ethereum-like", 0.05, seed=1)
    assert (data.num_nodes, data.graph.num_edges, data.num_features) == (70111, 140751, 13)
    assert data.classes == ("Exchange", "Converter", "ICO", "Phish", "Mining", "Gambling")
    counts = np.bincount(data.y[data.y >= 0])
    assert counts.min() >= 5
    assert counts.sum() == 41
    assert sum(_sizes(data)) == 41
    assert not data.inductive


def test_the_full_ethereum_split_is_the_papers():
    labels = np.repeat(np.arange(6), [232, 211, 172, 110, 62, 29])
    split = synthetic._split(np.random.default_rng(0), labels, np.arange(816), np.array([572, 82, 162]) / 816)
    assert [part.size for part in (split.train, split.val, split.test)] == [572, 82, 162]
    assert np.abs(np.bincount(labels[split.train]) - 0.7 * np.bincount(labels)).max() <= 2


def test_the_seed_decides_everything():
    first, again, other = (synthetic.generate("reddit-like", 0.002, seed=seed) for seed in (7, 7, 8))
    assert np.array_equal(first.graph.indices, again.graph.indices)
    assert np.array_equal(first.x, again.x)
    assert np.array_equal(first.split.val, again.split.val)
    assert not np.array_equal(first.x, other.x)


def test_it_is_stored_once_and_read_from_there(tmp_path: Path):
    first = load("reddit-like:0.002", root=tmp_path, seed=3)
    assert first.path == tmp_path / "synthetic" / "reddit-like-0.002-3"
    written = {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in (first.path, *first.path.iterdir())}
    again = load("reddit-like:0.002", root=tmp_path, seed=3, mmap=True)
    assert all((path.stat().st_ino, path.stat().st_mtime_ns) == before for path, before in written.items())
    assert again.digest == first.digest != ""
    assert isinstance(again.x, np.memmap)


def test_a_read_only_root_sends_it_to_the_cache(tmp_path: Path, cache: Path):
    locked = tmp_path / "locked"
    locked.mkdir()
    locked.chmod(0o555)
    data = load("ethereum-like:0.001", root=locked, mmap=True)
    assert data.path == cache / "synthetic" / "ethereum-like-0.001-0"
    assert list(locked.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("reddit-like:big", "reddit-like:big: the scale is not a number"),
        ("reddit-like:", "reddit-like:: the scale is not a number"),
        ("reddit-like:-1", "reddit-like: scale -1 is not a positive number"),
        ("ethereum-like:nan", "ethereum-like: scale nan is not a positive number"),
        ("reddit-like:0.0001", "reddit-like: scale 0.0001 leaves 23 nodes; 410 are the fewest"),
    ],
)
def test_bad_scales_are_errors_and_leave_nothing(tmp_path: Path, name: str, message: str):
    with pytest.raises(InputError, match=message):
        load(name, root=tmp_path / "root")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
