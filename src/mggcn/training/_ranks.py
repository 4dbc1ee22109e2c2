"""Ranks: the processes that train one model together, each with its share of every batch.

They are the processes of PyTorch's default group, which ``torchrun`` or the caller starts. Every rank holds the whole
graph and the same weights.
"""

import hashlib
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor
from torch import distributed as dist

from mggcn.block import Batch, Nodes, Sampler
from mggcn.errors import InputError, RankError, first_line
from mggcn.keys import Key

if TYPE_CHECKING:
    from torch._C._distributed_c10d import Store

T = TypeVar("T")
Identity = Mapping[str, Any]
"""A table of what must be the same, of a run that is resumed or of ranks that train together."""

_PATIENCE = timedelta(minutes=60)  # for what one rank does while the others wait, such as a download
_REPORTED = timedelta(seconds=4)  # for the first rank to meet the same error
_POLL = 0.02  # seconds
_TIMEOUT = timedelta(seconds=40)  # for a step or an evaluation of another rank
_STARTED = "started"  # a key of torchrun's store, which other starts of the ranks leave there
_DIGEST, _SHOWN = 64, 200  # characters
_GLOO = re.compile(r"\[\S*\.cc:\d+\] ")  # gloo's messages start with a line of its source


@dataclass(frozen=True)
class Ranks:
    """The processes that train one model together; by default one process alone, whose sums and gathers change nothing.

    Attributes:
        rank: the number of this process.
        size: the number of processes.
        local_size: the number of processes on this machine.
        is_restarted: whether ``torchrun`` has started them again after a failure.
        local_rank: the number of this process on its machine.
        group: for values that are not tensors, whose ranks wait long for each other; None for one process alone.
        store: that the ranks share, if :meth:`join` has started them.
    """

    rank: int = 0
    size: int = 1
    local_size: int = 1
    is_restarted: bool = False
    local_rank: int = 0
    group: Any = field(default=None, repr=False)
    store: Any = field(default=None, repr=False)

    @staticmethod
    def current() -> "Ranks":
        """The ranks of PyTorch's default process group; one process alone if there is no group."""
        return _of_world() if dist.is_available() and dist.is_initialized() else ALONE

    @staticmethod
    def join() -> "Ranks":
        """Start PyTorch's default process group with the ranks that ``torchrun`` has started."""
        from torch._C._distributed_c10d import PrefixStore
        from torch.distributed.rendezvous import rendezvous

        store, rank, size = next(iter(rendezvous("env://")))
        local_rank = int(os.environ.get("LOCAL_RANK", "0"))
        has_gpus = torch.cuda.is_available() and dist.is_nccl_available()
        if has_gpus and local_rank < torch.cuda.device_count():
            torch.cuda.set_device(local_rank)
        backend = "cpu:gloo,cuda:nccl" if has_gpus else "gloo"
        of_start = PrefixStore(name_of_start(store, rank, size), store)
        is_restarted = store.check([_STARTED]) or os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0"
        dist.init_process_group(backend, store=of_start, rank=rank, world_size=size, timeout=_TIMEOUT)
        store.set(_STARTED, "")
        return _of_world(of_start, is_restarted=is_restarted)

    @property
    def is_first(self) -> bool:
        """Whether this is the rank that writes and prints."""
        return self.rank == 0

    def part(self, count: int) -> slice:
        """This rank's share of ``count`` rows, of which the ranks have consecutive ranges.

        Shares differ by one row at most, and that of fewer rows is never larger.
        """
        size, rest = divmod(count, self.size)
        start = self.rank * size + min(self.rank, rest)
        return slice(start, start + size + (self.rank < rest))

    def check(self, device: torch.device, batch_size: int, identity: Mapping[str, Any]) -> None:
        """Raise InputError, on every rank, unless the ranks can train together.

        Args:
            device: of the model.
            batch_size: targets per step, over all ranks.
            identity: what must be the same on all ranks.
        """
        if self.group is None:
            return
        identities = self.every(dict(identity))
        for rank, other in enumerate(identities):
            if found := difference(identities[0], other, ", but rank 0 has"):
                raise InputError(f"rank {rank}: {found}")
        if batch_size < self.size:
            raise InputError(f"batch_size: {batch_size} is smaller than the number of ranks, {self.size}")
        problem, backends, num_gpus = "", dist.get_backend_config(), torch.cuda.device_count()
        backend = f"{device.type}:{'nccl' if device.type == 'cuda' else 'gloo'}"
        if backend not in backends:
            problem = f"device: {device.type} needs a process group with {backend}, not {backends}"
        elif device.type == "cuda" and self.local_size > num_gpus:
            problem = f"device: {self.local_size} ranks on a machine with {num_gpus} GPUs; each needs its own"
        self._agree(problem)

    def add_gradients(self, parameters: Iterable[Tensor]) -> None:
        """Replace every gradient by its sum over the ranks; a missing one counts as zero."""
        if self.group is None:
            return
        trained = [parameter for parameter in parameters if parameter.requires_grad]
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in trained]
        flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
        with _watching():
            dist.all_reduce(flat)
        for parameter, gradient in zip(trained, torch.split(flat, [p.numel() for p in trained]), strict=True):
            parameter.grad = gradient.view_as(parameter)

    def add(self, values: Tensor) -> Tensor:
        """The sums over the ranks, which are added in their order, so that all ranks have the same bits."""
        if self.group is None:
            return values
        parts = [torch.empty_like(values) for _ in range(self.size)]
        with _watching():
            dist.all_gather(parts, values)
        return sum(parts[1:], start=parts[0])

    def gather(self, rows: Tensor) -> Tensor:
        """The rows of all ranks, in their order, on the device of ``rows``."""
        if self.group is None:
            return rows
        return torch.cat([part.to(rows.device) for part in self.every(rows.cpu()) if part.numel()])

    def every(self, value: T) -> list[T]:
        """The values of all ranks."""
        values: list[Any] = [value] * self.size
        if self.group is not None:
            with _watching():
                dist.all_gather_object(values, value, group=self.group)
        return values

    def first(self, function: Callable[[], T]) -> T:
        """Call a function on the first rank; all ranks have its result, or its InputError."""
        if self.group is None:
            return function()
        result: list[Any] = [None]
        if self.is_first:
            try:
                result = [function()]
            except InputError as error:
                result = [error]
        with _watching():
            dist.broadcast_object_list(result, 0, group=self.group)
        value: T | InputError = result[0]
        if isinstance(value, InputError):
            raise value
        return value

    def in_turn(self, function: Callable[[], T]) -> T:
        """Call a function on the first rank of every machine, then on the others, which find what it stored."""
        if self.group is None:
            return function()
        results: list[T] = []
        for is_turn in (self.local_rank == 0, self.local_rank > 0):
            problem = ""
            try:
                results += [function()] if is_turn else []
            except InputError as error:
                problem = str(error)
            self._agree(problem)
        return results[0]

    def is_reported(self, message: str) -> bool:
        """Say that this rank ends with an error; return whether the first rank ends with the same one."""
        if self.store is None:
            return False
        self.store.set(f"error/{self.rank}", message)
        try:
            self.store.wait(["error/0"], _REPORTED)
            return not self.is_first and bool(self.store.get("error/0").decode() == message)
        except RuntimeError:  # it has none, or it has ended and with it the store
            return False

    def _agree(self, problem: str) -> None:
        """Raise the problem of the first rank that has one, on all ranks."""
        for rank, message in enumerate(self.every(problem)):
            if message:
                raise InputError(f"rank {rank}: {message}" if rank else message)


