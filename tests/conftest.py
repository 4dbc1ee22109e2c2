"""Fixtures shared by all tests."""

import gc
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, settings

from mggcn.data._dataset import Dataset
from mggcn.data._split import Split
from mggcn.graph import Graph
from tests.skips import real_data, summary

torch.set_warn_always(True)  # of an array that a tensor could write to, each time

# Without a GPU the Triton kernels run in Triton's interpreter, which must be chosen before they are imported.
if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"

# `make test ALL=yes` chooses "ci"; a test that needs more or fewer examples than others says how many times as many.
settings.register_profile("ci", max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("dev", settings.get_profile("ci"), max_examples=30)
settings.load_profile("dev")


@pytest.fixture
def small() -> Dataset:
    """The data set of :func:`small_dataset`."""
    return small_dataset()


def small_dataset() -> Dataset:
    """Sixty nodes in three classes: features follow the class, edges mostly do, two nodes are isolated."""
    rng = np.random.default_rng(7)
    n, classes = 60, 3
    y = np.arange(n) % classes
    source, target = rng.integers(0, n - 2, 300), rng.integers(0, n - 2, 300)
    keep = (y[source] == y[target]) | (rng.random(300) < 0.1)
    x = (np.eye(classes)[y] + rng.normal(0, 0.7, (n, classes))).astype(np.float32)
    order = rng.permutation(n)
    split = Split.of(np.sort(order[:30]), np.sort(order[30:42]), np.sort(order[42:]))
    ids = np.array([f"node-{i}" for i in range(n)])
    graph = Graph.from_edges(source[keep], target[keep], n)
    return Dataset("small", graph, x, y.astype(np.int64), ("red", "green", "blue"), split, ids)


TYPES = ("lends", "pays")


def payments(seed: int = 0, types: tuple[str, ...] = TYPES, **changes: object) -> Dataset:
    """A directed graph with weights and types."""
    rng = np.random.default_rng(seed)
    ends, weight = rng.integers(0, 60, (2, 400)), rng.lognormal(size=400)
    known = {"direction": "directed", "weight": weight, "types": types} | changes
    known["edge_type"] = rng.integers(0, len(types), 400) if known["types"] else None
    graph = Graph.from_edges(*ends, 60, **known)
    y = rng.integers(0, 2, 60)
    x = rng.normal(size=(60, 3)).astype(np.float32)
    split = Split(np.arange(30), np.arange(30, 42), np.arange(42, 60))
    return Dataset("payments", graph, x, y, ("honest", "fraud"), split)


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The folder of real data files, see :mod:`tests.skips`."""
    return real_data("planetoid").parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--strict-skips", action="store_true", help="fail if a test is skipped that must run, see tests.skips"
    )


def pytest_collection_finish() -> None:
    """Leave what was imported out of later searches for garbage, of which every training makes one."""
    gc.freeze()


def pytest_unconfigure() -> None:
    """Let Python free it at the end; some libraries report what is left."""
    gc.unfreeze()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """List skipped tests and fail for those that must run; of several processes, the first does it."""
    if not session.config.getoption("--strict-skips") or hasattr(session.config, "workerinput"):
        return
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    reports = reporter.stats.get("skipped", [])
    lines, is_allowed = summary([(report.nodeid, report.longrepr[2].removeprefix("Skipped: ")) for report in reports])
    reporter.write_line("")
    for line in lines:
        reporter.write_line(line)
    if not is_allowed and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
