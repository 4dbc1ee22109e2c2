import csv
import json
import re
import shutil
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

import mggcn
from mggcn import data as datasets
from mggcn.data import save
from mggcn.data._dataset import Dataset
from mggcn.data._split import Split
from mggcn.errors import DataWarning, InputError
from mggcn.graph import Graph
from mggcn.methods.mg_gcn import MixGrained
from mggcn.nn.conv import MeanConv
from mggcn.runs._plan import read_config
from mggcn.training._compute import choose_device
from tests import checksums

ALONE = {"portfolio": "none"}
NEWER = {"input_dropout": 0, "label_smoothing": 0, "consistency": 0, "averaging": 0, "draws": 1}


@pytest.fixture
def stored(small: Dataset, tmp_path: Path) -> Dataset:
    return save(small, tmp_path / "data")


@pytest.fixture
def run(stored: Dataset, tmp_path: Path) -> mggcn.Run:
    return mggcn.fit(stored, seed=2, settings=ALONE | {"epochs": 20}).save(tmp_path / "run")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that tests copy and damage."""
    source = Graph.from_edges([0, 1, 2], [1, 2, 3], 6)
    split = Split.of([0, 1], [2, 3], [4, 5])
    data = Dataset("tiny", source, np.eye(6, 3, dtype=np.float32), np.arange(6) % 2, ("red", "green"), split)
    folder = tmp_path_factory.mktemp("trained") / "run"
    mggcn.fit(data, settings=ALONE | {"epochs": 1}).save(folder)
    return folder


@pytest.fixture
def folder(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "run"))


def test_the_folder_holds_record_weights_and_config(run: mggcn.Run) -> None:
    assert sorted(p.name for p in run.path.iterdir()) == [
        "config.toml",
        "record.json",
        "split.npz",
        "weights.safetensors",
    ]
    record = json.loads((run.path / "record.json").read_text())
    assert record["settings"]["scaling"] == "standard", "settings are resolved"
    assert len(record["curve"]) == record["epochs"] == 20
    assert record["environment"]["packages"]["torch"] == torch.__version__.partition("+")[0] or "+" in torch.__version__
    assert record["peak_memory_bytes"] > 1 << 20
    assert record["total_seconds"] > record["prepare_seconds"] > 0
    assert mggcn.load_run(run.path).record == run.record


def test_training_nodes_of_one_class_are_a_warning(small: Dataset) -> None:
    same = replace(small, y=np.ones_like(small.y), notes=("a note",))
    note = "all training nodes are of class 'green': accuracy says nothing"
    with pytest.warns(DataWarning, match=f"small: {note}") as caught:
        run = mggcn.fit(same, settings={"epochs": 2})
    assert [warning.filename for warning in caught] == [__file__]
    assert run.record.dataset["notes"] == ["a note", note]
    assert "notes" not in mggcn.fit(small, settings={"epochs": 1}).record.dataset


def test_the_config_reproduces_the_run_bit_for_bit(run: mggcn.Run, tmp_path: Path) -> None:
    config = read_config(run.path / "config.toml")
    data = mggcn.load(config.dataset)
    again = mggcn.fit(data, config.method, seed=config.seed, device=config.device, settings=config.settings).save(
        tmp_path / "again"
    )
    assert (again.path / "weights.safetensors").read_bytes() == (run.path / "weights.safetensors").read_bytes()
    assert (again.path / "config.toml").read_bytes() == (run.path / "config.toml").read_bytes()


def test_the_config_of_our_recipe_names_every_setting(stored: Dataset, tmp_path: Path) -> None:
    run = mggcn.fit(stored, settings=ALONE | {"epochs": 3}, device="cpu").save(tmp_path / "ours")
    config = read_config(run.path / "config.toml")
    assert config.settings == run.record.settings
    for preset in ("default", "paper"):
        again = mggcn.fit(stored, settings=config.settings, preset=preset, device="cpu")
        assert again.plan.settings == run.plan.settings | {"scaling": "standard"}
        for name, weight in run.model.state_dict().items():
            assert torch.equal(weight, again.model.state_dict()[name])


def test_a_record_of_an_older_version_has_neutral_newer_settings(small: Dataset, tmp_path: Path) -> None:
    data = replace(small, name="cora")
    run = mggcn.fit(data, settings={"epochs": 3}, preset="paper", device="cpu").save(tmp_path / "old")
    path, newer = run.path / "record.json", ("hops", "fine_norm", *NEWER)
    record = checksums.values_of(path)
    for name in newer:
        del record["settings"][name]
    checksums.write(path, record)
    loaded = mggcn.load_run(run.path)
    assert {name: loaded.plan.settings[name] for name in newer} == {"hops": 1, "fine_norm": "mean", **NEWER}
    assert loaded.plan.settings == run.plan.settings
    assert np.array_equal(loaded.predict(data, device="cpu").probabilities, run.predict(device="cpu").probabilities)


def test_a_loaded_run_predicts_the_same(run: mggcn.Run) -> None:
    before = run.predict(nodes=[5, 0, 59], draws=2)
    after = mggcn.load_run(run.path).predict(nodes=[5, 0, 59], draws=2)
    assert np.array_equal(before.probabilities, after.probabilities)
    assert after.ids.tolist() == ["node-5", "node-0", "node-59"]
    assert after.classes == ("red", "green", "blue")


def test_predictions_reach_the_recorded_accuracy(run: mggcn.Run, stored: Dataset) -> None:
    predictions = run.predict(nodes=stored.split.test)
    assert (predictions.class_index == stored.y[stored.split.test]).mean() == run.record.test_accuracy


def test_the_record_says_which_test_nodes_were_right(run: mggcn.Run, stored: Dataset) -> None:
    test = stored.require_split().test
    expected = run.predict(nodes=test).class_index == stored.y[test]
    for record in (run.record, mggcn.load_run(run.path).record):
        assert record.right is not None
        np.testing.assert_array_equal(record.right, expected)
    assert 0 < expected.sum() < test.size
    assert replace(run.record, test_right=None).right is None


def test_a_new_graph_is_scored_with_the_old_scaling(run: mggcn.Run, stored: Dataset) -> None:
    """A relabelled copy plus new nodes: old nodes whose neighbourhood is all there keep their class."""
    n = stored.num_nodes
    order = np.random.default_rng(0).permutation(n)
    position = np.argsort(order)
    source, target = stored.graph.edges()
    graph = Graph.from_edges(position[source], position[target], n + 5)
    x = np.concatenate([stored.x[order], np.zeros((5, 3), np.float32)])
    ids = np.array([*stored.ids_of(order), *(f"new-{i}" for i in range(5))])
    new = Dataset("new", graph, x, np.full(n + 5, -1), (), None, ids)
    old, scored = run.predict(draws=30), mggcn.load_run(run.path).predict(new, draws=30)
    by_id = dict(zip(scored.ids.tolist(), scored.probabilities, strict=True))
    again = np.array([by_id[i] for i in old.ids.tolist()])
    assert scored.ids[-1] == "new-4"
    assert np.isfinite(scored.probabilities).all()
    assert abs(again - old.probabilities).mean() < 0.05


def test_predictions_as_csv_and_parquet(run: mggcn.Run, tmp_path: Path) -> None:
    predictions = run.predict(nodes=[3, 4])
    predictions.save(tmp_path / "deep" / "p.csv")
    rows = list(csv.DictReader((tmp_path / "deep" / "p.csv").read_text().splitlines()))
    assert list(rows[0]) == [
        *("id", "class", "part", "p_red", "p_green", "p_blue"),
        *("label", "position_in_class", "model", "data", "scored_at"),
    ]
    assert [row["id"] for row in rows] == ["node-3", "node-4"]
    assert float(rows[0][f"p_{rows[0]['class']}"]) == predictions.probabilities[0].max()
    predictions.save(tmp_path / "p.parquet")
    from pyarrow import parquet

    table = parquet.read_table(tmp_path / "p.parquet").to_pydict()
    assert table["id"] == ["node-3", "node-4"]
    assert table["p_red"] == predictions.probabilities[:, 0].tolist()
    assert sorted(p.name for p in tmp_path.iterdir() if p.is_file()) == ["p.parquet"]


def test_predictions_of_other_kinds_are_refused(run: mggcn.Run, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"p\.xlsx: predictions are written as \.csv, \.jsonl or \.parquet"):
        run.predict(nodes=[0]).save(tmp_path / "p.xlsx")


def test_data_that_does_not_match(run: mggcn.Run, stored: Dataset) -> None:
    wide = replace(stored, x=np.ones((60, 4), np.float32))
    with pytest.raises(InputError, match="small: 4 features, but the run was trained on 3"):
        run.predict(wide)
    with pytest.raises(InputError, match="node 60 is out of range for 60 nodes"):
        run.predict(nodes=[60])
    with pytest.raises(InputError, match="no nodes to predict"):
        run.predict(nodes=[])


def test_nodes_are_numbers_or_a_mask(run: mggcn.Run) -> None:
    mask = np.zeros(60, bool)
    mask[[5, 7, 40]] = True
    expected = run.predict(nodes=[5, 7, 40], device="cpu")
    for nodes in (
        mask,
        torch.from_numpy(mask),
        mask.tolist(),
        np.array([5, 7, 40], np.uint8),
        torch.tensor([5, 7, 40]),
    ):
        scored = run.predict(nodes=nodes, device="cpu")
        assert scored.nodes.tolist() == [5, 7, 40]
        assert np.array_equal(scored.probabilities, expected.probabilities)
    assert run.predict(nodes=range(3, 6)).nodes.tolist() == [3, 4, 5]
    with pytest.raises(InputError, match="small: nodes: must be node numbers or a boolean mask, not float64"):
        run.predict(nodes=[1.9, 2.2])
    with pytest.raises(InputError, match="nodes: the mask has 59 entries, but the graph has 60 nodes"):
        run.predict(nodes=mask[:59])
    with pytest.raises(InputError, match="no nodes to predict"):
        run.predict(nodes=np.zeros(60, bool))


def test_data_that_changed_since(run: mggcn.Run, stored: Dataset) -> None:
    save(replace(stored, x=stored.x + 1), stored.path, overwrite=True)
    with pytest.raises(InputError, match="the data set changed since"):
        mggcn.load_run(run.path).predict()


def test_a_known_data_set_that_changed_is_named(
    stored: Dataset, run: mggcn.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datasets, "load", lambda *_, **__: replace(stored, x=stored.x + 1))
    described = run.record.dataset | {"path": None, "name": "cora"}
    known = replace(run, dataset=None, record=replace(run.record, dataset=described))
    with pytest.raises(InputError, match=r"^cora: not the data that .* was trained on; the data set changed since"):
        known.predict()


def test_bad_run_folders(run: mggcn.Run, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"record\.json is missing"):
        mggcn.load_run(tmp_path)
    whole = (run.path / "weights.safetensors").read_bytes()
    (run.path / "weights.safetensors").write_bytes(whole[:-40])
    with pytest.raises(InputError, match=r"weights\.safetensors: sha256 differs from record\.json"):
        mggcn.load_run(run.path)
    (run.path / "weights.safetensors").unlink()
    with pytest.raises(InputError, match=r"weights\.safetensors: missing, though record\.json lists it"):
        mggcn.load_run(run.path)
    (run.path / "weights.safetensors").write_bytes(whole[:-40])
    checksums.update_run(run.path)
    with pytest.raises(InputError, match=r"weights\.safetensors: cannot be read"):
        mggcn.load_run(run.path)
    (run.path / "record.json").write_text(json.dumps(asdict(run.record)))
    with pytest.raises(InputError, match=r"record\.json: not a run record \(.* checksum"):
        mggcn.load_run(run.path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model.first.weight": np.float32(np.nan)}, "holds a number that is not finite"),
        ({"model.first.weight": np.float64(1)}, "model.first.weight is torch.float64 ["),
        ({"scaler.mean": None}, "scaler.mean is missing, not torch.float32 [3]"),
        ({"scaler.mean": np.float32(np.inf)}, "scaler.mean holds a number that is not finite"),
        ({"scaler.deviation": np.ones(4, np.float32)}, "scaler.deviation is torch.float32 [4], not torch.float32 [3]"),
        ({"scaler.idf": np.ones(3, np.float32)}, "scaler.idf is torch.float32 [3], not missing"),
    ],
)
def test_weights_that_cannot_be_right_are_refused_whatever_their_checksum(
    run: mggcn.Run, changes: dict[str, object], message: str
) -> None:
    path = run.path / "weights.safetensors"
    tensors = load_file(path)
    for name, value in changes.items():
        old = tensors.pop(next((key for key in tensors if key == name), ""), None)
        if isinstance(value, np.ndarray):
            tensors[name] = value
        elif value is not None:
            tensors[name] = np.full(old.shape, value)
    save_file(tensors, path)
    checksums.update_run(run.path)
    with pytest.raises(InputError, match=re.escape(message)):
        mggcn.load_run(run.path)


def test_a_record_that_does_not_fit_the_weights(run: mggcn.Run) -> None:
    record = checksums.values_of(run.path / "record.json")
    record["settings"]["hidden"] = 99
    checksums.write(run.path / "record.json", record)
    with pytest.raises(InputError, match=r"weights\.safetensors: does not fit"):
        mggcn.load_run(run.path)
    (run.path / "record.json").write_text('{"a": 1}')
    with pytest.raises(InputError, match=r"record\.json: not a run record"):
        mggcn.load_run(run.path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dataset": {}}, "field 'dataset.name' is missing"),
        ({"dataset": None}, "field dataset: expected object, got null (None)"),
        ({"dataset.name": 3}, "field dataset.name: expected str, got int (3)"),
        ({"dataset.path": ...}, "field 'dataset.path' is missing"),
        ({"dataset.digest": ...}, "field 'dataset.digest' is missing"),
        ({"dataset.num_features": ...}, "field 'dataset.num_features' is missing"),
        ({"dataset.num_features": -3}, "field dataset.num_features: expected int >= 0 (-3)"),
        ({"dataset.num_features": "3"}, "field dataset.num_features: expected int | null, got str ('3')"),
        ({"dataset.num_features": None}, "field dataset.num_features: expected int, got null (None)"),
        ({"dataset.classes": ...}, "field 'dataset.classes' is missing"),
        ({"dataset.classes": []}, "field dataset.classes: expected array of length >= 1 ([])"),
        ({"dataset.classes": "abc"}, "field dataset.classes: expected array | null, got str ('abc')"),
        ({"settings": []}, "field settings: expected object, got array ([])"),
        ({"settings": {}}, "field 'settings.scaling' is missing"),
        ({"settings.hidden": []}, "hidden: [] is not a whole number"),
        ({"method": 3}, "field method: expected str, got int (3)"),
        ({"method": "mg"}, "unknown method 'mg'"),
        ({"seed": "x"}, "field seed: expected int, got str ('x')"),
        ({"temperature": None}, "field temperature: expected float, got null (None)"),
        ({"temperature": 0}, "field temperature: expected float > 0.0 (0.0)"),
    ],
)
def test_a_damaged_record_is_named(folder: Path, changes: dict[str, object], message: str) -> None:
    path = folder / "record.json"
    record = checksums.values_of(path)
    for path_of_field, value in changes.items():
        *outer, name = path_of_field.split(".")
        part = record[outer[0]] if outer else record
        part.pop(name)
        if value is not ...:
            part[name] = value
    checksums.write(path, record)
    with pytest.raises(InputError, match=re.escape(f"{path}: not a run record ({message}")):
        mggcn.load_run(folder)


def test_a_run_folder_is_never_overwritten(run: mggcn.Run) -> None:
    with pytest.raises(InputError, match="already exists"):
        run.save(run.path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seed = ", "not valid TOML"),
        ("sed = 1", "unknown field 'sed'"),
        ('"a\\nb" = 1', "unknown field 'a b'"),
        ("seed = 'a'", "field seed: expected int, got str \\('a'\\)"),
    ],
)
def test_bad_configs(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "c.toml").write_text(text)
    with pytest.raises(InputError, match=message):
        read_config(tmp_path / "c.toml")


def test_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto").type == choose_device("cpu").type == "cpu"
    with pytest.raises(InputError, match="cuda is not available, there is no usable GPU"):
        choose_device("cuda")
    with pytest.raises(InputError, match="device: 'tpu'"):
        choose_device("tpu")


def test_pyg_data_as_it_is(small: Dataset) -> None:
    data = small.to_pyg()
    run = mggcn.fit(data, seed=2, settings={"epochs": 3})
    same = mggcn.fit(Dataset.from_pyg(data), seed=2, settings={"epochs": 3})
    assert run.record.dataset == same.record.dataset
    assert run.dataset.ids_of([0]).tolist() == ["node-0"]
    assert np.array_equal(run.predict(data).probabilities, same.predict().probabilities)
    data.edge_attr = torch.ones(data.num_edges, 2)
    for call in (lambda: mggcn.fit(data, settings={"epochs": 1}), lambda: run.predict(data)):
        with pytest.warns(DataWarning, match="pyg: edge attributes are not used") as caught:
            call()
        assert [warning.filename for warning in caught] == [__file__]


def test_arguments_of_the_wrong_type_say_what_to_do(small: Dataset, run: mggcn.Run) -> None:
    with pytest.raises(
        InputError, match=r"^fit takes a Dataset or PyG's Data, not 'digits': use mggcn.load\('digits'\)"
    ):
        mggcn.fit("digits")
    with pytest.raises(InputError, match=r"^predict takes a Dataset or PyG's Data, not 'digits'"):
        run.predict("digits")
    for module in (torch.nn.Linear(3, 3), torch.nn.Linear):
        with pytest.raises(InputError, match=r"^method: Linear is a module, not a Method; .*PyGConv\(Linear\(i, o\)\)"):
            mggcn.fit(small, module)
    with pytest.raises(InputError, match=r"^training: must be a Training, not dict; single settings go in settings"):
        mggcn.fit(small, training={"epochs": 1})


def mean_of(in_channels: int, out_channels: int) -> MeanConv:
    return MeanConv(in_channels, out_channels)


def test_a_run_that_could_not_be_loaded_is_not_saved(stored: Dataset, tmp_path: Path) -> None:
    class Local(MixGrained):
        pass

    training = mggcn.Training(epochs=1)
    for method, message in (
        (MixGrained(conv=lambda i, o: MeanConv(i, o)), "conv: tests.unit.runs.test_run:.*<lambda> cannot be imported"),
        (MixGrained(conv=partial(mean_of)), "conv: functools:partial cannot be imported"),
        (Local(), "method: tests.unit.runs.test_run:.*Local cannot be imported"),
    ):
        run = mggcn.fit(stored, method, training=training, device="cpu")
        with pytest.raises(InputError, match=f"^{message}, so a saved run could not be loaded"):
            run.save(tmp_path / "lost")
        with pytest.raises(InputError, match=f"^{message}"):
            mggcn.fit(stored, method, training=training, device="cpu", checkpoint=tmp_path / "lost")
        assert not (tmp_path / "lost").exists()
    run = mggcn.fit(stored, MixGrained(conv=mean_of), training=training, device="cpu").save(tmp_path / "kept")
    loaded = mggcn.load_run(run.path, allow_import=True)
    assert np.array_equal(loaded.predict(stored).probabilities, run.predict(stored).probabilities)
