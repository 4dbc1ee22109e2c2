"""Training what is not in the ledger."""

import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

import mggcn
from mggcn import methods
from mggcn.block import Batch, CPUSampler
from mggcn.data import save
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError, InputWarning
from mggcn.experiments import Job, Ledger, Outcome, Schedule
from mggcn.experiments import _execution as execution
from mggcn.experiments._definition import Experiment, Variant
from mggcn.experiments._execution import recall
from mggcn.experiments._report_tables import markdown
from mggcn.keys import Key
from mggcn.runs import DataIdentity, Plan, continued
from mggcn.training import Fit, Prepared, Scaler, Training, View, nodes_per_batch
from mggcn.training._checkpoints import lock
from mggcn.training._compute import Compute
from mggcn.training._loop import Silent
from mggcn.training._prepared import DenseInputs
from mggcn.training._record import Epoch
from tests.unit.experiments.test_schedule import CPU, jobs_of, schedule_of


def execute(dataset: Dataset, jobs: list[Job], ledger: Ledger, **options: int) -> tuple[list[Outcome], list[str]]:
    started: list[str] = []

    def watch(job: Job) -> Silent:
        started.append(job.title)
        return Silent()

    return list(execution.execute(dataset, jobs, ledger, watch, **options)), started


def test_finished_runs_are_kept_and_the_rest_is_run(small: Dataset, tmp_path: Path) -> None:
    path, jobs = tmp_path / "records.jsonl", jobs_of(small, "gcn", "mlp")
    first, _ = execute(small, jobs[:3], Ledger(path))
    whole = path.read_bytes()
    path.write_bytes(whole[:-50])  # killed while it wrote the third
    with pytest.warns(InputWarning, match="the last line is not whole"):
        ledger = Ledger(path)
    kept = recall(jobs, ledger)
    assert [outcome.job.title for outcome in kept] == ["gcn seed 0", "mlp seed 0"]
    assert [outcome.record for outcome in kept] == [outcome.record for outcome in first[:2]]
    done, started = execute(small, jobs, ledger)
    assert started == ["gcn seed 1", "mlp seed 1"]
    assert done[0].record is not None
    assert first[2].record is not None
    assert done[0].record.test_accuracy == first[2].record.test_accuracy
    assert len(recall(jobs, Ledger(path))) == 4
    assert execute(small, jobs, Ledger(path)) == ([], [])
    assert len(recall(jobs_of(small, "gcn", "mlp", lr=0.5), Ledger(path))) == 0, "other settings are other runs"


def test_a_run_is_the_one_that_fit_gives(small: Dataset, tmp_path: Path) -> None:
    [job] = jobs_of(small, "gcn", seeds=1)
    [outcome], _ = execute(small, [job], Ledger(tmp_path / "r.jsonl"))
    again = mggcn.fit(small, "gcn", seed=0, device="cpu", settings={"epochs": 2, "hidden": 4}).record
    assert outcome.record is not None
    assert outcome.record.epochs == 2, "the epoch that warms up is not recorded"
    assert (outcome.record.val_loss, outcome.record.settings) == (again.val_loss, again.settings)


