"""Runs in parallel."""

import fcntl
import multiprocessing
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import torch

from mggcn.data import load_folder, save
from mggcn.data._dataset import Dataset
from mggcn.experiments import Job, Ledger, Outcome, Schedule
from mggcn.experiments import _execution as execution
from mggcn.experiments._definition import Experiment, Variant
from mggcn.kernels import threads
from mggcn.runs import DataIdentity
from mggcn.training._loop import Silent

pytestmark = pytest.mark.slow


def jobs_of(dataset: Dataset, *labels: str, seeds: int = 1) -> list[Job]:
    variants = tuple(Variant(label, "mlp") for label in labels)
    experiment = Experiment("tiny", ("small",), variants, seeds, settings={"epochs": 2, "hidden": 4})
    return Schedule(experiment, "small", DataIdentity.of(dataset)).jobs(torch.device("cpu"))


def _dies() -> Dataset:
    raise SystemExit(3)


def test_runs_in_parallel_are_those_of_one_process(small: Dataset, tmp_path: Path) -> None:
    save(small, tmp_path / "data")
    load = partial(load_folder, tmp_path / "data")
    jobs = jobs_of(load(), "a", "as a", seeds=2)
    ledger = Ledger(tmp_path / "records.jsonl")

    def accuracies(outcomes: Iterator[Outcome]) -> dict[str, float]:
        return {one.job.title: one.record.test_accuracy for one in outcomes if one.record}

    together = accuracies(execution.execute_in_processes(load, jobs, ledger, 2))
    assert len(together) == 4
    assert len(ledger.path.read_bytes().splitlines()) == 2, "two variants of the same settings share their runs"
    assert Ledger(ledger.path).records.keys() == ledger.records.keys()
    alone = Ledger(tmp_path / "alone.jsonl")
    assert together == accuracies(execution.execute(load(), jobs, alone, lambda _: Silent()))
    assert list(execution.execute_in_processes(load, jobs, ledger, 2)) == []


def test_a_process_that_dies_costs_its_run(small: Dataset, tmp_path: Path) -> None:
    jobs = jobs_of(small, "a")
    [outcome] = execution.execute_in_processes(_dies, jobs, Ledger(tmp_path / "records.jsonl"), 2)
    assert (outcome.record, outcome.reason) == (None, "its process ended with exit code 3")


def _hangs(lock: Path) -> Dataset:
    with lock.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        lock.with_suffix(".taken").touch()
        time.sleep(600)
    raise AssertionError


def _execute(jobs: list[Job], folder: Path) -> None:
    list(execution.execute_in_processes(partial(_hangs, folder / "lock"), jobs, Ledger(folder / "records.jsonl"), 1))


def test_a_process_ends_with_its_parent(small: Dataset, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    jobs = jobs_of(small, "a")
    parent = multiprocessing.get_context("spawn").Process(target=_execute, args=(jobs, tmp_path))
    parent.start()
    deadline = time.monotonic() + 120
    while not (tmp_path / "lock.taken").exists():
        assert parent.is_alive()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    parent.terminate()
    parent.join()
    with (tmp_path / "lock").open("rb") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                assert time.monotonic() < deadline, "it goes on without its parent"
                time.sleep(0.05)
    assert "Traceback" not in capfd.readouterr().err


def test_a_process_without_further_jobs_ends_without_output(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pipe, process = execution._start(_dies, tmp_path / "records.jsonl", threads.shares(1)[0])
    pipe.close()
    process.join()
    assert process.exitcode == 0
    assert capfd.readouterr().err == ""
