"""``mggcn train``: train a method, show its progress and write a run folder; with ``--tune``, search settings first."""

import gc
import json
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mggcn.cli import results
from mggcn.cli.options import DEFAULTS, Preset, RunOptions, Settings, Switch
from mggcn.errors import InputError, RankError

if TYPE_CHECKING:
    from mggcn.experiments import Part, Trial
    from mggcn.runs import Run, RunFolder
    from mggcn.training import Checkpoints, Progress, Ranks, RunRecord


_LARGEST_SEED = 2**62  # what records hold


def train(
    dataset: str | None = None,
    /,
    *,
    method: str | None = None,
    preset: Preset | None = None,
    seed: int | None = None,
    seeds: int = 1,
    epochs: int | None = None,
    tune: int | None = None,
    settings: Settings = None,
    config: Path | None = None,
    out: Path = Path("runs"),
    allow_import: Switch = False,
    report: bool = True,
    per_class: Switch = False,
    resume: Path | None = None,
    warm_start: Path | None = None,
    checkpoint_every: float = 10.0,
    options: RunOptions = DEFAULTS,
) -> None:
    """Train a method on a data set and write a run folder.

    Args:
        dataset: A known name (see `mggcn data list`) or a dataset folder.
        method: A name (see `mggcn methods`), or package.module:Class for a method of your own; default: mg-gcn.
        preset: Where the settings start: our recipe (default), or what the method's paper uses (paper).
        seed: The seed of weights, order and picks; default: 0, or that of --config.
        seeds: The number of runs, with consecutive seeds.
        epochs: The maximum number of epochs; short for --set epochs=N.
        tune: First search settings by so many trials, as `mggcn tune` does, on the validation nodes and in the same
            folder; started again, it continues. What --set, --epochs and --config name is not searched.
        settings: Change settings, as key=value; `mggcn methods NAME` lists the settings of a method.
        config: A config.toml, as in a run folder; the other options override it.
        out: The folder in which run folders are created.
        allow_import: Allow the file of --config, --resume or --warm-start to import the Python code that it names.
        report: Write a page with charts into each run folder; needs `pip install 'mggcn[report]'`.
        per_class: Also print precision, recall and F1 of every class, and how well its probability ranks test nodes.
        resume: Continue the run in this folder after its last checkpoint; only --epochs and --set patience= may change.
        warm_start: Start from the weights of the run in this folder, with its method, settings and scaling of features;
            features are matched as for `mggcn predict`.
        checkpoint_every: Seconds between two checkpoints, at least; 0 writes one after every epoch.
        options: Shared options.
    """
    from mggcn._io.files import check_writable
    from mggcn.cli.display import Display
    from mggcn.cli.tune import TrialDisplay, default_folder
    from mggcn.data import headline
    from mggcn.experiments import Search, Tuning, require_optuna
    from mggcn.methods.settings import pairs
    from mggcn.runs import Config, Requirements, RunFolder, WarmStart, load_data, read_config, resolve
    from mggcn.training import Ranks, choose_device, wake

    ranks, access = Ranks.current(), options.access
    if not ranks.is_first:
        options, report = replace(options, quiet=True), False
    changed = {**pairs(settings or []), **({} if epochs is None else {"epochs": epochs})}
    runs = _Runs(
        seeds,
        report=report,
        per_class=per_class,
        checkpoint_every=checkpoint_every,
        allow_import=allow_import,
        options=options,
    )
    if resume is not None:
        others: dict[str, object] = {
            "method": method,
            "preset": preset,
            "seed": seed,
            "seeds": None if seeds == 1 else seeds,
            "tune": tune,
        }
        others |= {"config": config, "warm-start": warm_start, "device": options.device}
        opened = _open_run(resume, dataset, changed, options, others, allow_import=allow_import, ranks=ranks)
        if opened is not None:
            if not options.quiet:
                print(headline(opened.dataset), file=sys.stderr)  # noqa: T201
            runs.train([opened])
            runs.show()
        return
    base = read_config(config, allow_import=allow_import) if config else Config(preset="default")
    origin = None
    warm_start = Path(base.warm_start) if warm_start is None and base.warm_start else warm_start
    if warm_start is not None:
        if tune is not None:
            raise InputError("--tune: a warm start has the settings of its run; leave it out beside --warm-start")
        origin = WarmStart.of(warm_start, allow_import=allow_import)
        base = base if config else Config(method=origin.run.record.method, settings=origin.run.record.settings)
    name = dataset or base.dataset
    if name is None:
        raise InputError("train: name a data set, or a --config that names one")
    for option, count in (("seeds", seeds), ("tune", tune)):
        if count is not None and count < 1:
            raise InputError(f"--{option}: {count} is less than 1")
    first_seed = base.seed if seed is None else seed
    if not 0 <= first_seed <= _LARGEST_SEED:
        problem = "is less than 0" if first_seed < 0 else f"is more than {_LARGEST_SEED:,}"
        raise InputError(f"--seed: {str(first_seed)[:40]} {problem}")
    changes = {**base.settings, **changed}
    start = preset or base.preset
    run_device, method = choose_device(options.device or base.device), method or base.method or "mg-gcn"
    resolve(method, name, changes, preset=start)  # a wrong setting is reported before the data are loaded
    if ranks.is_first:
        check_writable(out)
    search_folder = default_folder(name, method)
    if tune is not None:
        if ranks.size > 1:
            raise InputError("--tune: searches in one process; leave it out under torchrun")
        require_optuna()
        check_writable(search_folder)
    if ranks.size == 1:  # ranks have chosen their GPUs, which other threads do not know
        wake(run_device)
    data = load_data(name, options.root, ranks, access)
    described = origin.describe() if origin else None
    plan = resolve(method, data, changes, preset=start, seed=first_seed, device=run_device, warm_start=described)
    tuning = None
    if tune is not None:
        search = Search(data, method, device=run_device, fixed=changes, preset=start)
        tuning = Tuning(search, search_folder)
    needed = Requirements.of(plan, data)
    if not options.quiet:
        print(headline(data), *([needed] if needed else []), sep="\n", file=sys.stderr)  # noqa: T201
    if needed is not None:
        needed.check()
    label = plan.name.rpartition(":")[2]
    with ExitStack() as stack:
        trials = tuned = None
        if tuning is not None and tune is not None:
            display = stack.enter_context(Display(quiet=options.quiet))
            trials = TrialDisplay(display, f"{data.name} {label}", tune, seeds)
            with tuning.opened():
                trials.run(tuning)
                tuned, plan = tuning.best, tuning.best_plan
        create = partial(RunFolder.create, dataset=data, origin=origin, numbered=True)
        create = partial(create, again=ranks.is_restarted, ranks=ranks)
        folder = out / f"{data.name.replace(':', '-').replace('/', '-')}-{label}"
        folders = (
            create(Path(f"{folder}-seed{number}"), plan=replace(plan, seed=number))
            for number in range(first_seed, first_seed + seeds)
        )
        gc.freeze()  # what is imported by now is no garbage, so searches leave it out
        runs.train(folders, None if trials is None else trials.training)
    runs.show(None if tuned is None else (tuned, search_folder))


