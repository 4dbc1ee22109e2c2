from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from mggcn.dataset import Dataset
from mggcn.train.scaling import Scaler


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


def test_auto_follows_the_storage(small: Dataset) -> None:
    assert Scaler.fit("auto", small).kind == "standard"
    assert Scaler.fit("auto", replace(small, x=csr_array(small.x))).kind == "row"
    assert Scaler.fit("none", small).apply(small.x) is small.x
