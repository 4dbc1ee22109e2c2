import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from mggcn import graph
from mggcn._io import files
from mggcn.data import _writer, load_folder, save
from mggcn.data._dataset import Dataset
from mggcn.data._folder import read_array
from mggcn.errors import InputError
from tests import checksums


def assert_same(one: Dataset, other: Dataset) -> None:
    assert (one.name, one.classes, one.inductive, one.source) == (
        other.name,
        other.classes,
        other.inductive,
        other.source,
    )
    assert one.graph.direction == other.graph.direction
    assert np.array_equal(one.graph.indptr, other.graph.indptr)
    assert np.array_equal(one.graph.indices, other.graph.indices)
    assert np.array_equal(one.y, other.y)
    assert isinstance(one.x, np.ndarray) == isinstance(other.x, np.ndarray)
    if not isinstance(one.x, np.ndarray):
        assert (one.x != other.x).nnz == 0
    else:
        assert np.array_equal(one.x, other.x)
    if one.split is not None:
        assert [np.array_equal(getattr(one.split, p), getattr(other.split, p)) for p in ("train", "val", "test")] == [
            True
        ] * 3
    assert np.array_equal(one.ids_of(range(one.num_nodes)), other.ids_of(range(other.num_nodes)))


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("ids", ["text", "unicode", "numbers", "none"])
def test_round_trip(small: Dataset, tmp_path: Path, mmap: bool, sparse: bool, ids: str) -> None:
    node_ids = {
        "text": small.node_ids,
        "unicode": np.array([f"ñode {i}" for i in range(60)]),
        "numbers": np.arange(60) * 1000,
        "none": None,
    }
    data = replace(small, node_ids=node_ids[ids], x=csr_array(small.x) if sparse else small.x, source="made up")
    saved = save(data, tmp_path / "d")
    loaded = load_folder(tmp_path / "d", mmap=mmap)
    assert_same(data, loaded)
    assert loaded.digest == saved.digest != ""
    assert isinstance(loaded.graph.indices, np.memmap) == mmap


@pytest.mark.parametrize("mmap", [False, True])
def test_names_of_features_and_attributes_of_edges(small: Dataset, tmp_path: Path, mmap: bool) -> None:
    count = np.arange(small.graph.num_stored)
    names = tuple(f"feature {column}" for column in range(small.num_features))
    small = replace(small, notes=("a note", "another"))
    data = replace(small, feature_names=names, id_name="account", edge_attributes={"count": count, "value": count / 7})
    saved = save(data, tmp_path / "d")
    loaded = load_folder(tmp_path / "d", mmap=mmap)
    assert (loaded.feature_names, loaded.id_name) == (names, "account")
    assert loaded.notes == saved.notes == ("a note", "another")
    assert set(loaded.edge_attributes) == {"count", "value"}
    assert all(np.array_equal(loaded.edge_attributes[name], data.edge_attributes[name]) for name in ("count", "value"))
    assert all(isinstance(values, np.memmap) for values in loaded.edge_attributes.values())
    assert loaded.digest == saved.digest == data.digest != save(small, tmp_path / "plain").digest


RELATIONS = {
    "weights": {"weight": [2, 0.5, 3, 1]},
    "directed": {"direction": "directed"},
    "types": {"edge_type": [0, 1, 1, 0], "types": ("pays", "knows")},
    "one way": {"direction": "out", "weight": [2, 0.5, 3, 1], "edge_type": [0, 1, 1, 0], "types": ("pays", "knows")},
    "all": {"direction": "directed", "weight": [2, 0.5, 3, 1], "edge_type": [0, 1, 1, 0], "types": ("pays", "knows")},
}


def related(small: Dataset, kind: str) -> Dataset:
    """Edges 0 → 1 twice and 1 → 2 → 3, with what ``kind`` says is known of them."""
    return replace(small, graph=graph.Graph.from_edges([0, 0, 1, 2], [1, 1, 2, 3], small.num_nodes, **RELATIONS[kind]))


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("kind", RELATIONS)
def test_directions_weights_and_types_of_edges(small: Dataset, tmp_path: Path, mmap: bool, kind: str) -> None:
    data = related(small, kind)
    saved = save(data, tmp_path / "d")
    loaded = load_folder(tmp_path / "d", mmap=mmap)
    assert loaded.graph.schema == data.graph.schema
    assert loaded.graph.checksums == data.graph.checksums
    assert all(isinstance(array, np.memmap) == mmap for array in loaded.graph.arrays().values())
    assert loaded.digest == saved.digest == data.digest != save(small, tmp_path / "plain").digest
    assert checksums.values_of(tmp_path / "d" / "meta.json")["num_edges"] == data.graph.num_edges
    assert save(loaded, tmp_path / "again").digest == data.digest
    assert (tmp_path / "again" / "meta.json").read_bytes() == (tmp_path / "d" / "meta.json").read_bytes()


