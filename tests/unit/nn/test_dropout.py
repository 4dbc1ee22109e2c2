"""Dropout of hidden units: keys from torch's generator, gradients, and where it does nothing."""

import pytest
import torch

from mggcn.nn.conv import dropout


def seeded(seed: int, share: float = 0.3) -> torch.Tensor:
    torch.manual_seed(seed)
    return dropout(torch.ones(300, 200), share, training=True)


def test_a_share_is_dropped_and_the_mean_stays() -> None:
    after = seeded(0)
    assert float((after == 0).float().mean()) == pytest.approx(0.3, abs=0.01)
    assert float(after.mean()) == pytest.approx(1.0, abs=0.01)


def test_units_follow_from_the_state_of_torchs_generator() -> None:
    assert torch.equal(seeded(1), seeded(1))
    assert not torch.equal(seeded(1), seeded(2))
    torch.manual_seed(1)
    one, other = (dropout(torch.ones(300, 200), 0.5, training=True) != 0 for _ in range(2))
    assert float((one & other).float().mean()) == pytest.approx(0.25, abs=0.01)


def test_rows_lose_different_units() -> None:
    rows = seeded(3, 0.5) != 0
    assert float((rows[1:] & rows[:-1]).float().mean()) == pytest.approx(0.25, abs=0.01)


def test_the_gradient_of_a_unit_is_its_factor() -> None:
    h = torch.randn(50, 31, requires_grad=True)
    after = dropout(h, 0.5, training=True)
    (back,) = torch.autograd.grad(after.sum(), h)
    assert torch.equal(back, torch.where(after != 0, 2.0, 0.0))


@pytest.mark.parametrize(("share", "training"), [(0.5, False), (0.0, True)])
def test_without_training_or_share_nothing_is_drawn(share: float, training: bool) -> None:
    h, state = torch.ones(3, 4), torch.get_rng_state()
    assert dropout(h, share, training) is h
    assert torch.equal(torch.get_rng_state(), state)


def test_other_numbers_than_float32_are_dropped_by_torch() -> None:
    h = torch.ones(200, 100, dtype=torch.bfloat16)
    torch.manual_seed(0)
    after = dropout(h, 0.5, training=True)
    torch.manual_seed(0)
    assert torch.equal(after, torch.nn.functional.dropout(h, 0.5))
