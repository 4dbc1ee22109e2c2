import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import mggcn
from mggcn import methods, storage, train
from mggcn.block import Batch
from mggcn.dataset import Dataset
from mggcn.errors import InputError
from mggcn.experiments import ablation, schedule
from mggcn.experiments.schedule import Job, Outcome, Variant
from mggcn.keys import Key
from mggcn.records.ledger import Ledger
from mggcn.records.summary import Summary, duration, markdown
from mggcn.train.progress import Silent
from tests.records import record

QUICK: Mapping[str, object] = {"epochs": 2, "hidden": 4}
TWO = schedule.variants_of(["gcn", "mlp"])


def jobs_of(dataset: Dataset, variants: list[Variant] = TWO, seeds: int = 2, **common: object) -> list[Job]:
    return schedule.plan(dataset, variants, range(seeds), device="cpu", common={**QUICK, **common})


def execute(dataset: Dataset, jobs: list[Job], ledger: Ledger) -> tuple[list[Outcome], list[str]]:
    started: list[str] = []

    def watch(job: Job) -> Silent:
        started.append(job.title)
        return Silent()

    return list(schedule.execute(dataset, jobs, ledger, watch)), started


def test_every_variant_has_a_seed_before_any_has_two(small: Dataset) -> None:
    assert [job.title for job in jobs_of(small)] == ["gcn seed 0", "mlp seed 0", "gcn seed 1", "mlp seed 1"]


def test_all_stands_for_every_method() -> None:
    first, *others = schedule.variants_of(["mlp", "all"])
    assert first.method == "mlp"
    assert {variant.method for variant in others} == set(methods.METHODS) - {"mlp"}
    with pytest.raises(InputError, match="unknown method 'mggcn'; did you mean mg-gcn"):
        schedule.variants_of(["mlp", "mggcn"])


def test_changes_reach_the_methods_that_have_them(small: Dataset) -> None:
    with_picks, without = jobs_of(small, schedule.variants_of(["mg-gcn", "gcn"]), 1, picks="3", lr="0.5")
    assert (with_picks.spec.settings["picks"], with_picks.spec.settings["lr"]) == (3, 0.5)
    assert "picks" not in without.spec.settings
    assert without.spec.settings["lr"] == 0.5
    with pytest.raises(InputError, match="unknown setting 'picks'"):
        jobs_of(small, picks="3")
    with pytest.raises(InputError, match="gcn: lr: 'x' is not a number"):
        jobs_of(small, lr="x")


def test_a_data_set_without_labels(small: Dataset) -> None:
    with pytest.raises(InputError, match="small: no training labels"):
        jobs_of(replace(small, split=None))


def test_finished_runs_are_kept_and_the_rest_is_run(small: Dataset, tmp_path: Path) -> None:
    path, jobs = tmp_path / "records.jsonl", jobs_of(small)
    first, _ = execute(small, jobs[:3], Ledger(path))
    whole = path.read_bytes()
    path.write_bytes(whole[:-50])  # killed while it wrote the third
    ledger = Ledger(path)
    kept = schedule.recall(jobs, ledger)
    assert [outcome.job.title for outcome in kept] == ["gcn seed 0", "mlp seed 0"]
    assert [outcome.record for outcome in kept] == [outcome.record for outcome in first[:2]]
    done, started = execute(small, jobs, ledger)
    assert started == ["gcn seed 1", "mlp seed 1"]
    assert done[0].record is not None
    assert first[2].record is not None
    assert done[0].record.test_accuracy == first[2].record.test_accuracy
    assert len(schedule.recall(jobs, Ledger(path))) == 4
    assert execute(small, jobs, Ledger(path)) == ([], [])
    assert len(schedule.recall(jobs_of(small, lr=0.5), Ledger(path))) == 0, "other settings are other runs"


def test_a_run_is_the_one_that_fit_gives(small: Dataset, tmp_path: Path) -> None:
    [job] = jobs_of(small, TWO[:1], 1)
    [outcome], _ = execute(small, [job], Ledger(tmp_path / "r.jsonl"))
    again = mggcn.fit(small, "gcn", seed=0, device="cpu", settings=dict(QUICK)).record
    assert outcome.record is not None
    assert outcome.record.epochs == 2, "the epoch that warms up is not recorded"
    assert (outcome.record.val_loss, outcome.record.settings) == (again.val_loss, again.settings)


