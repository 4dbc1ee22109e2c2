"""The number of threads is measured, restored, and left alone where it was set."""

import os

import pytest
import torch

from mggcn import __main__ as start
from mggcn.kernels import threads


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch):
    """Torch with two threads, which are all the cores, and nothing set by the user."""
    before = torch.get_num_threads()
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(threads, "available", lambda: 2)
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize(("seconds_of_two", "expected"), [(0.5, 2), (0.95, 1), (10.0, 1)])
def test_threads_are_used_if_they_are_clearly_faster(
    monkeypatch: pytest.MonkeyPatch, seconds_of_two: float, expected: int
) -> None:
    clock = [0.0]

    def now() -> float:
        clock[0] += 0.01 * (seconds_of_two if torch.get_num_threads() == 2 else 1.0)
        return clock[0]

    monkeypatch.setattr(threads.time, "perf_counter", now)
    with threads.chosen() as number:
        assert number == torch.get_num_threads() == expected
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two")
def test_an_error_restores_the_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_fastest", lambda _: 1)
    inside = []

    def fail() -> None:
        with threads.chosen() as number:
            inside.append(number)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert inside == [1]
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("is_set", ["by OMP_NUM_THREADS", "to one", "to more than the cores"])
def test_a_number_that_was_set_stays(monkeypatch: pytest.MonkeyPatch, is_set: str) -> None:
    def measured(_: int) -> int:
        raise AssertionError

    monkeypatch.setattr(threads, "_fastest", measured)
    number = {"by OMP_NUM_THREADS": 2, "to one": 1, "to more than the cores": 3}[is_set]
    if is_set == "by OMP_NUM_THREADS":
        monkeypatch.setenv("OMP_NUM_THREADS", "2")
    torch.set_num_threads(number)
    with threads.chosen() as found:
        assert found == torch.get_num_threads() == number


def test_products_have_the_same_bits_with_any_number_of_threads() -> None:
    before, generator = torch.get_num_threads(), torch.Generator().manual_seed(0)
    rows, weight, gradient = (
        torch.randn(shape, generator=generator) for shape in ((1536, 500), (500, 128), (1536, 128))
    )
    results = []
    try:
        for number in (1, 2):
            torch.set_num_threads(number)
            results.append((rows @ weight, rows.t() @ gradient, gradient @ weight.t(), gradient.sum(dim=0)))
    finally:
        torch.set_num_threads(before)
    for one, other in zip(*results, strict=True):
        assert torch.equal(one, other)


def test_what_the_user_says_of_waiting_threads_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("KMP_BLOCKTIME", "7")
    start.let_threads_sleep()
    assert (os.environ["GOMP_SPINCOUNT"], os.environ["KMP_BLOCKTIME"]) == ("10000", "7")
    monkeypatch.delenv("GOMP_SPINCOUNT")
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    start.let_threads_sleep()
    assert "GOMP_SPINCOUNT" not in os.environ