ALONE = Ranks()
"""One process."""

_groups: WeakKeyDictionary[Any, Ranks] = WeakKeyDictionary()  # what is left when Python ends can abort it


@contextmanager
def _watching() -> Iterator[None]:
    """Turn the errors of a lost connection into one line; ``torchrun`` names the rank that was lost."""
    try:
        yield
    except RuntimeError as error:
        reason = _GLOO.sub("", first_line(error)).partition(". ")[0]
        raise RankError(f"another rank ended or does not answer ({reason})") from None


def name_of_start(store: "Store", rank: int, size: int) -> str:
    """A name that ranks which were started together agree on.

    When ``torchrun`` starts ranks again, its store still has the keys of the ranks before, with their addresses.
    """
    store.set(f"start/{rank}", uuid4().hex)
    while True:
        starts = [store.get(f"start/{other}").decode() for other in range(size)]
        name = hashlib.sha256(" ".join(starts).encode()).hexdigest()
        store.set(f"{name}/{rank}", "")
        if store.check([f"{name}/{other}" for other in range(size)]):
            return name
        time.sleep(_POLL)


def _of_world(store: "Store | None" = None, *, is_restarted: bool = False) -> Ranks:
    """The ranks of the default process group; every rank calls it at the same time."""
    world = dist.group.WORLD
    if world not in _groups:
        group = dist.new_group(backend="gloo", timeout=_PATIENCE)
        rank, size = dist.get_rank(), dist.get_world_size()
        local_rank, local_size = (os.environ.get(name) for name in ("LOCAL_RANK", "LOCAL_WORLD_SIZE"))
        _groups[world] = Ranks(rank, size, int(local_size or size), is_restarted, int(local_rank or rank), group, store)
    return _groups[world]


