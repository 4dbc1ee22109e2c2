"""The page of results, and the reports it links to: what ``mggcn report`` makes of the committed records."""

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
confusion matrices, the command behind every line and the environment of every run; it is one file that needs nothing
else. [Experiments](../experiments.md) says how the records are made, and what could not be measured.

"""
_NOTHING = "No records are committed yet.\n"
_PLACES = {"cpu": "on a CPU", "cuda": "on a GPU"}


def pages() -> dict[str, str]:
    """The text of the page and of each report by its place in the site."""
    made = {"results/index.md": _HEAD + ("\n".join(_section(path) for path in packed()) or _NOTHING)}
    return made | {f"results/{path.stem}.html": report(path, "html") for path in packed()}


def report(path: Path, form: str) -> str:
    """What ``mggcn report`` writes."""
    with tempfile.TemporaryDirectory() as folder:
        out, heard = Path(folder) / "report", io.StringIO()
        with redirect_stdout(heard), redirect_stderr(heard):
            code = cli.main(["report", str(path), "--format", form, "--out", str(out)])
        if code:
            raise ValueError(heard.getvalue().strip())
        return out.read_text()


def _section(path: Path) -> str:
    name = f"results/{path.name}"
    title, made = _title(path)
    tables, _, _ = report(path, "md").partition("## Commands")
    tables = re.sub(r"\A# .*\n+", "", tables)
    for one in sections(path):
        tables = tables.replace(f"## {one.title}\n", f"### {one.dataset}\n\n{charts.figure(one)}\n", 1)
    return f"""## {title} {{ #{path.stem} }}

{made}
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
    """The title of the experiment behind a file of records, and how its records are made."""
    found = next((one for one in experiments.files() if one.name == about(path)), None)
    if found is None:
        return path.stem.capitalize(), ""
    title = found.title
    seeds = next((one.sheet.seeds for one in sections(path) if one.sheet), found.seeds)
    asked = "" if seeds == found.seeds else f" --seeds {seeds}"
    if [about(other) for other in packed()].count(found.name) > 1:
        device = next(line.summary.device for one in sections(path) for line in one.run)
        title, asked = f"{title}, {_PLACES[device]}", f"{asked} --device {device}"
    return title, f"The records are made by `mggcn experiment run {experiments.place(found)}{asked}`.\n"
