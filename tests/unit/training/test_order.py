import numpy as np
import torch

from mggcn.keys import Key
from mggcn.training._epochs import shuffled
from tests.gpu import GPU


def test_both_devices_agree() -> None:
    targets = np.arange(1000) * 7
    for seed in range(4):
        on_host = shuffled(targets, Key.of(seed))
        assert sorted(on_host.tolist()) == targets.tolist()
        assert np.array_equal(shuffled(torch.from_numpy(targets).to(GPU), Key.of(seed)).cpu().numpy(), on_host)


def test_orders_differ_and_look_random() -> None:
    places = np.arange(2000)
    one, two = shuffled(places, Key.of(0)), shuffled(places, Key.of(1))
    assert (one == two).mean() < 0.01
    assert abs(np.corrcoef(one, places)[0, 1]) < 0.1
