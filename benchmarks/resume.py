"""Kill runs, damage checkpoints, and measure what writing them costs.

    python benchmarks/resume.py kill --runs 100
    python benchmarks/resume.py damage --count 500
    python benchmarks/resume.py cost pubmed

``kill`` trains several methods, and one of them by two ranks, once without interruption, then again and again in
processes that SIGKILL ends after a random time, also while they evaluate or write a checkpoint, and resumes them until
they are finished. Every run must end with the same weights, bit for bit. ``damage`` truncates checkpoints and flips
single bits in them; none may be accepted silently. ``cost`` prints the share of a training's time that checkpoints
take. The exit code is 1 if a target is missed.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import mggcn
from mggcn.errors import InputError, InputWarning
from mggcn.runs import resolve
from mggcn.runs._fitting import fit_plan
from mggcn.training._checkpoints import Checkpoints, State
from mggcn.training._record import Epoch

VARIANTS = {
    "mg-gcn": ("mg-gcn", ["dropout=0.5"], 1),
    "mg-gcn on two ranks": ("mg-gcn", ["dropout=0.5"], 2),
    "graphsage-mean": ("graphsage-mean", ["dropout=0.5"], 1),
    "vr-gcn": ("vr-gcn", ["dropout=0.3"], 1),
    "cluster-gcn": ("cluster-gcn", ["parts=20", "parts_per_batch=2"], 1),
}
_QUIET = ["--quiet", "--no-report", "--checkpoint-every", "0"]
_KILLS = 3  # per run, then it may finish
_VERDICT = {True: "equal", False: "DIFFERENT"}
_WEIGHTS, _RECORD = "weights.safetensors", "record.json"


def kill(dataset: str, runs: int, epochs: int, seed: int) -> int:
    """Kill and resume runs; return how many did not end bit-equal."""
    draw, failed = random.Random(seed), 0  # noqa: S311
    with tempfile.TemporaryDirectory() as scratch:
        whole = {
            name: _finished(_command(dataset, name, epochs, out := Path(scratch) / name), out) for name in VARIANTS
        }
        for number in range(runs):
            variant, out = list(VARIANTS)[number % len(VARIANTS)], Path(scratch) / str(number)
            command, epoch = _command(dataset, variant, epochs, out), 0
            for _ in range(_KILLS):
                epoch = draw.randint(epoch, epochs - 1)
                command = _kill_at(command, out, epoch, draw.random(), VARIANTS[variant][2])
            folder = _finished(command, out)
            is_equal = (folder / _WEIGHTS).read_bytes() == (whole[variant] / _WEIGHTS).read_bytes()
            resumed = json.loads((folder / _RECORD).read_text())["resumed"]
            failed += not is_equal
            _print(f"{number + 1:4d} {variant}: {_KILLS} kills, {resumed} checkpoints used, {_VERDICT[is_equal]}")
            shutil.rmtree(out)
    _print(f"{runs - failed} of {runs} runs end bit-equal")
    return failed


def _command(dataset: str, variant: str, epochs: int, out: Path) -> list[str]:
    method, settings, ranks = VARIANTS[variant]
    settings = ["--set", f"patience={epochs}", *settings]
    run = [*_train(ranks), dataset, "--method", method, "--device", "cpu", "--epochs", str(epochs), *settings]
    return [*run, "--out", str(out), *_QUIET]


def _train(ranks: int) -> list[str]:
    torchrun = ["torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks), "-m"] if ranks > 1 else []
    return [sys.executable, "-m", *torchrun, "mggcn", "train"]


def _finished(command: list[str], out: Path) -> Path:
    """The folder of a run that a command finishes."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}: {done.stderr}")
    (folder,) = out.iterdir()
    return folder


def _kill_at(command: list[str], out: Path, epoch: int, delay: float, ranks: int) -> list[str]:
    """Start a run and kill it some time after a checkpoint of this epoch; return the command that continues it.

    The time is ``delay`` times that of two epochs, or, for epoch 0, of the start of the process.
    """
    started = time.monotonic()
    times: dict[int, float] = {}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:  # noqa: S603
        while process.poll() is None:
            newest = max((int(path.stem) for path in out.glob("*/checkpoint/*.json")), default=0)
            times.setdefault(newest, time.monotonic())
            if newest >= max(epoch, 1):
                break
            if epoch == 0 and time.monotonic() - started > 5 * delay:
                break
            time.sleep(0.001)
        spent = list(times.values())
        time.sleep(delay * 2 * (spent[-1] - spent[-2]) if len(spent) > 2 else 0.05 * delay)
        for pid in [*_children(process.pid), process.pid]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    for folder in out.iterdir() if out.exists() else ():
        if (folder / "config.toml").exists():
            return [*_train(ranks), "--resume", str(folder), *_QUIET]
        shutil.rmtree(folder)  # killed before there was anything to resume
    return command


