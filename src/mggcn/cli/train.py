"""``mggcn train``: train a method, show its progress and write a run folder; with ``--tune``, search settings first."""

import gc
import shlex
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cyclopts.types import PositiveInt

from mggcn.cli import results
from mggcn.cli.options import Preset, Settings, TrainOptions
from mggcn.errors import InputError, RankError

if TYPE_CHECKING:
    from mggcn.runs import RunFolder
    from mggcn.training import Checkpoints, Progress, Ranks


_LARGEST_SEED = 2**62  # what records hold
_DEFAULTS = TrainOptions()


def train(
    dataset: str | None = None,
    /,
    *,
    method: str | None = None,
    preset: Preset | None = None,
    seed: int | None = None,
    seeds: PositiveInt = 1,
    epochs: int | None = None,
    tune: PositiveInt | None = None,
    settings: Settings = None,
    config: Path | None = None,
    out: Path = Path("runs"),
    resume: Path | None = None,
    warm_start: Path | None = None,
    options: TrainOptions = _DEFAULTS,
) -> None:
    """Train a method on a data set and write a run folder.

    Args:
        dataset: A known name (see `mggcn data list`) or a dataset folder.
        method: A name (see `mggcn methods`), or package.module:Class for a method of your own; default: mg-gcn.
        preset: Where the settings start: our recipe (default), or what the method's paper uses (paper).
        seed: The seed of weights, order and picks; default: 0, or that of --config.
        seeds: The number of runs, with consecutive seeds.
        epochs: The maximum number of epochs; short for --set epochs=N.
        tune: First search settings by this many trials, as `mggcn tune` does, on the validation nodes and in the same
            folder; started again, it continues. What --set, --epochs and --config name is not searched.
        settings: Change settings, as key=value; `mggcn methods NAME` lists the settings of a method.
        config: A config.toml, as in a run folder; the other options override it.
        out: The folder in which run folders are created.
        resume: Continue the run in this folder after its last checkpoint; only --epochs and --set patience= may change.
        warm_start: Start from the weights of the run in this folder, with its method, settings and scaling of features;
            features are matched as for `mggcn predict`.
        options: Shared options.
    """
    from mggcn._io.files import check_writable
    from mggcn.cli.display import Display
    from mggcn.cli.tune import TrialDisplay, default_folder
    from mggcn.data import headline
    from mggcn.experiments import Search, Tuning, require_optuna
    from mggcn.methods.settings import pairs
    from mggcn.runs import Config, Requirements, RunFolder, load_data, load_run, read_config, resolve
    from mggcn.training import Ranks, choose_device, warm_up

    ranks = Ranks.current()
    if not ranks.is_first:
        options = replace(options, quiet=True, report=False)
    changed = {**pairs(settings or []), **({} if epochs is None else {"epochs": epochs})}
    if resume is not None:
        kept = {"method": method, "preset": preset, "seed": seed, "seeds": None if seeds == 1 else seeds, "tune": tune}
        for option, value in {**kept, "config": config, "warm-start": warm_start, "device": options.device}.items():
            if value is not None:
                raise InputError(f"--{option}: a run is resumed as it was started; leave it out beside --resume")
        if not _is_finished(resume, ranks, options):
            data = None if dataset is None else load_data(dataset, options.root, ranks, options.access)
            opened = RunFolder.open(
                resume,
                data,
                changed,
                root=options.root,
                access=options.access,
                allow_import=options.allow_import,
                ranks=ranks,
            )
            options.note(headline(opened.dataset))
            results.show(_train([opened], options), options)
        return
    base = read_config(config, allow_import=options.allow_import) if config else Config(preset="default")
    origin = None
    warm_start = Path(base.warm_start) if warm_start is None and base.warm_start else warm_start
    if warm_start is not None:
        if tune is not None:
            raise InputError("--tune: a warm start has the settings of its run; leave it out beside --warm-start")
        origin = load_run(warm_start, allow_import=options.allow_import)
        base = base if config else Config(method=origin.record.method, settings=origin.record.settings)
    name = dataset or base.dataset
    if name is None:
        raise InputError("train: name a data set, or a --config that names one")
    first_seed = base.seed if seed is None else seed
    if not 0 <= first_seed <= _LARGEST_SEED:
        raise InputError(f"--seed: {str(first_seed)[:40]} is not from 0 to {_LARGEST_SEED:,}")
    changes, start, members = {**base.settings, **changed}, preset or base.preset, base.members_but(changed)
    run_device, method = choose_device(options.device or base.device), method or base.method or "mg-gcn"
    resolve(
        method, name, changes, preset=start, members=members
    )  # a wrong setting is reported before the data are loaded
    if ranks.is_first:
        check_writable(out)
    search_folder = default_folder(name, method)
    if tune is not None:
        if ranks.size > 1:
            raise InputError("--tune: searches in one process; leave it out under torchrun")
        require_optuna()
        check_writable(search_folder)
    if ranks.size == 1:  # ranks have chosen their GPUs, which other threads do not know
        warm_up(run_device)
    data = load_data(name, options.root, ranks, options.access)
    described = origin.as_origin() if origin else None
    plan = resolve(
        method,
        data,
        changes,
        preset=start,
        seed=first_seed,
        device=run_device,
        warm_start=described,
        members=members,
    )
    tuning = None
    if tune is not None:
        tuning = Tuning(Search(data, method, device=run_device, fixed=changes, preset=start), search_folder)
    options.note(headline(data))
    if (needed := Requirements.of(plan.recipes, data)) is not None:
        options.note(str(needed))
        needed.check()
    label = plan.name.rpartition(":")[2]
    with ExitStack() as stack:
        watch = tuned = None
        if tuning is not None and tune is not None:
            display = stack.enter_context(Display(quiet=options.quiet))
            trials = TrialDisplay(display, f"{data.name} {label}", tune, seeds)
            with tuning.opened():
                trials.run(tuning)
                tuned, plan, watch = tuning.best, tuning.best_plan, trials.training
        folder = out / f"{data.name.replace(':', '-').replace('/', '-')}-{label}"
        folders = (
            RunFolder.create(
                Path(f"{folder}-seed{number}"),
                data,
                replace(plan, seed=number),
                origin,
                numbered=True,
                again=ranks.is_restarted,
                ranks=ranks,
            )
            for number in range(first_seed, first_seed + seeds)
        )
        gc.freeze()  # what is imported by now is no garbage, so searches leave it out
        trained = _train(folders, options, seeds, watch)
    results.show(trained, options, None if tuned is None else (tuned, search_folder))


