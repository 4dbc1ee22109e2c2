"""What MkDocs asks for while it builds the site: the generated pages, and the generated parts of written ones.

A written page says ``<!-- insert: NAME -->`` on a line of its own where one of :data:`INSERTS` belongs.
"""

import re
from collections.abc import Callable
from typing import Any

from generate import (
    against_time,
    choice,
    commands,
    compare,
    depth,
    effort,
    ethereum,
    exact,
    experiments,
    methods,
    pictures,
    reliability,
    results,
    scale,
    wait,
)
from generate.repository import ROOT
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

INSERTS: dict[str, Callable[[], str]] = {
    "accuracy-against-time": against_time.first_page,
    "choice": choice.tables,
    "compare": compare.tables,
    "compare-settings": compare.settings,
    "compare-strongest": compare.strongest,
    "compare-summary": compare.summary,
    "method-classes": methods.reference,
    "search-effort": effort.table,
    "ethereum-replay": ethereum.replayed,
    "ethereum-results": ethereum.results,
    "experiments": experiments.table,
    "experiments-need": experiments.needed,
    "growth": depth.growth,
    "one-pick": exact.one_pick,
    "picture-grains": pictures.three_grains,
    "picture-picks": pictures.picks,
    "picture-six": pictures.six,
    "promises": reliability.promises,
    "scale-derived": scale.derived,
    "scale-measurements": scale.measurements,
    "scale-per-target": scale.per_target,
    "scale-spark": scale.spark,
    "schedules": depth.schedules,
    "sequences": exact.all_sequences,
    "wait": wait.chart,
}
_MARK = re.compile(r"^<!-- insert: (\S+) -->$", flags=re.MULTILINE)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the pages of the methods to the navigation."""
    for part in config.nav or []:
        if "Methods" in part:
            part["Methods"] = [*part["Methods"], *methods.nav()]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not written by hand."""
    made = {
        "commands.md": commands.page(),
        "contributing.md": (ROOT / "CONTRIBUTING.md").read_text().replace("](docs/", "]("),
        "changelog.md": (ROOT / "CHANGELOG.md").read_text(),
        **methods.pages(),
        **results.pages(),
    }
    for place, content in made.items():
        files.append(File.generated(config, place, content=content))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the generated parts into a page."""
    return _MARK.sub(lambda found: insert(found[1]), markdown)


def insert(name: str) -> str:
    """A generated part."""
    if name not in INSERTS:
        raise PluginError(f"docs: no generated part is called {name!r}")
    return INSERTS[name]()