def _children(pid: int) -> list[int]:
    """The processes that a process has started, as torchrun its ranks; the last first, so that rank 0 ends last."""
    found = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(word) for word in reversed(found.read_text().split())] if found.exists() else []


class _Interrupt:
    """Interrupts training after an epoch."""

    def epoch(self, epoch: Epoch) -> None:
        """Raise what Ctrl-C raises."""
        if epoch.number == 3:
            raise KeyboardInterrupt


def damage(count: int, seed: int) -> int:
    """Damage checkpoints; return how many were accepted silently."""
    draw, silent = random.Random(seed), 0  # noqa: S311
    with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings():
        warnings.simplefilter("error", InputWarning)
        run, data = Path(scratch) / "run", mggcn.load("digits")
        with suppress(KeyboardInterrupt):
            mggcn.fit(data, checkpoint=run, checkpoint_every=0, device="cpu", progress=_Interrupt())
        path = max((run / "checkpoint").glob("*.json"))
        newest, identity = path.stem, json.loads(path.read_bytes())["identity"]
        for number in range(count):
            shutil.copytree(run, copy := Path(scratch) / str(number))
            path = draw.choice(sorted((copy / "checkpoint").glob(f"{newest}.*")))
            content = bytearray(path.read_bytes())
            if number % 2:
                del content[draw.randrange(len(content)) :]
            else:
                content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
            path.write_bytes(content)
            with suppress(InputError, InputWarning), Checkpoints(copy / "checkpoint", identity):
                silent += 1
            shutil.rmtree(copy)
    _print(f"{count} damaged checkpoints: {count - silent} reported, {silent} accepted silently")
    return silent


class _Timed(Checkpoints):
    """Checkpoints that add up the time they take."""

    spent, writes = 0.0, 0

    def epoch_ended(self, capture: Callable[[], State]) -> None:
        """Copy and perhaps write the state, timed."""
        started, before = time.perf_counter(), self.write_seconds
        super().epoch_ended(capture)
        _Timed.spent += time.perf_counter() - started
        _Timed.writes += self.write_seconds != before


def cost(dataset: str, epochs: int) -> int:
    """Print the share of time that checkpoints take at the default interval; return 1 if it is too large."""
    data = mggcn.load(dataset)
    plan = resolve("mg-gcn", data, {"epochs": epochs, "patience": epochs})
    with tempfile.TemporaryDirectory() as scratch, _Timed(Path(scratch), {}) as checkpoints:
        record = fit_plan(data, plan, None, checkpoints).record
    seconds = sum(epoch.train_seconds + epoch.eval_seconds for epoch in record.curve) + _Timed.spent
    share = _Timed.spent / seconds
    _print(
        f"{dataset}: {len(record.curve)} epochs in {seconds:.1f} s, {_Timed.writes} checkpoints, "
        f"{_Timed.spent:.3f} s for copying and writing them: {share:.2%} of training"
    )
    return int(share >= 0.01)


def _print(text: str) -> None:
    print(text, flush=True)  # noqa: T201


def main() -> int:
    """Run one measurement; the exit code is 0 if it met its target."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    of_kill = commands.add_parser("kill")
    of_kill.add_argument("--dataset", default="cora")
    of_kill.add_argument("--runs", type=int, default=100)
    of_kill.add_argument("--epochs", type=int, default=30)
    of_kill.add_argument("--seed", type=int, default=0)
    of_damage = commands.add_parser("damage")
    of_damage.add_argument("--count", type=int, default=500)
    of_damage.add_argument("--seed", type=int, default=0)
    of_cost = commands.add_parser("cost")
    of_cost.add_argument("dataset")
    of_cost.add_argument("--epochs", type=int, default=100)
    options = parser.parse_args()
    if options.command == "kill":
        return min(1, kill(options.dataset, options.runs, options.epochs, options.seed))
    if options.command == "damage":
        return min(1, damage(options.count, options.seed))
    return cost(options.dataset, options.epochs)


if __name__ == "__main__":
    sys.exit(main())