@pytest.mark.parametrize("method", methods.METHODS)
def test_any_method_warms_up_with_few_targets(
    small: Dataset, method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = []
    fit_plan = execution.fit_plan

    def watched(dataset: Dataset, *rest: object) -> object:
        assert dataset.split is not None
        trained.append([part.size for part in (dataset.split.train, dataset.split.val, dataset.split.test)])
        return fit_plan(dataset, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(execution, "fit_plan", watched)
    experiment = Experiment("tiny", ("small",), (Variant(method, method),), 1, settings={"epochs": 2})
    jobs = Schedule(experiment, "small", DataIdentity.of(small)).jobs(CPU)
    [outcome], _ = execute(small, jobs, Ledger(tmp_path / "r.jsonl"), few=8)
    assert trained == [[8, 6, 6], [30, 12, 18]]
    assert outcome.record is not None


def test_variants_that_come_to_the_same_share_a_run(small: Dataset, tmp_path: Path) -> None:
    variants = (
        Variant("as is", "mg-gcn"),
        Variant("the same", "mg-gcn", {"redraw": "epoch"}),
        Variant("once", "mg-gcn", {"redraw": "once", "skip_self": False}),
    )
    experiment = Experiment("tiny", ("small",), variants, 1, settings={"epochs": 2, "hidden": 4}, flat=True)
    schedule = Schedule(experiment, "small", DataIdentity.of(small))
    outcomes, started = execute(small, schedule.jobs(CPU), Ledger(tmp_path / "r.jsonl"))
    assert started == ["as is seed 0", "once seed 0"]
    assert outcomes[0].record is outcomes[1].record
    rows = markdown(schedule.section(outcomes, CPU)).splitlines()
    assert [row.split(" | ")[0] for row in rows[2:5]] == ["| as is", "| the same", "| once"]
    assert rows[5:] == ["", "- not converged, the best epoch is the last one: all runs"]


def test_a_method_that_cannot_be_run_does_not_stop_the_others(
    small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit_plan = execution.fit_plan

    def failing(dataset: Dataset, plan: Plan, *rest: object) -> mggcn.Run:
        if plan.name == "gcn" and plan.seed in failing_seeds:
            raise InputError("gcn: would need 9 GiB | too much")
        return fit_plan(dataset, plan, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(execution, "fit_plan", failing)
    ledger, schedule = Ledger(tmp_path / "r.jsonl"), schedule_of(small, "gcn", "mlp")
    jobs = schedule.jobs(CPU)
    failing_seeds = [0, 1]
    outcomes, _ = execute(small, jobs, ledger)
    table = markdown(schedule.section(outcomes, CPU)).splitlines()
    assert table[2].startswith("| gcn | not run: gcn: would need 9 GiB \\| too much | – |")
    assert table[2].endswith("| 0 of 2 |")
    assert table[3].startswith("| mlp | ")
    assert table[3].endswith("| 2 |")
    failing_seeds = [1]
    outcomes = recall(jobs, ledger) + execute(small, jobs, ledger)[0]
    table = markdown(schedule.section(outcomes, CPU)).splitlines()
    assert table[2].endswith("| 1 of 2 |"), "a failure is tried again"
    assert table[5] == "- gcn, seed 1: gcn: would need 9 GiB \\| too much"


def test_other_errors_are_not_hidden(small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(execution, "fit_plan", broken)
    with pytest.raises(ZeroDivisionError):
        execute(small, jobs_of(small, "gcn"), Ledger(tmp_path / "r.jsonl"))


@pytest.mark.parametrize(
    ("method", "changes", "count"),
    [
        ("mlp", {"batch_size": 10}, 10),
        ("gcn", {"batches": "full", "input_dropout": 0.1}, 57),  # three are further than two hops from training nodes
        ("gcn", {"batches": "full"}, 51),  # nine are further than one hop; the first layer's sums are given
        ("mg-gcn", {"layers": 1, "batch_size": 20}, 15),
    ],
)
def test_nodes_a_batch_by_hand(small: Dataset, method: str, changes: dict, count: float) -> None:
    found = mggcn.fit(small, method, device="cpu", settings={"epochs": 1, **changes}).record.nodes_per_batch
    assert found == count


def test_nodes_are_counted_once_each_over_the_first_batches(small: Dataset) -> None:
    class Sampler(CPUSampler):
        drawn = 0

        def batches(self, targets: np.ndarray, key: Key, batch_size: int) -> Iterator[Batch]:
            self.targets, self.batch_size = targets, batch_size
            for _ in range(100):
                self.drawn += 1
                assert key == Key.of(0).fold("count")
                yield Batch(torch.tensor([1, 2, 2, self.drawn % 2]), (), torch.tensor([1]))

    sampler = Sampler()
    view = View(DenseInputs((torch.zeros(60, 1),)), sampler)
    prepared = Prepared(torch.nn.Identity(), view, view, Scaler("none"))
    fit = Fit(prepared, small, Training(batch_size=7), Key.of(0), Compute(torch.device("cpu")))
    assert nodes_per_batch(fit) == 2.5
    assert sampler.drawn == 20
    assert sampler.batch_size == 7
    assert sorted(sampler.targets) == small.split.train.tolist() != list(sampler.targets)


PEAKS = """
import sys
import mggcn
data = mggcn.load(sys.argv[1])
def peak(**settings):
    return mggcn.fit(data, "mlp", device="cpu", settings={"epochs": 1, **settings}).record.peak_memory_bytes
print(peak(), peak(hidden=3000, layers=3), peak())
"""


@pytest.mark.slow
def test_a_small_run_does_not_inherit_a_large_ones_peak(small: Dataset, tmp_path: Path) -> None:
    folder = save(small, tmp_path / "data").path
    done = subprocess.run([sys.executable, "-c", PEAKS, str(folder)], capture_output=True, text=True, check=True)
    before, large, after = (int(number) for number in done.stdout.split())
    assert large > before + (120 << 20)
    assert after < before + (large - before) // 3


class Interrupt:
    """Interrupts training after an epoch, and keeps the numbers of all epochs."""

    def __init__(self, after: int = 0) -> None:
        self.after = after
        self.epochs: list[int] = []

    def epoch(self, epoch: Epoch) -> None:
        """Raise what Ctrl-C raises."""
        self.epochs.append(epoch.number)
        if epoch.number == self.after:
            raise KeyboardInterrupt


def test_a_long_run_continues_where_it_was_interrupted(
    small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [job] = jobs_of(small, "gcn", seeds=1, epochs=6, dropout=0.5)
    [whole], _ = execute(small, [job], Ledger(tmp_path / "whole" / "records.jsonl"))
    assert whole.record is not None
    ledger, first, second = Ledger(tmp_path / "records.jsonl"), Interrupt(4), Interrupt()
    monkeypatch.setattr(execution, "continued", partial(continued, every=0))
    with pytest.raises(KeyboardInterrupt):
        list(execution.execute(small, [job], ledger, lambda _: first))
    assert [path.name for path in tmp_path.glob("unfinished-*")] == [f"unfinished-{job.plan.digest[:16]}"]
    [outcome] = execution.execute(small, [job], ledger, lambda _: second)
    assert second.epochs == [1, 2, 3, 4, 5, 6], "a display and a pruner receive the earlier epochs, too"
    assert outcome.record is not None
    assert outcome.record.resumed == 1
    assert (outcome.record.val_loss, outcome.record.test_confusion) == (
        whole.record.val_loss,
        whole.record.test_confusion,
    )
    assert not list(tmp_path.glob("unfinished-*"))


def test_damaged_and_open_checkpoints_do_not_stop_a_run(
    small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [job] = jobs_of(small, "gcn", seeds=1, epochs=3)
    ledger = Ledger(tmp_path / "records.jsonl")
    folder = ledger.unfinished(job.plan.digest)
    folder.mkdir()
    (folder / "000002.json").write_text("{}")
    with pytest.warns(InputWarning, match="its only checkpoint is damaged .*; the run starts again"):
        [outcome], _ = execute(small, [job], ledger)
    assert outcome.record is not None
    assert not folder.exists()
    other = Ledger(tmp_path / "other" / "records.jsonl")
    with lock(other.unfinished(job.plan.digest)):
        [outcome], _ = execute(small, [job], other)
    assert outcome.record is not None, "it is trained without checkpoints"


def test_a_run_that_fails_leaves_no_checkpoints(small: Dataset, tmp_path: Path) -> None:
    jobs = jobs_of(small, "gcn", seeds=1, epochs=50, lr=1e30)
    [outcome], _ = execute(small, jobs, Ledger(tmp_path / "records.jsonl"))
    assert "diverged" in outcome.reason
    assert not list(tmp_path.iterdir())
