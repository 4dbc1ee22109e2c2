"""Kill runs, damage checkpoints and measure what writing them costs; every line ends with what was found.

    python benchmarks/resume.py kill --runs 100
    python benchmarks/resume.py damage --count 500
    python benchmarks/resume.py cost pubmed

``kill`` trains each of several methods once without interruption, then again and again in processes that SIGKILL ends
after a random time, also while they evaluate or write a checkpoint, and resumes them until they are finished. Every
run must end with the same weights, bit for bit. ``damage`` truncates checkpoints and flips single bits in them; none may
be accepted silently. ``cost`` is the share of a training's time that checkpoints take.
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
from pathlib import Path

import mggcn
from mggcn.errors import InputError, InputWarning
from mggcn.records import Epoch
from mggcn.train import Checkpoints

METHODS = {
    "mg-gcn": [],
    "graphsage-mean": ["dropout=0.5"],
    "vr-gcn": ["dropout=0.3"],
    "cluster-gcn": ["parts=20", "parts_per_batch=2"],
}
_TRAIN = [sys.executable, "-m", "mggcn", "train"]
_QUIET = ["--quiet", "--no-report", "--checkpoint-every", "0"]
_KILLS = 3  # per run, then it may finish
_WEIGHTS, _RECORD = "weights.safetensors", "record.json"


def kill(dataset: str, runs: int, epochs: int, seed: int) -> int:
    """Kill and resume runs; return how many did not end bit-equal."""
    draw, failed = random.Random(seed), 0
    with tempfile.TemporaryDirectory() as scratch:
        whole = {name: _whole(Path(scratch), dataset, name, epochs) for name in METHODS}
        for number in range(runs):
            method = list(METHODS)[number % len(METHODS)]
            weights, start, end = whole[method]
            folder, kills = _killed(Path(scratch) / f"run-{number}", dataset, method, epochs, (start, end), draw)
            is_equal = (folder / _WEIGHTS).read_bytes() == weights
            failed += not is_equal
            resumed = json.loads((folder / _RECORD).read_text())["resumed"]
            _print(f"{number + 1:4d} {method}: {kills} kills, resumed {resumed}, {'equal' if is_equal else 'DIFFERENT'}")
            shutil.rmtree(folder.parent)
    _print(f"{runs - failed} of {runs} runs end bit-equal")
    return failed


def _command(dataset: str, method: str, epochs: int, out: Path) -> list[str]:
    settings = ["--set", *METHODS[method]] if METHODS[method] else []
    run = [*_TRAIN, dataset, "--method", method, "--device", "cpu", "--epochs", str(epochs), *settings]
    return [*run, "--out", str(out), *_QUIET]


def _whole(scratch: Path, dataset: str, method: str, epochs: int) -> tuple[bytes, float, float]:
    """The weights of an uninterrupted run, and after how many seconds its first and its last epoch ended."""
    out, started, first = scratch / f"whole-{method}", time.monotonic(), 0.0
    with subprocess.Popen(_command(dataset, method, epochs, out), stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            if not first and list(out.glob("*/checkpoint/*.json")):
                first = time.monotonic() - started
            time.sleep(0.01)
    if process.returncode:
        raise SystemExit(process.returncode)
    (folder,) = out.iterdir()
    return (folder / _WEIGHTS).read_bytes(), first, time.monotonic() - started


def _killed(
    out: Path, dataset: str, method: str, epochs: int, span: tuple[float, float], draw: random.Random
) -> tuple[Path, int]:
    """A run that was killed a few times and then finished; its folder and the number of kills."""
    command, kills = _command(dataset, method, epochs, out), 0
    while True:
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            try:
                _, message = process.communicate(timeout=draw.uniform(0.8 * span[0], span[1]) if kills < _KILLS else None)
            except subprocess.TimeoutExpired:
                os.kill(process.pid, signal.SIGKILL)
                process.communicate()
                kills += 1
                folders = list(out.iterdir()) if out.exists() else []
                if folders and (folders[0] / "config.toml").exists():
                    command = [*_TRAIN, "--resume", str(folders[0]), *_QUIET]
                elif folders:
                    folders[0].rmdir() if not any(folders[0].iterdir()) else shutil.rmtree(folders[0])
                continue
        if process.returncode:
            raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}, {message.decode()}")
        (folder,) = out.iterdir()
        return folder, kills


class _Interrupt:
    """Interrupts training after an epoch."""

    def epoch(self, epoch: Epoch) -> None:
        """Raise what Ctrl-C raises."""
        if epoch.number == 3:
            raise KeyboardInterrupt


def damage(count: int, seed: int) -> int:
    """Damage checkpoints; return how many were accepted silently."""
    draw, silent, refused = random.Random(seed), 0, 0
    with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings():
        warnings.simplefilter("error", InputWarning)
        run, data = Path(scratch) / "run", mggcn.load("digits")
        try:
            mggcn.fit(data, checkpoint=run, checkpoint_every=0, device="cpu", progress=_Interrupt())
        except KeyboardInterrupt:
            pass
        identity = json.loads(max((run / "checkpoint").glob("*.json")).read_bytes())["identity"]
        for number in range(count):
            shutil.copytree(run, copy := Path(scratch) / str(number))
            path = draw.choice([path for path in sorted((copy / "checkpoint").iterdir()) if path.name != "lock"])
            newest = max((copy / "checkpoint").glob("*.json")).stem
            content = bytearray(path.read_bytes())
            if number % 2:
                del content[draw.randrange(len(content)) :]
            else:
                content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
            path.write_bytes(content)
            try:
                with Checkpoints(copy / "checkpoint", identity) as checkpoints:
                    state = checkpoints.state
            except (InputError, InputWarning):
                refused += 1
            else:  # an older generation that is damaged is never read
                silent += state is None or path.stem == newest or state.epoch != int(newest)
            shutil.rmtree(copy)
    _print(f"{count} damaged checkpoints: {refused} reported, {count - refused - silent} not needed, {silent} silent")
    return silent


def cost(dataset: str, epochs: int) -> int:
    """Print the share of time that checkpoints take at the default interval."""
    from mggcn.methods import resolve
    from mggcn.run import RunFolder
    from mggcn.train import choose_device

    spent = {"capture": 0.0, "write": 0.0, "writes": 0.0}

    class Timed(Checkpoints):
        def epoch_ended(self, capture):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
            started, before = time.perf_counter(), self._written
            super().epoch_ended(capture)
            spent["capture"] += time.perf_counter() - started
            spent["writes"] += self._written != before

    data = mggcn.load(dataset)
    plan = resolve("mg-gcn", data.name, {"epochs": epochs, "patience": epochs}, sparse=data.is_sparse)
    with tempfile.TemporaryDirectory() as scratch:
        folder = RunFolder.create(Path(scratch) / "run", data, plan, 0, choose_device("cpu"))
        from mggcn.run import folder as module

        module.Checkpoints = Timed  # type: ignore[misc]
        record = folder.train().record
    seconds = sum(epoch.train_seconds + epoch.eval_seconds for epoch in record.curve)
    share = spent["capture"] / (seconds + spent["capture"])
    _print(
        f"{dataset}: {len(record.curve)} epochs in {seconds:.1f} s, {spent['writes']:.0f} checkpoints, "
        f"{spent['capture']:.3f} s for copying and writing them: {share:.2%} of training"
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