def test_names_of_types_of_edges_are_part_of_the_digest(small: Dataset) -> None:
    data = related(small, "types")
    assert data.digest != replace(data, graph=replace(data.graph, types=("pays", "likes"))).digest


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        ("weights", {"direction": "directed"}, "relations of a directed graph, or of several types, need numbers"),
        ("weights", {"edge_types": ["a", "b"]}, "relations of a directed graph, or of several types, need numbers"),
        ("types", {"edge_types": ["pays"]}, "relation 1 at position 1 is out of range for 1"),
        ("types", {"edge_types": ["pays", "pays"]}, "types: 'pays' occurs twice"),
        ("types", {"edge_types": [*map(str, range(256))]}, "256 types of edges, more than 255"),
        ("types", {"edge_types": "pays"}, "field edge_types: expected array, got str"),
        ("all", {"direction": "both", "edge_types": ["pays"]}, "relation 1 at position 0 is out of range for 1"),
    ],
)
def test_edited_relations_are_noticed(
    small: Dataset, tmp_path: Path, mmap: bool, kind: str, changes: dict, message: str
) -> None:
    save(related(small, kind), tmp_path / "d")
    edit_meta(tmp_path / "d", **changes)
    with pytest.raises(InputError, match=message):
        load_folder(tmp_path / "d", mmap=mmap)


@pytest.mark.parametrize("mmap", [False, True])
def test_a_plain_folder_with_edited_types_or_direction(small: Dataset, tmp_path: Path, mmap: bool) -> None:
    for number, changes in enumerate(({"direction": "directed"}, {"edge_types": ["a"]})):
        save(small, tmp_path / str(number))
        edit_meta(tmp_path / str(number), **changes)
        with pytest.raises(InputError, match="one with directions or types of edges needs relations"):
            load_folder(tmp_path / str(number), mmap=mmap)


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("relation_number", np.full(8, 9, np.uint16), "relation 9 at position 0 is out of range for 4"),
        ("relation_number", np.zeros(7, np.uint16), "relation numbers must be a vector of uint16 as long as"),
        ("relation_weight", np.ones(8), "relation weights must be a vector of float32 as long as"),
        ("relation_indices", np.full(8, 99, np.int32), "index 99 at position 0 is out of range for 60 nodes"),
        ("relation_indptr", np.array([0, 8]), "relations of 1 nodes, not of 60"),
    ],
)
def test_mapped_relations_are_checked(
    small: Dataset, tmp_path: Path, name: str, array: np.ndarray, message: str
) -> None:
    save(related(small, "all"), tmp_path / "d")
    np.save(tmp_path / "d" / f"{name}.npy", array)
    listed = checksums.values_of(tmp_path / "d" / "meta.json")["files"]
    listed[f"{name}.npy"] = {
        "dtype": array.dtype.str,
        "shape": [*array.shape],
        "sha256": files.sha256(tmp_path / "d" / f"{name}.npy"),
    }
    edit_meta(tmp_path / "d", files=listed)
    for mmap in (False, True):
        with pytest.raises(InputError, match=message):
            load_folder(tmp_path / "d", mmap=mmap)


