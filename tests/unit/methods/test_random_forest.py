from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from sklearn.ensemble import RandomForestClassifier

import mggcn
from mggcn.data._dataset import Dataset
from mggcn.data._features import as_features
from mggcn.errors import DataWarning
from mggcn.keys import Key

FEW = {"trees": 7, "threads": 1}


def scikit_learn(data: Dataset, trees: int, **options: object) -> RandomForestClassifier:
    seed = Key.of(3).fold("forest").value >> 32
    grown = RandomForestClassifier(trees, random_state=seed, n_jobs=1, **options)
    return grown.fit(data.x[data.split.train], data.y[data.split.train])


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("settings", [{}, {"balanced": True}, {"max_depth": 2, "min_leaf": 3}])
def test_it_gives_what_scikit_learn_gives(small: Dataset, sparse: bool, settings: dict[str, object]) -> None:
    data = small
    if sparse:
        x = as_features(csr_array(np.maximum(small.x, 0)))
        x.indices, x.indptr = x.indices.astype(np.int64), x.indptr.astype(np.int64)  # as data sets on disk have them
        data = replace(small, x=x)
    options: dict[str, object] = {
        "max_depth": settings.get("max_depth"),
        "min_samples_leaf": settings.get("min_leaf", 1),
    }
    options["class_weight"] = "balanced_subsample" if "balanced" in settings else None
    dense = data.x.toarray() if sparse else data.x
    expected = scikit_learn(replace(data, x=dense), 7, **options).predict_proba(dense)
    run = mggcn.fit(data, "random-forest", seed=3, device="cpu", settings=FEW | settings)
    found = run.predict(device="cpu", calibrated=False).probabilities
    np.testing.assert_allclose(found, (7 * expected + 1 / 3) / 8, rtol=1e-12)
    assert run.record.epochs == 0
    assert run.record.test_accuracy > 0.5


def test_a_class_without_training_nodes(small: Dataset) -> None:
    y = small.y.copy()
    y[small.split.train] = np.minimum(y[small.split.train], 1)
    with pytest.warns(DataWarning, match="small: no training nodes of class 'blue': it cannot be learnt"):
        found = mggcn.fit(replace(small, y=y), "random-forest", device="cpu", settings=FEW)
    probabilities = found.predict(device="cpu", calibrated=False).probabilities
    np.testing.assert_allclose(probabilities[:, 2], 1 / 3 / 8)


def test_the_seed_decides_the_trees(small: Dataset) -> None:
    one, other = (mggcn.fit(small, "random-forest", seed=seed, settings=FEW).model.share for seed in (0, 1))
    assert one.shape != other.shape or not torch.equal(one, other)
