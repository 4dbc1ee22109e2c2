"""The page of results and the reports that it links to, made by ``mggcn report`` from the committed records."""

import io
import re
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from generate import charts, experiments
from generate.committed import about, packed, sections
from mggcn import cli

_HEAD = """# Results

Each section is made from a file of records under `results`, by the commands it shows. The full report adds charts,
confusion matrices, the command of every row and the environment of every run; it is one self-contained file.
[Experiments](../experiments.md) explains how the records are made and what is not measured.

"""
_NOTHING = "No records are committed yet.\n"
_DEVICES = {"cpu": "on a CPU", "cuda": "on a GPU"}


def pages() -> dict[str, str]:
    """The text of the page and of each report by its address in the site."""
    index = {"results/index.md": _HEAD + ("\n".join(_section(path) for path in packed()) or _NOTHING)}
    return index | {f"results/{path.stem}.html": report(path, "html") for path in packed()}


def report(path: Path, form: str) -> str:
    """What ``mggcn report`` writes."""
    with tempfile.TemporaryDirectory() as folder:
        out, output = Path(folder) / "report", io.StringIO()
        with redirect_stdout(output), redirect_stderr(output):
            code = cli.main(["report", str(path), "--format", form, "--out", str(out)])
        if code:
            raise ValueError(output.getvalue().strip())
        return out.read_text()


def _section(path: Path) -> str:
    name = f"results/{path.name}"
    title, source = _title(path)
    tables, _, _ = report(path, "md").partition("## Commands")
    tables = re.sub(r"\A# .*\n+", "", tables)
    for section in sections(path):
        figure = charts.figure(section)
        tables = tables.replace(f"## {section.title}\n", f"### {section.dataset}\n\n{figure}\n", 1)
    return f"""## {title} {{ #{path.stem} }}

{source}
<!-- not run: the records are in the repository, not where a snippet runs -->
```console
mggcn report {name} --format md --out {path.stem}.md
mggcn report {name} --out {path.stem}.html
```

[Open the full report]({path.stem}.html){{ .md-button }}

{tables.strip()}

??? note "The full report, in this page"
    <iframe class="report" src="{path.stem}.html" title="Report: {title}" loading="lazy"></iframe>
"""


def _title(path: Path) -> tuple[str, str]:
    """The title of the experiment of a file of records, and the command that makes its records."""
    experiment = next((one for one in experiments.files() if one.name == about(path)), None)
    if experiment is None:
        return path.stem.capitalize(), ""
    title = experiment.title
    seeds = next((one.experiment.seeds for one in sections(path) if one.experiment), experiment.seeds)
    options = "" if seeds == experiment.seeds else f" --seeds {seeds}"
    if [about(other) for other in packed()].count(experiment.name) > 1:
        device = next(row.device for section in sections(path) for row in section.measured)
        title, options = f"{title}, {_DEVICES[device]}", f"{options} --device {device}"
    return title, f"The records are made by `mggcn experiment run {experiments.file_of(experiment)}{options}`.\n"
