"""What the README promises of repeated runs: for every method, and for any number of the sampler's threads."""

from collections.abc import Iterator

import pytest
import torch

import mggcn
from mggcn.methods import METHODS

QUICK: dict[str, dict[str, object]] = {
    "deepwalk": {"walks": 1, "length": 10},
    "node2vec": {"walks": 1, "length": 10},
    "random-forest": {"trees": 10},
}


@pytest.fixture(scope="module")
def digits() -> mggcn.Dataset:
    return mggcn.load("digits")


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.usefixtures("two_threads")
def test_equal_threads_give_equal_weights_whatever_the_threads_of_the_sampler(
    digits: mggcn.Dataset, method: str
) -> None:
    settings = {"epochs": 1, **QUICK.get(method, {})}
    one, two = (
        mggcn.fit(digits, method, device="cpu", settings={**settings, "threads": threads}) for threads in (1, 2)
    )
    weights, others = one.model.state_dict(), two.model.state_dict()
    assert list(weights) == list(others)
    for name, tensor in weights.items():
        assert torch.equal(tensor, others[name]), f"{name} differs"
    assert one.record.test_confusion == two.record.test_confusion