def test_headers_are_parsed_one_after_the_other(
    small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load, inside = np.load, []

    def counted(*arguments: Any, **options: Any) -> Any:
        inside.append(None)
        time.sleep(0.01)
        assert len(inside) == 1
        array = load(*arguments, **options)
        inside.pop()
        return array

    save(related(small, "all"), tmp_path / "d")
    monkeypatch.setattr(np, "load", counted)
    assert load_folder(tmp_path / "d").digest == related(small, "all").digest


def test_a_matrix_by_columns_is_read_as_it_is(small: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.asfortranarray(small.x))
    described = _writer.ArrayFile(small.x.dtype.str, [*small.x.shape], "")
    array = read_array(path, described, None)
    assert np.array_equal(array, small.x)
    assert not isinstance(array, np.memmap)


def test_names_and_attributes_must_fit(small: Dataset) -> None:
    with pytest.raises(InputError, match="feature_names: 1 names for 3 features"):
        replace(small, feature_names=("one",))
    with pytest.raises(InputError, match=r"edge_count has shape \(2,\), but \d+ edges are stored"):
        replace(small, edge_attributes={"count": np.zeros(2)})


def test_damaged_attributes_are_noticed(small: Dataset, tmp_path: Path) -> None:
    save(replace(small, edge_attributes={"count": np.arange(small.graph.num_stored)}), tmp_path / "d")
    content = bytearray((tmp_path / "d" / "edge_count.npy").read_bytes())
    content[-8] ^= 1
    (tmp_path / "d" / "edge_count.npy").write_bytes(content)
    with pytest.raises(InputError, match=r"edge_count\.npy: sha256 differs"):
        load_folder(tmp_path / "d")


@pytest.mark.parametrize("name", ["x", "indices"])
@pytest.mark.parametrize("end", [None, 40, 0])
def test_an_archive_in_the_place_of_an_array_is_noticed(
    small: Dataset, tmp_path: Path, name: str, end: int | None
) -> None:
    save(small, tmp_path / "d")
    path = tmp_path / "d" / f"{name}.npy"
    np.savez(tmp_path / "archive.npz", np.load(path))
    path.write_bytes((tmp_path / "archive.npz").read_bytes()[:end])
    with pytest.raises(InputError, match=rf"{name}\.npy: cannot be read \(not an array as"):
        load_folder(tmp_path / "d", mmap=True)


def test_tables_are_kept_beside_the_arrays(small: Dataset, tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(b"rows")
    save(small, tmp_path / "d", tables={"accounts.parquet": tmp_path / "t"})
    assert (tmp_path / "d" / "accounts.parquet").read_bytes() == b"rows"
    assert load_folder(tmp_path / "d").num_nodes == small.num_nodes


def test_unlabelled_graph(small: Dataset, tmp_path: Path) -> None:
    data = replace(small, y=np.full(60, -1), classes=(), split=None)
    save(data, tmp_path / "d")
    assert load_folder(tmp_path / "d").split is None


def test_the_digest_follows_the_content(small: Dataset, tmp_path: Path) -> None:
    one = save(small, tmp_path / "a")
    two = save(small, tmp_path / "b")
    three = save(replace(small, x=small.x + 1), tmp_path / "c")
    assert one.digest == two.digest != three.digest


def test_an_existing_folder_is_only_replaced_on_request(small: Dataset, tmp_path: Path) -> None:
    save(small, tmp_path / "d")
    with pytest.raises(InputError, match="already exists"):
        save(small, tmp_path / "d")
    save(replace(small, name="other"), tmp_path / "d", overwrite=True)
    assert load_folder(tmp_path / "d").name == "other"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["d"]


def test_only_a_dataset_folder_is_ever_replaced(small: Dataset, tmp_path: Path) -> None:
    (tmp_path / "papers").mkdir()
    for path in (tmp_path / "papers" / "thesis.txt", tmp_path / "file.csv"):
        path.write_text("mine")
    for target in (tmp_path / "papers", tmp_path / "file.csv"):
        with pytest.raises(InputError, match=f"{target.name}: not a dataset folder, so it is not replaced"):
            save(small, target, overwrite=True)
    assert (tmp_path / "papers" / "thesis.txt").read_text() == (tmp_path / "file.csv").read_text() == "mine"


def test_a_folder_with_anything_else_in_it_is_not_replaced(small: Dataset, tmp_path: Path) -> None:
    save(small, tmp_path / "d")
    for mine in (tmp_path / "d" / "notes.txt", tmp_path / "d" / "y.npy.orig"):
        mine.write_text("mine")
        with pytest.raises(InputError, match=f"d: holds {mine.name}, which is not of the data set"):
            save(small, tmp_path / "d", overwrite=True)
        mine.unlink()
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "meta.json").write_text('{"format": "something else"}')
    with pytest.raises(InputError, match=r"overwrite: .*its checksum is missing"):
        save(small, foreign, overwrite=True)
    assert (foreign / "meta.json").exists()


def test_what_is_put_into_a_folder_while_it_is_replaced_is_kept(
    small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(small, tmp_path / "d")
    write = _writer.write_meta

    def meanwhile(*arguments: Any) -> None:
        (tmp_path / "d" / "notes.txt").write_text("mine")
        write(*arguments)

    monkeypatch.setattr(_writer, "write_meta", meanwhile)
    with pytest.raises(InputError, match=r"d: holds notes\.txt"):
        save(small, tmp_path / "d", overwrite=True)
    assert (tmp_path / "d" / "notes.txt").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


def test_an_old_folder_is_found_after_a_replacement_was_killed_half_way(small: Dataset, tmp_path: Path) -> None:
    save(small, tmp_path / "d")
    (tmp_path / "d").rename(tmp_path / ".d.old.mggcn-tmp")
    assert_same(small, load_folder(tmp_path / "d"))


@pytest.mark.parametrize("name", ["../../escaped", "/escaped", "a/../../b", "..", ".hidden", "a\x1b[31mb", "a\nb"])
def test_a_name_that_leads_elsewhere_is_refused(small: Dataset, tmp_path: Path, name: str) -> None:
    save(small, tmp_path / "d")
    edit_meta(tmp_path / "d", name=name)
    with pytest.raises(InputError, match=r"meta\.json: name: .* cannot be the name of a data set"):
        load_folder(tmp_path / "d")
    with pytest.raises(InputError, match="cannot be the name of a data set"):
        replace(small, name=name)


def test_a_failed_write_leaves_nothing(small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_writer, "write_meta", fail)
    with pytest.raises(OSError, match="No space"):
        save(small, tmp_path / "d")
    assert list(tmp_path.iterdir()) == []


def test_processes_may_write_the_same_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "file"
    other = (
        f"from pathlib import Path; from mggcn._io import files; files.write_atomically(Path({str(path)!r}), b'other')"
    )
    with files.replacing_file(path) as temporary:
        temporary.write_bytes(b"own")
        subprocess.run([sys.executable, "-c", other], check=True)
        assert path.read_bytes() == b"other"
    assert path.read_bytes() == b"own"
    assert list(tmp_path.iterdir()) == [path]


def test_a_killed_write_leaves_nothing_that_loads(tmp_path: Path) -> None:
    script = f"""
import os, signal, numpy as np
from mggcn.data import Dataset, _writer, save
from mggcn.graph import Graph
_writer.write_meta = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
data = Dataset("d", Graph.from_edges([0], [1], 2), np.ones((2, 1), np.float32), np.full(2, -1), ())
save(data, {str(tmp_path / "d")!r})
"""
    done = subprocess.run([sys.executable, "-c", script], env=os.environ, check=False)
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / "d").exists()
    for left in tmp_path.iterdir():
        with pytest.raises(InputError):
            load_folder(left)


def edit_meta(folder: Path, **changes: object) -> None:
    checksums.write(folder / "meta.json", checksums.values_of(folder / "meta.json") | changes)


@pytest.mark.parametrize("mmap", [False, True])
def test_truncated_and_changed_files(small: Dataset, tmp_path: Path, mmap: bool) -> None:
    folder = tmp_path / "d"
    save(small, folder)
    whole = (folder / "x.npy").read_bytes()
    (folder / "x.npy").write_bytes(whole[:-8])
    with pytest.raises(InputError, match=r"x\.npy: (sha256 differs|cannot be read)"):
        load_folder(folder, mmap=mmap)
    (folder / "x.npy").unlink()
    with pytest.raises(InputError, match=r"x\.npy: missing"):
        load_folder(folder, mmap=mmap)


def test_one_changed_byte_is_noticed(small: Dataset, tmp_path: Path) -> None:
    save(small, tmp_path / "d")
    content = bytearray((tmp_path / "d" / "y.npy").read_bytes())
    content[-8] ^= 1
    (tmp_path / "d" / "y.npy").write_bytes(content)
    with pytest.raises(InputError, match=r"y\.npy: sha256 differs"):
        load_folder(tmp_path / "d")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 99}, "field version: invalid enum value 99"),
        ({"format": "other"}, "field format"),
        ({"files": {"../x.npy": {"dtype": "<f4", "shape": [1], "sha256": ""}}}, "not the name of a .npy file"),
        ({"files": {}}, "'indptr.npy'"),
        ({"direction": "up"}, "field direction: invalid enum value 'up'"),
        ({"num_features": "3"}, r"meta\.json: field num_features: expected int, got str"),
        ({"classes": "abc"}, r"meta\.json: field classes: expected array, got str"),
        ({"files": {"y.npy": {"dtype": "<i8", "shape": [60]}}}, r"field 'files\[\.\.\.\]\.sha256' is missing"),
    ],
)
def test_bad_meta(small: Dataset, tmp_path: Path, changes: dict, message: str) -> None:
    save(small, tmp_path / "d")
    edit_meta(tmp_path / "d", **changes)
    with pytest.raises(InputError, match=message):
        load_folder(tmp_path / "d")


