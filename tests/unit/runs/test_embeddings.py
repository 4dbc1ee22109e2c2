"""Hidden representations: what the last layer multiplies, for every method, under the user's ids."""

import csv
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional

import mggcn
from mggcn.cli import main
from mggcn.data import save
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from tests.properties import last_layer

WITHOUT = ("label-propagation", "random-forest", "lightgbm")


@pytest.mark.parametrize("settings", [{"layers": 3}, {"layers": 1}, {"skip": False}, {"fine": False}, {"conv": "lstm"}])
def test_other_settings_of_mg_gcn(small: Dataset, settings: dict[str, object]) -> None:
    run = mggcn.fit(small, device="cpu", settings={"epochs": 2, **settings}, preset="paper")
    if settings == {"layers": 1}:
        assert run.embed(nodes=[5]).values.shape == (1, 6), "the rows of the fine layer"
        return
    weight, bias = last_layer(run.model)
    scores = torch.from_numpy(run.embed(nodes=[5, 7], device="cpu").values) @ weight
    scores = scores if bias is None else scores + bias
    expected = run.predict(nodes=[5, 7], calibrated=False, device="cpu").probabilities
    np.testing.assert_allclose(torch.softmax(scores, dim=1).detach().numpy(), expected, rtol=1e-4)


def test_a_last_layer_that_does_not_say_gives_the_targets_row(small: Dataset) -> None:
    run = mggcn.fit(small, device="cpu", settings={"epochs": 2, "conv": "gat", "hidden": 8})
    view = run.inference(small, torch.device("cpu")).view
    rows = view.inputs.gather(torch.tensor([5, 7]), torch.empty(2, 6))
    expected = functional.leaky_relu(run.model.first(rows), 0.01)
    np.testing.assert_allclose(run.embed(nodes=[5, 7]).values, expected.detach().numpy(), rtol=1e-5)


def test_draws_are_averaged(small: Dataset) -> None:
    run = mggcn.fit(small, device="cpu", settings={"epochs": 2, "picks": 2})
    once, twice = (run.embed(draws=draws, device="cpu").values for draws in (1, 2))
    view = run.inference(small, torch.device("cpu")).view
    (batch,) = view.sampler.batches(np.arange(60), run.key.fold("eval", 1), 60)
    second = run.model.hidden(view.rows(run.model, batch), batch.blocks).detach().numpy()
    assert np.abs(second - once).max() > 1e-2
    np.testing.assert_allclose(twice, (once + second) / 2, rtol=1e-5, atol=1e-6)
    with pytest.raises(InputError, match="draws: 0 is less than 1"):
        run.embed(draws=0)


@pytest.mark.parametrize("method", WITHOUT)
def test_methods_without_a_hidden_layer(small: Dataset, method: str) -> None:
    with pytest.raises(InputError, match=f"{method}: its model has no hidden representations"):
        mggcn.fit(small, method, device="cpu").embed()


def test_nodes_are_named_by_numbers_masks_or_ids(small: Dataset) -> None:
    run = mggcn.fit(small, device="cpu", settings={"epochs": 2})
    expected = run.embed(nodes=[5, 58])
    named = run.embed(ids=["node-5", "node-58"])
    assert named.nodes.tolist() == [5, 58]
    assert np.array_equal(named.values, expected.values)
    assert np.array_equal(run.embed(nodes=np.isin(np.arange(60), [5, 58])).values, expected.values)
    scored = run.predict(ids=np.array(["node-58", "node-5"]))
    assert scored.ids.tolist() == ["node-58", "node-5"]
    numbered = replace(small, node_ids=np.arange(60) + 1000)
    assert run.predict(numbered, ids=[1005]).nodes.tolist() == [5]
    assert run.predict(replace(small, node_ids=None), ids=[5]).nodes.tolist() == [5]
    with pytest.raises(InputError, match="small: no node has the id 'node-60'"):
        run.embed(ids=["node-60"])
    with pytest.raises(InputError, match="small: nodes and ids both name nodes; give one of them"):
        run.predict(nodes=[5], ids=["node-5"])
    with pytest.raises(InputError, match="small: ids: must be a list of ids, not the text 'node-5'"):
        run.predict(ids="node-5")
    with pytest.raises(InputError, match="small: no nodes to predict"):
        run.predict(ids=[])
    with pytest.raises(InputError, match="small: nodes: 60 values of 0 and 1 are a mask of integers; give a boolean"):
        run.predict(nodes=np.isin(np.arange(60), [5, 58]).astype(np.int64))
    assert run.predict(nodes=[1, 0, 1]).nodes.tolist() == [1, 0, 1], "a node may be asked for more than once"


def test_data_frames_have_the_users_ids(small: Dataset) -> None:
    run = mggcn.fit(replace(small, id_name="address"), device="cpu", settings={"epochs": 2, "hidden": 16})
    predictions, embeddings = run.predict(nodes=[5, 7]), run.embed(nodes=[5, 7])
    frame = predictions.to_pandas()
    assert (frame.index.name, frame.index.tolist()) == ("address", ["node-5", "node-7"])
    assert frame.columns.tolist() == [
        "class",
        "part",
        "p_red",
        "p_green",
        "p_blue",
        "label",
        "position_in_class",
        "model",
        "data",
        "scored_at",
    ]
    assert frame.loc["node-7", "class"] == predictions.labels[1]
    assert np.array_equal(frame.iloc[:, 2:5].to_numpy(float), predictions.probabilities)
    frame = embeddings.to_pandas()
    assert (frame.index.name, frame.columns[0], frame.columns[-1]) == ("address", "h0", "h31")
    assert np.array_equal(frame.to_numpy(), embeddings.values)


def test_data_frames_need_pandas(small: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    run = mggcn.fit(small, device="cpu", settings={"epochs": 1})
    monkeypatch.setitem(sys.modules, "pandas", None)
    for table in (run.predict(nodes=[5]), run.embed(nodes=[5])):
        with pytest.raises(InputError, match=r"this needs pandas: pip install 'mggcn\[pandas\]'"):
            table.to_pandas()


def test_predict_writes_embeddings(
    small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    data = save(small, tmp_path / "data")
    run = mggcn.fit(data, device="cpu", settings={"epochs": 2, "hidden": 16}).save("run")
    expected = run.embed(device="cpu")
    for name in ("h.csv", "h.npy", "h.parquet"):
        assert main(["predict", "run", "--embeddings", name, "--device", "cpu"]) == 0
        assert capsys.readouterr().out == f"embeddings of 60 nodes in {name}, 32 channels\n"
    assert np.array_equal(np.load("h.npy"), expected.values)
    with Path("h.csv").open() as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["id", *(f"h{channel}" for channel in range(32))]
    assert [row[0] for row in rows[1:]] == small.node_ids.tolist()
    assert np.array_equal(np.array([row[1:] for row in rows[1:]], np.float32), expected.values)
    from pyarrow import parquet

    table = parquet.read_table("h.parquet")
    assert table.column("id").to_pylist() == small.node_ids.tolist()
    assert np.array_equal(table.column("h3").to_numpy(), expected.values[:, 3])
    assert main(["predict", "run", "--embeddings", "h.txt"]) == 2
    message = "h.txt: embeddings are written as .csv, .jsonl, .parquet or .npy, not .txt"
    assert capsys.readouterr().err == f"mggcn: error: {message}\n"
    assert main(["predict", "run"]) == 2
    assert "name a file to write (--out, --embeddings)" in capsys.readouterr().err
