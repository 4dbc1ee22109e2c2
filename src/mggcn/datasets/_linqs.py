"""Cora as LINQS published it: ``cora.content`` (id, 1,433 words, class) and ``cora.cites`` (cited, citing).

These files do not contain Planetoid's published split. A seeded random split of the same sizes is used instead, and
the data set's source says so.
"""

from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from mggcn.dataset import Dataset, Split
from mggcn.errors import InputError, prefix_errors
from mggcn.graph import Graph

FOLDER = Path("linqs") / "cora"
DIGESTS = {
    "cora.content": "0955f03baddbea9911f53814d7781129b71b066e5b442d0a5bd51f439c442082",
    "cora.cites": "316d45e0e48387392c70cc3e3915e43f6f5c147ea45c973971e2c9140aaadacf",
}
# In the order of Planetoid's labels, which follows from the class sizes (all different).
CLASSES = (
    *("Theory", "Reinforcement_Learning", "Genetic_Algorithms", "Neural_Networks"),
    *("Probabilistic_Methods", "Case_Based", "Rule_Learning"),
)
SIZES = (1208, 500, 1000)


def read_cora(folder: Path, *, seed: int = 0) -> Dataset:
    """Read LINQS's two files from ``folder``."""
    ids, x, y = _read_content(folder / "cora.content")
    source, target = _read_cites(folder / "cora.cites", {name: node for node, name in enumerate(ids)})
    order = np.random.default_rng(seed).permutation(len(ids))
    train, val, test = (np.sort(part) for part in np.split(order, np.cumsum(SIZES))[:3])
    return Dataset(
        name="cora",
        graph=Graph.from_edges(source, target, len(ids)),
        x=x,
        y=y,
        classes=CLASSES,
        split=Split(train, val, test),
        node_ids=np.array([int(name) for name in ids], dtype=np.int64),
        source=f"LINQS cora.content and cora.cites; random split {'/'.join(map(str, SIZES))} of seed {seed}, "
        "not the published one",
    )


def _read_content(path: Path) -> tuple[list[str], csr_array, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    ids, words, labels = [], [], []
    with prefix_errors(path), path.open(encoding="ascii") as file:
        for number, line in enumerate(file, 1):
            name, *row, label = line.rstrip("\n").split("\t")
            if label not in CLASSES:
                raise InputError(f"line {number}: class {label!r} is not one of {', '.join(CLASSES)}")
            ids.append(name)
            words.append(np.array(row, dtype=np.float32))
            labels.append(CLASSES.index(label))
    return ids, csr_array(np.stack(words)), np.array(labels, dtype=np.int64)


def _read_cites(path: Path, nodes: dict[str, int]) -> tuple[list[int], list[int]]:
    source, target = [], []
    with prefix_errors(path), path.open(encoding="ascii") as file:
        for number, line in enumerate(file, 1):
            cited, citing = line.split()
            for name in (cited, citing):
                if name not in nodes:
                    raise InputError(f"line {number}: paper {name!r} is not in cora.content")
            source.append(nodes[citing])
            target.append(nodes[cited])
    return source, target
