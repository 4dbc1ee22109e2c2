"""Malformed inputs of every command: one line, exit code 2, and nothing is written."""

import io
import json
import zipfile
from random import Random

import numpy as np

from benchmarks.faults.processes import run
from benchmarks.faults.stage import RUN, Stage, contents


def _npy(array: object) -> bytes:
    file = io.BytesIO()
    np.save(file, np.asarray(array))
    return file.getvalue()


def _bomb() -> bytes:
    """An archive whose only array claims far more than it holds."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("x.npy", _npy(np.zeros(1)).replace(b"(1,)", b"(99999999999,)")[: 1 << 10])
    return file.getvalue()


CONTENTS: dict[str, bytes] = {
    "nothing": b"",
    "zeros": bytes(100),
    "random bytes": Random(0).randbytes(1_000),  # noqa: S311
    "no UTF-8": "id,größe\n1,ü\n".encode("latin-1"),
    "a lone quote": b'id,"one\n1,2\n',
    "other columns": b"a,b\n1,2\n",
    "deep nesting": b"[" * 100_000,
    "a deep object": b'{"a":' * 50_000,
    "a long integer": b'{"num_nodes": ' + b"9" * 5_000 + b"}",
    "a lone surrogate": b'{"name": "\\ud800"}',
    "an empty object": b"{}",
    "an empty list": b"[]",
    "null": b"null",
    "an unknown field": b'{"unknown": 1}',
    "NaN": b'{"name": NaN}',
    "a TOML table": b"[unknown]\nfield = 1\n",
    "deep TOML": b"a = " + b"[" * 10_000,
    "control characters": b"\x1b[2J\x07id,label\n\x1b,\n",
    "an array": _npy(np.zeros(3)),
    "a pickle": b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00\x8c\x07builtin\x94.",
    "an archive that claims too much": _bomb(),
    "a long line": b"x" * 1_000_000,
    "a record of something else": json.dumps({"format": "other", "version": 99}).encode(),
}
FILES = (
    ("bad.csv", "data import bad.csv --out out"),
    ("bad.csv", "data import edges.csv --nodes bad.csv --out out"),
    ("bad.csv", "data import bad.csv --out out --memory 500MB --quiet"),
    ("bad.npz", "data import bad.npz --out out"),
    ("tiny/meta.json", "data info tiny"),
    ("tiny/meta.json", "data verify tiny"),
    ("tiny/x.npy", "train tiny --quiet --out out"),
    ("tiny/indptr.npy", "compare tiny --quiet --out out"),
    ("tiny/indices.npy", "train tiny --mmap --quiet --out out"),
    ("tiny/y.npy", "ablate tiny --quiet --out out"),
    (f"{RUN}/record.json", f"predict {RUN} --out out.csv"),
    (f"{RUN}/weights.safetensors", f"predict {RUN} --out out.csv"),
    (f"{RUN}/split.npz", f"predict {RUN} --out out.csv"),
    (f"{RUN}/record.json", f"explore {RUN} --port 0"),
    (f"{RUN}/weights.safetensors", f"train tiny --warm-start {RUN} --quiet --out out"),
    ("bad.txt", f"predict {RUN} --nodes bad.txt --out out.csv"),
    ("bad.json", "report bad.json --out out.html"),
    ("bad.jsonl", "report bad.jsonl --out out.html"),
    ("bad.toml", "experiment run bad.toml --quiet --out out"),
    ("bad.toml", "experiment status bad.toml"),
    ("bad.toml", "train --config bad.toml --quiet --out out"),
    ("unfinished/config.toml", "train --resume unfinished --quiet"),
    ("compared/records.jsonl", "compare tiny --methods sgc --seeds 1 --quiet --out compared"),
    ("bad.csv", "ethereum build bad.csv --quiet --out out"),
    ("bad.parquet", "ethereum build bad.parquet --quiet --out out"),
    ("bad.csv", "ethereum build chain.parquet --labels bad.csv --quiet --out out"),
    ("bad.csv", "ethereum build chain.parquet --features bad.csv --quiet --out out"),
    ("bad.json", "ethereum labels bad.json --out out.csv"),
    ("bad.csv", "ethereum crawl --labels bad.csv --quiet --out out"),
)
OPTIONS = (
    "train",
    "train nowhere",
    "train tiny --method unknown",
    "train tiny --epochs 99999999999999999999",
    "train tiny --epochs -1",
    "train tiny --seeds 0",
    "train tiny --set picks=1000000000000",
    "train tiny --set unknown=1",
    "train tiny --set lr=nan",
    "train tiny --set hidden",
    "train tiny --resume nowhere",
    "train --resume tiny",
    "train tiny --warm-start tiny",
    "train tiny --config nowhere.toml",
    "train tiny --out nodes.csv",
    "train tiny --method nowhere.module:Class",
    "train tiny --checkpoint-every nan --quiet",
    "train tiny --device gpu",
    "methods unknown",
    "compare tiny --methods sgc,unknown",
    "compare tiny --seeds -3",
    "compare tiny --out nodes.csv",
    "compare",
    "ablate nowhere",
    "ablate tiny --set picks=x",
    "tune tiny --trials 0",
    "tune tiny --method unknown --trials 1",
    "tune tiny --out nodes.csv",
    "tune tiny --timeout nan",
    f"predict {RUN} --out out.xyz",
    f"predict {RUN} --out nodes.csv/out.csv",
    f"predict {RUN} --top nothing",
    f"predict {RUN} --top z:5",
    f"predict {RUN} --at-precision 2",
    f"predict {RUN} --dataset accounts --out out.csv",
    f"predict {RUN} --nodes nowhere.txt --out out.csv",
    "predict tiny --out out.csv",
    "predict unfinished --out out.csv",
    "report nowhere --out out.html",
    "report tiny --out out.html",
    "report compared --out compared/records.jsonl",
    "report compared --format pdf --out out.pdf",
    "report unfinished --out out.html",
    "explore nowhere",
    "explore tiny --port 0",
    f"explore {RUN} --port 99999999",
    "experiment run nowhere.toml",
    "experiment run small.toml --seeds 0",
    "experiment run small.toml --only nothing",
    "experiment run small.toml --jobs 0",
    "experiment list tiny",
    "data get nowhere",
    "data get reddit-like:nan",
    "data get ethereum-like:-1",
    "data info nodes.csv",
    "data verify made",
    "data import nowhere.csv --out out",
    "data import edges.csv --out tiny",
    "data import edges.csv --out made --overwrite",
    "data import edges.csv --nodes nodes.csv --label-column nothing --out out --id-column none",
    "data import edges.csv --memory 1XB --out out",
    "data import edges.csv --memory 99999999999TB --out out",
    "data import tiny.npz edges.csv --out out",
    "data import tiny.npz --out out/../../../../../proc/out",
    "data cache clear made",
    "data cache list nowhere",
    "ethereum simulate --scale nan --out out.parquet",
    "ethereum simulate --scale 0.001 --out out.xyz",
    "ethereum simulate --scale 0.001 --out chain.parquet",
    "ethereum build nowhere.parquet --out out",
    "ethereum build chain.parquet --out tiny",
    "ethereum build chain.parquet --split time:x --out out",
    "ethereum build chain.parquet --as-of 99999-01-01 --out out",
    "ethereum build chain.parquet --max-dropped nan --out out",
    "ethereum build chain.parquet --memory 1KB --out out",
    "ethereum build chain.parquet --columns from --out out",
    "ethereum build chain.parquet --engine sql --dialect klingon",
    "ethereum labels nowhere.json --out out.csv",
    "ethereum labels list.json --out list.json --overwrite",
    "ethereum crawl --labels chain.labels.csv --two-hop 2 --quiet --out out",
    "ethereum crawl --labels chain.labels.csv --rate -1 --quiet --out out",
    "ethereum crawl --labels chain.labels.csv --base-url nothing --quiet --out out",
    "bench unknown --out out",
    "bench pick --dataset nowhere --out out",
    "bench pick --dataset tiny --repeats 0 --out out",
    "bench pick --dataset tiny --device tpu --out out",
    "doctor --root nodes.csv extra",
    "unknown",
    "train tiny --log-level loud",
)


def case(number: int, draw: Random, stage: Stage) -> tuple[str, str]:
    """Run one command on malformed input; return what was done, and the problem."""
    file, words = "", ""
    if number % 2 and number // 2 < len(OPTIONS):
        line = OPTIONS[number // 2]
    else:
        file, line = FILES[number // 2 % len(FILES)] if number < 2 * len(FILES) else draw.choice(FILES)
        words = draw.choice(list(CONTENTS))
    what = f"mggcn {line}" + f", {file}: {words}" * bool(file)
    with stage.copy() as folder:
        if file:
            (folder / file).write_bytes(CONTENTS[words] + b"\n{}\n" * file.endswith("records.jsonl"))
        before = contents(folder)
        ended = run(line.split(), folder)
        if not ended.one_line():
            return what, str(ended)
        if any(not character.isprintable() for character in ended.error.replace("\n", "")):
            return what, f"control characters: {ended.error!r}"
        changed = [name for name, content in contents(folder).items() if before.pop(name, 0) != content]
        changed += [*before, *(f"tmp/{path.name}" for path in (folder / "tmp").iterdir())]
        return what, f"written or removed: {', '.join(changed)}" if changed else ""
