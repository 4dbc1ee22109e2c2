"""Every command of ``mggcn``, on the files of a stage."""

from random import Random

from benchmarks.faults.stage import RUN
from mggcn.methods import METHODS

TRAIN = "train tiny --epochs 3 --no-report --quiet --checkpoint-every 0 --out out"
WRITING = {
    "train": TRAIN,
    "train with a page": "train tiny --epochs 2 --quiet --out out",
    "train, mapped": f"{TRAIN} --mmap",
    "train, three seeds": f"{TRAIN} --seeds 3",
    "train --resume": "train --resume unfinished --epochs 30 --set patience=5 --no-report --quiet --checkpoint-every 0",
    "train --warm-start": f"{TRAIN} --warm-start {RUN}",
    "train --tune": f"{TRAIN} --tune 2",
    "compare": "compare tiny --methods METHOD,METHOD --seeds 1 --set epochs=2 --quiet --out out",
    "compare, continued": "compare tiny --methods sgc,mlp,METHOD --seeds 1 --set epochs=2 --quiet --out compared",
    "ablate": "ablate tiny --seeds 1 --set epochs=1 --quiet --out out",
    "tune": "tune tiny --trials 3 --set epochs=1 --quiet --out out",
    "tune, continued": "tune tiny --trials 4 --set epochs=1 --quiet --out tuned",
    "predict to CSV": f"predict {RUN} --out out.csv",
    "predict to Parquet": f"predict {RUN} --out out.parquet",
    "predict to JSON lines": f"predict {RUN} --out out.jsonl --embeddings out.npy",
    "report": "report made compared --out out.html",
    "report as text": "report made compared --format md --out out.md",
    "report --format json": "report compared experimented --format json --out out.json",
    "experiment run": "experiment run small.toml --quiet --out out",
    "experiment run, continued": "experiment run small.toml --seeds 2 --quiet --out experimented",
    "data import of tables": "data import edges.csv --nodes nodes.csv --out out",
    "data import --overwrite": "data import edges.csv --nodes nodes.csv --out tiny --overwrite",
    "data import --memory": "data import edges.csv --nodes nodes.csv --out out --memory 500MB --quiet",
    "data import of .npz": "data import tiny.npz --out out",
    "data get": "data get ethereum-like:0.001 --root out",
    "data cache clear": "data cache clear tiny",
    "ethereum simulate": "ethereum simulate --scale 0.002 --out out.parquet",
    "ethereum labels": "ethereum labels list.json --out out.csv",
    "ethereum build": "ethereum build chain.parquet --labels chain.labels.csv --quiet --out out",
    "ethereum build --overwrite": "ethereum build chain.parquet --labels chain.labels.csv --out accounts --overwrite",
    "bench": "bench pick --dataset ethereum-like --scale 0.001 --repeats 1 --out out --root out",
}
READING = {
    "doctor": "doctor",
    "methods": "methods mg-gcn",
    "explore": f"explore {RUN} --port 0",
    "experiment status": "experiment status small.toml --out experimented",
    "experiment list": "experiment list .",
    "data info": "data info tiny",
    "data verify": "data verify tiny",
    "data list": "data list",
    "data cache list": "data cache list tiny",
    "ethereum build --engine sql": "ethereum build transactions --engine sql",
}
ALL = {**WRITING, **READING}


def arguments(line: str, draw: Random) -> list[str]:
    """A command as arguments, with a method drawn wherever METHOD is."""
    while "METHOD" in line:
        line = line.replace("METHOD", draw.choice(list(METHODS)), 1)
    return line.split()