@pytest.mark.parametrize("method", methods.METHODS)
def test_any_method_warms_up_with_few_targets(
    small: Dataset, method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedule, "_FEW", 8)
    trained = []
    fit = schedule.fit

    def watched(dataset: Dataset, *rest: object, **options: object) -> object:
        assert dataset.split is not None
        trained.append([part.size for part in (dataset.split.train, dataset.split.val, dataset.split.test)])
        return fit(dataset, *rest, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(schedule, "fit", watched)
    jobs = schedule.plan(small, [Variant(method, method)], [0], device="cpu", common={"epochs": 2})
    [outcome], _ = execute(small, jobs, Ledger(tmp_path / "r.jsonl"))
    assert trained == [[8, 6, 6], [30, 12, 18]]
    assert outcome.record is not None


def test_variants_that_come_to_the_same_share_a_run(small: Dataset, tmp_path: Path) -> None:
    variants = [Variant("as is", "mg-gcn"), Variant("the same", "mg-gcn", {"redraw": "epoch"})]
    variants.append(Variant("once", "mg-gcn", {"redraw": "once", "skip_self": False}))
    jobs = jobs_of(small, variants, 1)
    outcomes, started = execute(small, jobs, Ledger(tmp_path / "r.jsonl"))
    assert started == ["as is seed 0", "once seed 0"]
    assert outcomes[0].record is outcomes[1].record
    rows = markdown(schedule.summarise(small, variants, outcomes, 1, "cpu")).splitlines()
    assert [row.split(" | ")[0] for row in rows[2:]] == ["| as is", "| the same", "| once"]


def test_a_method_that_cannot_be_run_does_not_stop_the_others(
    small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit = schedule.fit

    def failing(dataset: Dataset, method: str, **options: object) -> mggcn.Run:
        if method == "gcn" and options["seed"] in failing_seeds:
            raise InputError("gcn: would need 9 GiB | too much")
        return fit(dataset, method, **options)

    monkeypatch.setattr(schedule, "fit", failing)
    ledger, jobs = Ledger(tmp_path / "r.jsonl"), jobs_of(small)
    failing_seeds = [0, 1]
    outcomes, _ = execute(small, jobs, ledger)
    table = markdown(schedule.summarise(small, TWO, outcomes, 2, "cpu")).splitlines()
    assert table[2].startswith("| gcn | not run: gcn: would need 9 GiB \\| too much | – |")
    assert table[2].endswith("| 0 of 2 |")
    assert table[3].startswith("| mlp | ")
    assert table[3].endswith("| 2 |")
    failing_seeds = [1]
    outcomes = schedule.recall(jobs, ledger) + execute(small, jobs, ledger)[0]
    table = markdown(schedule.summarise(small, TWO, outcomes, 2, "cpu")).splitlines()
    assert table[2].endswith("| 1 of 2 |"), "a failure is tried again"
    assert table[-1] == "- gcn, seed 1: gcn: would need 9 GiB \\| too much"


def test_other_errors_are_not_hidden(small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(schedule, "fit", broken)
    with pytest.raises(ZeroDivisionError):
        execute(small, jobs_of(small), Ledger(tmp_path / "r.jsonl"))


def test_a_summary_by_hand() -> None:
    records = [record(), record(seed=1, peak_memory_bytes=300 << 20), record(seed=5, epoch_seconds=2.0)]
    one = Summary.of("a|b", "gcn", records, seeds=3, device="cpu", published=0.858)
    table = markdown([one, Summary.of("later", "mlp", [], seeds=3, device="cpu")]).splitlines()
    assert table[0].startswith("| method | paper, % | accuracy, % | macro-F1, % | epoch | to 99 % | to best | epochs |")
    assert table[2] == "| a\\|b | 85.8 | 88.00 ± 2.65 | 70.00 ± 0.00 | 250 ms | 1.75 s | 2.5 s | 3 | 300 MiB | 18 | 3 |"
    assert table[3] == "| later | – | – | – | – | – | – | – | – | – | 0 of 3 |"
    alone = Summary.of("gcn", "gcn", records[:1], seeds=1, device="cpu")
    assert "| 86.00 | 70.00 |" in markdown([alone])
    assert "paper" not in markdown([alone])


def test_durations() -> None:
    assert [duration(s) for s in (0.01234, 0.5, 1.234, 123.4, 4567.8)] == [
        "12.3 ms", "500 ms", "1.23 s", "123 s", "4,568 s",
    ]  # fmt: skip


def test_only_the_method_as_published_has_the_papers_figure(small: Dataset) -> None:
    cora = replace(small, name="cora")
    found = schedule.summarise(cora, ablation.VARIANTS, [], 1, "cpu")
    assert [one.published for one in found] == [0.858] + [None] * 6


@pytest.mark.parametrize(
    ("method", "changes", "count"),
    [
        ("mlp", {"batch_size": 10}, 10),
        ("gcn", {"batches": "full"}, 60),
        ("mg-gcn", {"layers": 1, "batch_size": 20}, 15),
    ],
)
def test_nodes_a_batch_by_hand(small: Dataset, method: str, changes: dict, count: float) -> None:
    found = mggcn.fit(small, method, device="cpu", settings={"epochs": 1, **changes}).record.nodes_per_batch
    assert found == count


def test_nodes_are_counted_once_each_over_the_first_batches(small: Dataset) -> None:
    class Sampler:
        device = torch.device("cpu")
        drawn = 0

        def batches(self, targets: np.ndarray, key: Key, batch_size: int) -> Iterator[Batch]:
            self.targets, self.batch_size = targets, batch_size
            for _ in range(100):
                self.drawn += 1
                assert key == Key.of(0).fold("count")
                yield Batch(torch.tensor([1, 2, 2, self.drawn % 2]), (), torch.tensor([1]))

    sampler = Sampler()
    assert train.nodes_per_batch(sampler, small.split.train, train.Training(batch_size=7), Key.of(0)) == 2.5
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


def test_a_small_run_does_not_inherit_a_large_ones_peak(small: Dataset, tmp_path: Path) -> None:
    folder = storage.save(small, tmp_path / "data").path
    done = subprocess.run([sys.executable, "-c", PEAKS, str(folder)], capture_output=True, text=True, check=True)
    before, large, after = (int(number) for number in done.stdout.split())
    assert large > before + (120 << 20)
    assert after < before + (large - before) // 3