@dataclass(frozen=True, eq=False)
class Shares(Sampler):
    """Draws this rank's share of every batch of a sampler, so that losses of the ranks add up to that of one process.

    What the sampler draws for a target does not depend on the rest of the batch. All ranks have the same number of
    batches; one without a share of the last, which can be smaller than the number of ranks, has an empty one.
    """

    sampler: Sampler
    ranks: Ranks
    labels: Tensor  # [num_nodes]
    class_weight: Tensor | None  # [num_classes]

    @property
    def device(self) -> torch.device:
        """The device on which the sampler draws."""
        return self.sampler.device

    def batches(self, targets: Nodes | Tensor, key: Key, batch_size: int) -> Iterator[Batch]:
        """One pass over ``targets``, which all ranks have in the same order; ``batch_size`` is that of all ranks."""
        count, each = len(targets), self.ranks.part(batch_size)
        sizes = [min(batch_size, count - start) for start in range(0, count, batch_size)]
        parts = [self.ranks.part(size) for size in sizes]
        ranges = [np.arange(part.start, part.stop) + n * batch_size for n, part in enumerate(parts)]
        rows = np.concatenate([np.empty(0, np.int64), *ranges])
        own = targets[torch.from_numpy(rows).to(targets.device)] if isinstance(targets, Tensor) else targets[rows]
        drawn = self.sampler.batches(own, key, each.stop - each.start)
        return self._weighted(drawn, sizes, parts, self._factors(targets, sizes))

    def _factors(self, targets: Nodes | Tensor, sizes: list[int]) -> Tensor:
        """[batches] the factor of a target's loss in every batch: 1 over the sum of the whole batch's weights."""
        counts = torch.tensor(sizes, device=self.labels.device)
        if self.class_weight is None:
            return 1 / counts.float()
        nodes = torch.as_tensor(targets).long().to(self.labels.device)
        number = torch.repeat_interleave(torch.arange(len(sizes), device=counts.device), counts)
        totals = torch.zeros(len(sizes), device=counts.device, dtype=torch.float64)
        return (1 / totals.index_add(0, number, self.class_weight[self.labels[nodes]].double())).float()

    def _weighted(
        self, drawn: Iterator[Batch], sizes: list[int], parts: list[slice], factors: Tensor
    ) -> Iterator[Batch]:
        if factors.is_cuda:
            factors.record_stream(torch.cuda.current_stream())
        nothing = torch.empty(0, dtype=torch.int64, device=self.device)
        for size, part, factor in zip(sizes, parts, factors, strict=True):
            batch = next(drawn) if part.stop > part.start else Batch(nothing, (), nothing)
            yield replace(batch, weight=factor.expand(batch.targets.numel()).contiguous(), count=size)


def difference(one: Identity, other: Identity, but: str) -> str:
    """The first field in which two identities differ: its value in ``other``, ``but``, that in ``one``; else empty."""
    for name in sorted({*one, *other}):
        left, right = one.get(name), other.get(name)
        if left != right:
            if isinstance(left, Mapping) and isinstance(right, Mapping):
                return difference(left, right, but)
            return f"{name.replace('_', ' ')} {_short(right)}{but} {_short(left)}"
    return ""


def _short(value: object) -> str:
    try:
        text = str(value)
    except RecursionError:
        return "a value that is nested too deeply"
    shown = 12 if len(text) == _DIGEST else _SHOWN
    return text if len(text) <= shown else f"{text[:shown]}…"