class _Runs:
    """The runs of the command: trained one after the other, then shown.

    Args:
        count: the number of runs.
        report: as all following ones, an option of the command.
        per_class: see there.
        checkpoint_every: see there.
        allow_import: see there.
        options: see there.
    """

    def __init__(
        self,
        count: int,
        *,
        report: bool,
        per_class: bool,
        checkpoint_every: float,
        allow_import: bool,
        options: RunOptions,
    ) -> None:
        self._count, self._report, self._per_class, self._options = count, report, per_class, options
        self._every, self._allow_import = checkpoint_every, allow_import
        self._results: list[tuple[RunRecord, Path]] = []
        self._parts: list[Part | None] = []

    def train(
        self,
        folders: "Iterable[RunFolder]",
        watch: "Callable[[int], AbstractContextManager[Progress]] | None" = None,
    ) -> None:
        """Train the runs in their folders, which are created one by one.

        Args:
            folders: of the runs.
            watch: what shows the epochs of a run with this seed; a display of its own if None.
        """
        from mggcn.cli.display import EpochDisplay
        from mggcn.explore import picks_part

        for folder in folders:
            data, plan, quiet = folder.dataset, folder.plan, self._options.quiet
            title = f"{data.name} {plan.name.rpartition(':')[2]} seed {folder.plan.seed}"
            alone = partial(EpochDisplay, title, plan.training.epochs, quiet=quiet)
            again = _resume_command(folder.path, self._options, allow_import=self._allow_import, ranks=folder.ranks)
            with watch(folder.plan.seed) if watch else alone() as progress:
                run = _train_in(folder, progress, self._every, again, quiet=quiet)
            self._results.append((run.record, folder.path))
            self._parts.append(picks_part(run, data) if self._report else None)
            if self._count > 1 and not quiet:
                print(results.line(run.record), file=sys.stderr)  # noqa: T201

    def show(self, tuned: "tuple[Trial, Path] | None" = None) -> None:
        """Write the pages of the runs and print the result; ``tuned``: the best trial of a search, and its folder."""
        missing = results.write_pages(self._results, self._parts) if self._report else ""
        if missing and not self._options.quiet:
            print(f"no {results.PAGE}: {missing}", file=sys.stderr)  # noqa: T201
        print(results.text(self._results, has_page=self._report and not missing))  # noqa: T201
        if tuned is not None:
            print(results.of_search(*tuned))  # noqa: T201
        records = [record for record, _ in self._results]
        for table in results.tables(records) if self._per_class else []:
            print(f"\n{table}")  # noqa: T201
        if self._options.as_json:
            by_class: dict[str, object] = {}
            if self._per_class:
                rankings = [asdict(record.ranking) if record.ranking else None for record in records]
                by_class = {"per_class": results.classes(records), "rankings": rankings}
            searched = {"tuned": {**asdict(tuned[0]), "out": str(tuned[1])}} if tuned else {}
            print(json.dumps(results.summary(self._results) | by_class | searched))  # noqa: T201


