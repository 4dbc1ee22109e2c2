"""Edges without a reverse: counted in a note or a warning however they come in, unless the caller names a direction."""

from pathlib import Path

import networkx
import numpy as np
import pandas
import pytest
import torch
from scipy.sparse import coo_array
from torch_geometric.data import Data

import mggcn
from mggcn.data import read_npz, read_tables
from mggcn.data._dataset import Dataset
from mggcn.errors import DataWarning, InputError
from mggcn.runs._run import Ensemble

NOTE = "3 edges have no reverse: taken as undirected; direction 'directed' keeps directions"
SOURCE, TARGET = [0, 1, 2, 3, 3], [1, 2, 3, 4, 2]  # 2 and 3 are neighbours in both directions
X = np.arange(10, dtype=np.float32).reshape(5, 2)


def from_pyg(**options: str) -> Dataset:
    data = Data(x=torch.from_numpy(X), edge_index=torch.tensor([SOURCE, TARGET]))
    return Dataset.from_pyg(data, seed=None, **options)


def from_networkx(**options: str) -> Dataset:
    return Dataset.from_networkx(networkx.DiGraph([*zip(SOURCE, TARGET, strict=True)]), features="none", **options)


def from_scipy(**options: str) -> Dataset:
    return Dataset.from_scipy(coo_array((np.ones(5), (SOURCE, TARGET)), shape=(5, 5)), X, **options)


def from_pandas(**options: str) -> Dataset:
    return Dataset.from_pandas(pandas.DataFrame({"source": SOURCE, "target": TARGET}), features="none", **options)


def edge_list(folder: Path) -> Path:
    lines = ["source,target", *(f"{u},{v}" for u, v in zip(SOURCE, TARGET, strict=True))]
    (folder / "edges.csv").write_text("\n".join(lines) + "\n")
    return folder / "edges.csv"


def npz(folder: Path) -> Path:
    np.savez(folder / "mine.npz", num_nodes=5, edge_index=[SOURCE, TARGET], x=X)
    return folder / "mine.npz"


@pytest.mark.parametrize("read", [from_pyg, from_networkx, from_scipy])
def test_objects_that_hold_both_directions_of_an_undirected_edge_warn_of_missing_ones(read: object) -> None:
    with pytest.warns(DataWarning, match=f": {NOTE}$"):
        data = read()
    assert (data.graph.direction, data.notes[0]) == ("both", NOTE)
    for direction in ("both", "in", "out"):
        assert NOTE not in read(direction=direction).notes


def test_edge_lists_have_a_note_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    edges, mine = edge_list(tmp_path), npz(tmp_path)
    readers = (
        from_pandas,
        lambda **options: read_tables(edges, features="none", **options),
        lambda **options: read_tables(
            edges, None, out=tmp_path / f"d-{options}", memory="1GB", features="none", **options
        ),
        lambda **options: read_npz(mine, **options),
    )
    for read in readers:
        assert read().notes == (NOTE,)
        assert [read(direction=direction).notes for direction in ("both", "in", "out")] == [()] * 3


def test_undirected_objects_have_no_note() -> None:
    both = [SOURCE + TARGET, TARGET + SOURCE]
    matrix = coo_array((np.ones(10), both), shape=(5, 5)).tocsr()
    matrix.data[:] = 1
    undirected = networkx.Graph([*zip(SOURCE, TARGET, strict=True)])
    assert Dataset.from_scipy(matrix, X).notes == ()
    assert Dataset.from_networkx(undirected, features="none").notes == ()
    with pytest.raises(InputError, match="direction 'in' needs a DiGraph"):
        Dataset.from_networkx(undirected, features="none", direction="in")


def test_fit_takes_the_direction_of_data_and_predict_follows_it(small: Dataset, tmp_path: Path) -> None:
    data = small.to_pyg()
    data.edge_index = data.edge_index[:, data.edge_index[0] < data.edge_index[1]]
    settings = {"epochs": 1}
    with pytest.warns(DataWarning, match=f"pyg: {data.num_edges} edges have no reverse"):
        mggcn.fit(data, settings=settings, device="cpu")
    run = mggcn.fit(data, settings=settings, device="cpu", direction="in")
    assert run.dataset.graph.direction == "in"
    loaded = mggcn.load_run(run.save(tmp_path / "run").path)
    assert np.array_equal(loaded.predict(data).probabilities, run.predict().probabilities)
    assert np.array_equal(Ensemble([loaded]).predict(data).probabilities, run.predict().probabilities)
    assert mggcn.fit(data, settings=settings, device="cpu", direction="both").dataset.graph.direction == "both"
    with pytest.raises(InputError, match="direction: small has the direction 'both' already"):
        mggcn.fit(small, settings=settings, direction="in")