def forbid_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("checked again")

    monkeypatch.setattr("mggcn.graph._graph.check_graph", fail)
    monkeypatch.setattr("mggcn.data._dataset.check_finite", fail)


@pytest.mark.parametrize("kind", RELATIONS)
def test_unchanged_relations_are_not_checked_again(
    small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    data = related(small, kind)
    save(data, tmp_path / "d")
    forbid_checks(monkeypatch)
    assert load_folder(tmp_path / "d").graph.schema == data.graph.schema


def test_loading_an_unchanged_folder_repeats_no_check(
    small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(small, tmp_path / "d")
    forbid_checks(monkeypatch)
    assert_same(small, load_folder(tmp_path / "d"))
    edit_meta(tmp_path / "d", name="other", source="elsewhere", inductive=True, newer="field")
    assert load_folder(tmp_path / "d").name == "other"


@pytest.mark.parametrize(
    "changes", [{"checked": ""}, {"checked": "0" * 64}, {"direction": "in"}, {"classes": ["a", "b", "c", "d"]}]
)
def test_a_folder_that_differs_from_what_was_checked_is_checked_again(
    small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict
) -> None:
    save(small, tmp_path / "d")
    edit_meta(tmp_path / "d", **changes)
    forbid_checks(monkeypatch)
    with pytest.raises(AssertionError, match="checked again"):
        load_folder(tmp_path / "d")


def test_edited_fields_that_do_not_fit_the_arrays_are_errors(small: Dataset, tmp_path: Path) -> None:
    one_way = replace(small, graph=graph.Graph.from_edges([0], [1], 60, direction="in"))
    save(one_way, tmp_path / "d")
    edit_meta(tmp_path / "d", direction="both")
    with pytest.raises(InputError, match="not symmetric"):
        load_folder(tmp_path / "d")
    save(small, tmp_path / "e")
    edit_meta(tmp_path / "e", classes=["red"])
    with pytest.raises(InputError, match="outside the 1 classes"):
        load_folder(tmp_path / "e")


def test_changed_files_with_new_checksums_are_checked_again(small: Dataset, tmp_path: Path) -> None:
    save(small, tmp_path / "d")
    np.save(tmp_path / "d" / "y.npy", small.y + 7)
    meta = checksums.values_of(tmp_path / "d" / "meta.json")
    meta["files"]["y.npy"]["sha256"] = files.sha256(tmp_path / "d" / "y.npy")
    edit_meta(tmp_path / "d", files=meta["files"])
    with pytest.raises(InputError, match="outside the 3 classes"):
        load_folder(tmp_path / "d")


def test_mapped_arrays_are_checked_when_they_are_saved(small: Dataset, tmp_path: Path) -> None:
    save(small, tmp_path / "d")
    content = bytearray((tmp_path / "d" / "x.npy").read_bytes())
    content[-4:] = np.float32(np.nan).tobytes()
    (tmp_path / "d" / "x.npy").write_bytes(content)
    mapped = load_folder(tmp_path / "d", mmap=True)
    with pytest.raises(InputError, match="x of node 59, feature 2 is nan"):
        save(mapped, tmp_path / "e")
    assert not (tmp_path / "e").exists()


def test_changing_a_loaded_data_set_runs_the_checks(small: Dataset, tmp_path: Path) -> None:
    save(small, tmp_path / "d")
    with pytest.raises(InputError, match="outside the 3 classes"):
        replace(load_folder(tmp_path / "d"), y=small.y + 7)


def test_not_json_and_not_a_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"meta\.json is missing"):
        load_folder(tmp_path)
    (tmp_path / "meta.json").write_text("{")
    with pytest.raises(InputError, match="its checksum is missing"):
        load_folder(tmp_path)
    checksums.write(tmp_path / "meta.json", {"format": "mggcn-dataset", "version": 1})
    with pytest.raises(InputError, match="field version: invalid enum value 1"):
        load_folder(tmp_path)
    checksums.write(tmp_path / "meta.json", {"format": "mggcn-dataset", "version": 2})
    with pytest.raises(InputError, match="field 'name' is missing"):
        load_folder(tmp_path)


def test_pickled_arrays_are_refused(small: Dataset, tmp_path: Path) -> None:
    save(small, tmp_path / "d")
    np.save(tmp_path / "d" / "y.npy", np.array([{"a": 1}] * 60, dtype=object))
    meta = checksums.values_of(tmp_path / "d" / "meta.json")
    meta["files"]["y.npy"] = {"dtype": "|O", "shape": [60], "sha256": files.sha256(tmp_path / "d" / "y.npy")}
    checksums.write(tmp_path / "d" / "meta.json", meta)
    with pytest.raises(InputError, match=r"y\.npy: cannot be read"):
        load_folder(tmp_path / "d")