def _train(
    folders: "Iterable[RunFolder]",
    options: TrainOptions,
    count: int = 1,
    watch: "Callable[[int], AbstractContextManager[Progress]] | None" = None,
) -> "list[results.TrainedRun]":
    """Train runs in their folders, which are created one by one.

    Ctrl-C and SIGTERM write a checkpoint and print the command that continues. ``count`` is the number of runs, and
    ``watch`` shows the epochs of a run with this seed, instead of a display of its own.
    """
    from mggcn.cli.display import EpochDisplay
    from mggcn.explore import picks_part

    trained: list[results.TrainedRun] = []
    for folder in folders:
        data, plan = folder.dataset, folder.plan

        def opened(checkpoints: "Checkpoints") -> None:
            if checkpoints.state is not None:
                options.note(f"continues after epoch {checkpoints.state.epoch}, from {checkpoints.folder}")

        title = f"{data.name} {plan.name.rpartition(':')[2]} seed {plan.seed}"
        alone = partial(EpochDisplay, title, plan.training.epochs, quiet=options.quiet)
        with watch(plan.seed) if watch else alone() as progress:
            try:
                run = folder.train(progress, options.checkpoint_every, opened)
            except (KeyboardInterrupt, SystemExit, RankError):
                if folder.ranks.is_first:
                    replace(options, quiet=False).note(f"continue with: {_resume_command(folder, options)}")
                raise
        trained.append(results.TrainedRun(run.record, folder.path, picks_part(run, data) if options.report else None))
        if count > 1:
            options.note(f"seed {plan.seed}: {results.figures(run.record)}")
    return trained


def _resume_command(folder: "RunFolder", options: TrainOptions) -> str:
    """The command that continues a run, by as many ranks."""
    ranks = folder.ranks
    machines = ["--nnodes", str(ranks.size // ranks.local_size)] if ranks.size > ranks.local_size else []
    torchrun = ["torchrun", *machines, "--nproc-per-node", str(ranks.local_size), "-m"] if ranks.size > 1 else []
    values = {"--root": options.root, "--cache": options.cache, "--memory": options.memory}
    rest = [word for option, value in values.items() if value is not None for word in (option, str(value))]
    rest += [
        option for option, is_set in (("--mmap", options.mmap), ("--allow-import", options.allow_import)) if is_set
    ]
    return shlex.join([*torchrun, "mggcn", "train", "--resume", str(folder.path), *rest])


def _is_finished(folder: Path, ranks: "Ranks", options: TrainOptions) -> bool:
    """Whether a run has its record; prints a line that says so."""
    from mggcn.runs import is_finished, load_run

    if not ranks.first(lambda: is_finished(folder)):
        return False
    if ranks.is_first:
        record = load_run(folder, allow_import=options.allow_import).record
        print(f"{folder} is finished after {record.epochs} epochs: test accuracy {record.test_accuracy:.2%}")
    return True
