from types import SimpleNamespace

import pytest
import torch

from mggcn.training import _compute as waking


def test_only_a_gpu_is_woken(monkeypatch: pytest.MonkeyPatch) -> None:
    woken: list[torch.device] = []

    def thread(target: object, args: tuple[torch.device], daemon: bool) -> SimpleNamespace:
        assert target is waking._exercise
        assert daemon
        return SimpleNamespace(start=lambda: woken.extend(args))

    monkeypatch.setattr(waking, "threading", SimpleNamespace(Thread=thread))
    for name in ("cpu", "cuda"):
        waking.wake(torch.device(name))
    assert woken == [torch.device("cuda")]


def test_an_error_is_left_to_training() -> None:
    waking._exercise(torch.device("cuda", 99))
