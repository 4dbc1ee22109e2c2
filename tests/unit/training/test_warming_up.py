from types import SimpleNamespace

import pytest
import torch

from mggcn.training import _compute as compute


def test_only_a_gpu_is_warmed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    warmed: list[torch.device] = []

    def thread(target: object, args: tuple[torch.device], daemon: bool) -> SimpleNamespace:
        assert target is compute._exercise
        assert daemon
        return SimpleNamespace(start=lambda: warmed.extend(args))

    monkeypatch.setattr(compute, "threading", SimpleNamespace(Thread=thread))
    for name in ("cpu", "cuda"):
        compute.warm_up(torch.device(name))
    assert warmed == [torch.device("cuda")]


def test_an_error_is_left_to_training() -> None:
    compute._exercise(torch.device("cuda", 99))
