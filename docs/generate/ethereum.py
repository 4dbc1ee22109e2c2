"""The generated parts of the Ethereum page: rules, features, formats and roles of columns, results, and alerts."""

import msgspec

from generate import charts, experiments
from generate.committed import about, packed, sections
from generate.repository import ROOT, script
from mggcn.ethereum import Replay, _account_features, _formats, _stages, replay_by_year
from mggcn.ethereum._replay_page import replay_chart, replay_note
from mggcn.experiments._sections import Section

_NONE = "–"


def dropped() -> str:
    """The rules that drop a row, in the order in which they are applied."""
    return _table(("rule", "a row is dropped if"), [(_words(name), why) for name, why in _stages.DROPPED.items()])


def changed() -> str:
    """The rules that change a row."""
    return _table(("rule", "what it means"), [(_words(name), why) for name, why in _stages.CHANGED.items()])


def feature_formulas() -> str:
    """The features with their formulas."""
    rows = [
        (str(number), f"`{name}`", formula)
        for number, (name, formula) in enumerate(_account_features.FORMULAS.items(), 1)
    ]
    return _table(("", "feature", "formula"), rows)


def known_formats() -> str:
    """The formats that are read, and the columns by which they are recognised."""
    marks: dict[str, list[str]] = {}
    for form in _formats.FORMATS:
        if not form.refusal:
            marks.setdefault(form.name, []).append(", ".join(f"`{mark}`" for mark in form.marks))
    return _table(("format", "recognised by"), [(name, "; or ".join(columns)) for name, columns in marks.items()])


def roles() -> str:
    """The roles that ``--columns`` accepts."""
    return _table(("role", "the column holds"), [(f"`{name}`", what) for name, what in _formats.ROLES.items()])


def results() -> str:
    """A table for each data set with records in the experiments on Ethereum; experiments without records are named."""
    committed = {about(path): path for path in packed()}
    parts = []
    for experiment in experiments.files():
        if experiment.path is None or "ethereum" not in (experiment.path.stem, experiment.path.parent.name):
            continue
        path = committed.get(experiment.name)
        finished = [section for section in sections(path) if section.measured] if path else []
        title = f"`{experiments.file_of(experiment)}`: {experiment.title}."
        if path is None or not finished:
            parts.append(f"{title} Not run yet.")
        else:
            parts.append(f"{title} [The full report](results/index.md#{path.stem}).")
            parts += [_section(section) for section in finished]
    return "\n\n".join(parts)


def alerts() -> str:
    """What alerts on real accounts are worth, by split, world and method."""
    tables: str = script("benchmarks/alerts.py").tables(ROOT / "benchmarks" / "results" / "alerts.jsonl")
    return tables


def accounts_and_edges() -> str:
    """Whether roles of accounts, directions and amounts of edges help, on validation accounts."""
    tables: str = script("benchmarks/roles.py").tables(ROOT / "benchmarks" / "results" / "roles.jsonl")
    return tables


def replayed() -> str:
    """A replay of the history of real accounts: the chart, and the precision of each queue by year."""
    result = msgspec.json.decode((ROOT / "benchmarks" / "results" / "replay.json").read_bytes(), type=Replay)
    figure = f'<div class="charts"><figure>{charts.svg(replay_chart(result))}</figure></div>'
    return f"{figure}\n\n{replay_by_year(result).markdown()}\n\n{replay_note(result)}"


def _section(section: Section) -> str:
    rows = []
    for row in section.measured:
        figures, published = row.figures, row.published.get("accuracy")
        rows.append(
            (
                row.label,
                _NONE if published is None else f"{published * 100:.1f}",
                _percent(figures.accuracy, figures.accuracy_std),
                _percent(figures.macro_f1, figures.macro_f1_std),
                str(row.done),
            )
        )
    table = _table(("method", "paper, %", "accuracy, %", "macro-F1, %", "seeds"), rows, numbers=4)
    return f"**{section.dataset}.** {section.about}.\n\n{table}"


def _percent(mean: float, deviation: float | None) -> str:
    return f"{mean * 100:.2f}" + ("" if deviation is None else f" ± {deviation * 100:.2f}")


def _words(rule: str) -> str:
    return rule.replace("_", " ")


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]], numbers: int = 0) -> str:
    """A Markdown table whose last ``numbers`` columns are aligned to the right."""
    marks = ["---"] * (len(head) - numbers) + ["---:"] * numbers
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, tuple(marks), *rows])