def _train_in(folder: "RunFolder", progress: "Progress", every: float, command: str, *, quiet: bool) -> "Run":
    """Train a run; Ctrl-C and SIGTERM write a checkpoint and print the command that continues.

    Args:
        folder: of the run.
        progress: is called with every epoch.
        every: seconds between two checkpoints, at least.
        command: that continues the run.
        quiet: print nothing about an earlier checkpoint.
    """

    def opened(checkpoints: "Checkpoints") -> None:
        if checkpoints.state is not None and not quiet:
            _say(f"continues after epoch {checkpoints.state.epoch}, from {checkpoints.folder}")

    try:
        return folder.train(progress, every, opened)
    except (KeyboardInterrupt, SystemExit, RankError):
        if folder.ranks.is_first:
            _say(f"continue with: {command}")
        raise


def _resume_command(folder: Path, options: RunOptions, *, allow_import: bool, ranks: "Ranks") -> str:
    """The command that continues a run, by as many ranks."""
    machines = ["--nnodes", str(ranks.size // ranks.local_size)] if ranks.size > ranks.local_size else []
    torchrun = ["torchrun", *machines, "--nproc-per-node", str(ranks.local_size), "-m"] if ranks.size > 1 else []
    values = {"--root": options.root, "--cache": options.cache, "--memory": options.memory}
    rest = [word for option, value in values.items() if value is not None for word in (option, str(value))]
    rest += [option for option, is_set in (("--mmap", options.mmap), ("--allow-import", allow_import)) if is_set]
    return shlex.join([*torchrun, "mggcn", "train", "--resume", str(folder), *rest])


def _open_run(
    folder: Path,
    dataset: str | None,
    changes: Mapping[str, object],
    options: RunOptions,
    others: Mapping[str, object],
    *,
    allow_import: bool,
    ranks: "Ranks",
) -> "RunFolder | None":
    """The folder of a run to resume; None, and a line that says so, if the run is finished.

    Args:
        folder: of the run.
        dataset: the name or folder of the same data, if it is elsewhere now.
        changes: of settings.
        options: of the command, for the data.
        others: options that a resumed run does not take, by name; all must be None.
        allow_import: whether the run may import code.
        ranks: that train the run.
    """
    from mggcn.runs import RunFolder, is_finished, load_data, load_run

    for option, value in others.items():
        if value is not None:
            raise InputError(f"--{option}: a run is resumed as it was started; leave it out beside --resume")
    if ranks.first(lambda: is_finished(folder)):
        if ranks.is_first:
            record = load_run(folder, allow_import=allow_import).record
            print(f"{folder} is finished after {record.epochs} epochs: test accuracy {record.test_accuracy:.2%}")  # noqa: T201
        return None
    root, access = options.root, options.access
    data = None if dataset is None else load_data(dataset, root, ranks, access)
    return RunFolder.open(folder, data, changes, root=root, access=access, allow_import=allow_import, ranks=ranks)


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
