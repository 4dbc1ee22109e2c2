"""Runs of several methods, or variants of one, on a data set: which they are, and carrying out those not yet done.

A run is named by its spec, and what has been done is read from a ledger and added to it, so that work that was
interrupted goes on where it was.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from mggcn import methods
from mggcn.dataset import Dataset, Split
from mggcn.errors import InputError, unknown
from mggcn.records import spec
from mggcn.records.ledger import Ledger
from mggcn.records.record import RunRecord
from mggcn.records.spec import RunSpec
from mggcn.records.summary import Summary
from mggcn.run import fit
from mggcn.train import Progress, Training
from mggcn.train.progress import Silent

_FEW = 512


@dataclass(frozen=True)
class Variant:
    """One line of a comparison.

    Attributes:
        label: how tables call it.
        method: a name from :data:`mggcn.methods.METHODS`.
        settings: what makes it a variant of that method.
    """

    label: str
    method: str
    settings: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Job:
    """One run of a variant; two variants that come to the same settings share a spec, and so a run."""

    variant: Variant
    spec: RunSpec

    @property
    def title(self) -> str:
        """The variant and the seed."""
        return f"{self.variant.label} seed {self.spec.seed}"

    @property
    def most_epochs(self) -> int:
        """Where training ends at the latest."""
        return int(self.spec.settings["epochs"])


@dataclass(frozen=True, eq=False)
class Outcome:
    """What became of a job: the record of its run, or, for want of one, the reason."""

    job: Job
    record: RunRecord | None
    reason: str = ""


def variants_of(names: Iterable[str]) -> list[Variant]:
    """Methods as they are, in the order given; ``all`` stands for every one."""
    found: dict[str, Variant] = {}
    for name in names:
        if name != "all" and name not in methods.METHODS:
            raise unknown("method", name, [*methods.METHODS, "all"])
        found |= {each: Variant(each, each) for each in (methods.METHODS if name == "all" else [name])}
    return list(found.values())


def resolve(variants: Sequence[Variant], dataset: str, common: Mapping[str, object]) -> list[methods.Plan]:
    """Each variant with every setting.

    Args:
        variants: the lines of the comparison; what they set themselves comes last.
        dataset: its name, which decides the defaults.
        common: changes for every method that has such a setting; one must.
    """
    known = {variant.method: _settings_of(variant.method) for variant in variants}
    for name in common:
        if not any(name in names for names in known.values()):
            raise unknown("setting", name, set().union(*known.values()))
    plans = []
    for variant in variants:
        shared = {name: value for name, value in common.items() if name in known[variant.method]}
        try:
            plans.append(methods.resolve(variant.method, dataset, {**shared, **variant.settings}))
        except InputError as error:
            raise InputError(f"{variant.label}: {error}") from None
    return plans


def plan(
    dataset: Dataset,
    variants: Sequence[Variant],
    seeds: Sequence[int],
    *,
    device: str,
    common: Mapping[str, object] | None = None,
) -> list[Job]:
    """The runs of a comparison, ordered so that every variant has had a seed before any has two.

    Args:
        dataset: with a split.
        variants: the lines of the comparison.
        seeds: each variant is trained with every one.
        device: ``cpu`` or ``cuda``.
        common: see :func:`resolve`.
    """
    dataset.require_split()
    return plan_of(spec.identity(dataset), variants, seeds, device=device, common=common)


def plan_of(
    identity: Mapping[str, Any],
    variants: Sequence[Variant],
    seeds: Sequence[int],
    *,
    device: str,
    common: Mapping[str, object] | None = None,
) -> list[Job]:
    """As :func:`plan`, from what :func:`mggcn.records.spec.identity` says of a data set, not the data set."""
    plans = resolve(variants, identity["name"], common or {})
    return [
        Job(variant, RunSpec(identity, variant.method, seed, device, resolved.settings))
        for seed in seeds
        for variant, resolved in zip(variants, plans, strict=True)
    ]


def recall(jobs: Iterable[Job], ledger: Ledger) -> list[Outcome]:
    """The outcomes of those jobs whose record the ledger holds already."""
    return [Outcome(job, ledger.records[job.spec.digest]) for job in jobs if job.spec.digest in ledger.records]


def execute(
    dataset: Dataset,
    jobs: Iterable[Job],
    ledger: Ledger,
    watch: Callable[[Job], Progress],
    warm: set[str] | None = None,
) -> Iterator[Outcome]:
    """Carry out, one by one, the jobs whose record the ledger does not hold.

    A run that cannot be had (a package is missing, it would not fit into memory, it diverges) leaves its reason and
    does not stop the others; it is tried again the next time. Before the first run of a variant it trains an epoch that
    is not recorded, so that loading libraries and compiling kernels are in nobody's figures: on a CPU with few targets,
    on a GPU with all of them, where kernels are compiled for shapes.

    Args:
        dataset: what the jobs were planned for.
        jobs: in the order wanted.
        ledger: of finished runs; gets each new one as soon as it is done.
        watch: called when a run starts; what it returns hears of the run's epochs.
        warm: labels of the variants that this process has trained before; new ones are added.
    """
    warm = set() if warm is None else warm
    for job in [job for job in jobs if job.spec.digest not in ledger.records]:
        if job.spec.digest not in ledger.records:
            progress = watch(job)
            try:
                if job.variant.label not in warm:
                    known = _with_few_targets(dataset) if job.spec.device == "cpu" else dataset
                    _train(known, replace(job.spec, settings={**job.spec.settings, "epochs": 1}), Silent())
                    warm.add(job.variant.label)
                ledger.add(job.spec.digest, _train(dataset, job.spec, progress))
            except InputError as error:
                yield Outcome(job, None, str(error))
                continue
        yield Outcome(job, ledger.records[job.spec.digest])


def summarise(
    dataset: Dataset,
    variants: Sequence[Variant],
    outcomes: Sequence[Outcome],
    seeds: int,
    device: str,
    common: Mapping[str, object] | None = None,
) -> list[Summary]:
    """A summary of each variant from the outcomes so far, beside the published accuracy where it is comparable."""
    identity, plans = spec.identity(dataset), resolve(variants, dataset.name, common or {})
    return [
        Summary.of(
            variant.label,
            variant.method,
            [outcome.record for outcome in own if outcome.record is not None],
            reasons=[f"seed {outcome.job.spec.seed}: {outcome.reason}" for outcome in own if outcome.record is None],
            seeds=seeds,
            device=device,
            published=methods.published_results(dict(identity), variant.method, resolved.settings).get("accuracy"),
        )
        for variant, resolved in zip(variants, plans, strict=True)
        for own in [[outcome for outcome in outcomes if outcome.job.variant == variant]]
    ]


def _with_few_targets(dataset: Dataset) -> Dataset:
    """The same graph with the same classes, of each part of the split only so many nodes, evenly spread."""
    if (split := dataset.split) is None:
        return dataset
    return dataset.with_split(Split(*(part[:: -(-part.size // _FEW)] for part in (split.train, split.val, split.test))))


def _train(dataset: Dataset, wanted: RunSpec, progress: Progress) -> RunRecord:
    """Only the record of a run, so that its model and inputs are free before the next one starts."""
    return fit(
        dataset,
        wanted.method,
        seed=wanted.seed,
        device=wanted.device,
        settings=wanted.settings,
        progress=progress,
    ).record


def _settings_of(method: str) -> set[str]:
    return {one.name for kind in (methods.method_class(method), Training) for one in fields(kind)}
