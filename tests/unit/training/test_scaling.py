import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

import mggcn
from mggcn.data._dataset import Dataset
from mggcn.errors import InputWarning
from mggcn.graph import Graph
from mggcn.kernels import threads
from mggcn.training import _scaling as scaling
from mggcn.training._scaling import Scaled, Scaler


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_sum_to_one_and_empty_rows_stay(sparse: bool) -> None:
    x = np.array([[1, 3], [0, 0], [2, 0]], np.float32)
    scaled = Scaler("row").apply(csr_array(x) if sparse else x)
    dense = scaled.toarray() if sparse else scaled
    assert dense.tolist() == [[0.25, 0.75], [0, 0], [1, 0]]
    assert dense.dtype == np.float32


@pytest.mark.parametrize("sparse", [False, True])
def test_standard_is_fitted_on_training_nodes_only(small: Dataset, sparse: bool) -> None:
    x = small.x * 3 + 100
    x[:, 2] = 5
    data = replace(small, x=csr_array(x) if sparse else x)
    scaled = Scaler.fit("standard", data).apply(data.x)
    train = scaled[small.split.train].astype(np.float64)
    np.testing.assert_allclose(train.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(train.std(axis=0)[:2], 1, atol=1e-4)
    assert abs(scaled[small.split.test].mean(axis=0)).max() > 1e-3
    assert np.all(scaled[:, 2] == 0), "a constant column has no deviation to divide by"


@pytest.mark.parametrize("sparse", [False, True])
def test_nodes_of_other_types_count_as_training_nodes(small: Dataset, sparse: bool) -> None:
    x = np.vstack([np.hstack([small.x, np.zeros_like(small.x)]), np.hstack([np.zeros((5, 3)), small.x[:5] + 7])])
    graph = Graph.from_edges(*small.graph.edges(), small.num_nodes + 5)
    y = np.append(small.y, np.full(5, -1))
    features = either(x.astype(np.float32), sparse=sparse)
    data = Dataset("two", graph, features, y, small.classes, small.split, others=5)
    assert not warned(data)
    fitted = np.append(small.split.train, np.arange(small.num_nodes, small.num_nodes + 5))
    scaled = Scaler.fit("standard", data).apply(data.x)[fitted].astype(np.float64)
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(scaled.std(axis=0), 1, atol=1e-4)
    only_targets = replace(small, x=either(small.x, sparse=sparse))
    assert data.is_sparse == only_targets.is_sparse


@pytest.mark.parametrize("sparse", [False, True])
def test_features_that_are_constant_in_training_are_named_and_cannot_mislead(
    small: Dataset, tmp_path: Path, sparse: bool
) -> None:
    others = np.setdiff1d(np.arange(small.num_nodes), small.split.train)
    x = np.hstack([small.x, np.zeros((small.num_nodes, 1), np.float32), np.full((small.num_nodes, 2), 3, np.float32)])
    x[others, 3] = x[others[0], 4] = 47182
    data = replace(small, x=either(x, sparse=sparse), feature_names=("a", "b", "c", "empty", "constant", "always 3"))
    with pytest.warns(InputWarning, match="small: features with one value .* not used: empty, constant$"):
        scaler = Scaler.fit("standard", data)
    assert np.all(scaler.apply(data.x)[:, 3:] == 0)
    with pytest.warns(InputWarning, match="empty, constant"):
        run = mggcn.fit(data, settings={"scaling": "standard", "epochs": 20}, device="cpu")
    assert run.record.test_accuracy > 0.6
    loaded = mggcn.load_run(run.save(tmp_path / "run").path)
    assert np.array_equal(loaded.predict(data).probabilities, run.predict().probabilities)
    assert np.isfinite(loaded.explain(node=1, dataset=data).target).all()
    assert [*map(str, warned(replace(data, feature_names=())))] == [
        "small: features with one value on all training nodes are not used: 3, 4"
    ]
    assert not warned(replace(small, x=either(np.delete(x, [3, 4], axis=1), sparse=sparse)))


def warned(data: Dataset) -> list[Warning | str]:
    with warnings.catch_warnings(record=True, action="always") as given:
        Scaler.fit("standard", data)
    return [warning.message for warning in given]


def test_the_scaling_does_not_depend_on_the_number_of_threads(small: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    results = []
    for count in (1, 3):
        monkeypatch.setattr(threads, "available", lambda count=count: count)
        scaler = Scaler.fit("standard", small, sum_rows=7)
        results.append((scaler.digest, scaler.apply(small.x, chunk=7).tobytes()))
    assert results[0] == results[1]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", ["standard", "row", "tfidf", "none"])
def test_rows_on_a_device_are_those_in_memory(small: Dataset, kind: scaling.Scaling, sparse: bool) -> None:
    data = replace(small, x=csr_array(small.x) if sparse else small.x)
    scaled = Scaled(data.x, Scaler.fit(kind, data))
    whole = scaled.whole if isinstance(scaled.whole, np.ndarray) else scaled.whole.toarray()
    assert np.array_equal(scaled.on(torch.device("cpu")).numpy(), whole)
    assert scaled.on(torch.device("cpu")) is scaled.on(torch.device("cpu"))


def test_auto_follows_the_share_of_zeros_and_not_the_storage(small: Dataset) -> None:
    zeros = np.where(small.x > np.quantile(small.x, 0.6), small.x, 0)
    for x, kind in ((small.x, "standard"), (zeros, "row")):
        assert {Scaler.fit("auto", replace(small, x=form)).kind for form in (x, csr_array(x))} == {kind}
    assert Scaler.fit("none", small).apply(small.x) is small.x


def either(x: np.ndarray, *, sparse: bool) -> np.ndarray | csr_array:
    return csr_array(x) if sparse else x


def dense(x: np.ndarray | csr_array) -> np.ndarray:
    return x if isinstance(x, np.ndarray) else x.toarray()


@pytest.mark.parametrize("sparse", [False, True])
def test_roots_of_rows_that_sum_to_one(sparse: bool) -> None:
    x = np.array([[1, 3], [0, 0], [2, 0], [-9, 16]], np.float32)
    before = x.copy()
    scaled = Scaler("root").apply(either(x, sparse=sparse))
    assert isinstance(scaled, csr_array) == sparse
    assert scaled.dtype == np.float32
    np.testing.assert_allclose(dense(scaled), [[0.5, np.sqrt(0.75)], [0, 0], [1, 0], [-0.6, 0.8]], atol=1e-7)
    assert np.array_equal(x, before)


def words(small: Dataset) -> np.ndarray:
    """Counts of words: one occurs everywhere, one nowhere, the others now and then."""
    rng = np.random.default_rng(4)
    x = rng.poisson(0.4, (small.num_nodes, 7)).astype(np.float32)
    x[:, 0], x[:, 1] = 2, 0
    x[small.split.test[0]] = 0
    return x


@pytest.mark.parametrize("sparse", [False, True])
def test_tfidf_weighs_the_words_that_few_training_nodes_have(small: Dataset, sparse: bool) -> None:
    x, train = words(small), small.split.train
    scaler = Scaler.fit("tfidf", replace(small, x=either(x, sparse=sparse)))
    counts = [sum(x[node, column] > 0 for node in train) for column in range(7)]
    idf = [np.log((1 + train.size) / (1 + count)) + 1 for count in counts]
    np.testing.assert_allclose(scaler.idf, idf, rtol=1e-6)
    assert scaler.idf[0] == 1
    assert scaler.idf[1] == scaler.idf.max()
    expected = x * np.array(idf)
    length = np.sqrt((expected**2).sum(axis=1, keepdims=True))
    expected = np.divide(expected, length, out=np.zeros_like(expected), where=length > 0)
    scaled = scaler.apply(either(x, sparse=sparse))
    assert isinstance(scaled, csr_array) == sparse
    assert scaled.dtype == np.float32
    np.testing.assert_allclose(dense(scaled), expected, atol=1e-6)


def test_tfidf_is_fitted_on_training_nodes_only(small: Dataset) -> None:
    x = words(small)
    changed = x.copy()
    changed[np.concatenate([small.split.val, small.split.test])] = 1
    assert np.array_equal(
        Scaler.fit("tfidf", replace(small, x=x)).idf, Scaler.fit("tfidf", replace(small, x=changed)).idf
    )


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("scaling", ["root", "tfidf"])
def test_a_saved_run_scales_new_graphs_as_in_training(
    small: Dataset, tmp_path: Path, scaling: str, sparse: bool
) -> None:
    data = replace(small, x=either(words(small), sparse=sparse))
    run = mggcn.fit(data, "mlp", settings={"scaling": scaling, "epochs": 3}, device="cpu").save(tmp_path / "run")
    loaded = mggcn.load_run(run.path)
    assert loaded.scaler.kind == run.record.settings["scaling"] == scaling
    assert (loaded.scaler.idf is None) == (scaling == "root")
    new = replace(data, name="new", x=data.x[:, [0, 2, 1, 3, 4, 5, 6]], split=None)
    found = loaded.predict(new, calibrated=False, device="cpu").probabilities
    rows = torch.from_numpy(dense(run.scaler.apply(new.x)))
    with torch.no_grad():
        expected = torch.softmax(run.model.eval()(rows, ()).double(), dim=1).numpy()
    np.testing.assert_allclose(found, expected, atol=1e-6)
