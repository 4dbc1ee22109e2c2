"""What stands on the page of Ethereum: rules, features, formats and columns from the package, results from records."""

from generate import experiments
from generate.committed import about, packed, sections
from mggcn.ethereum import features, formats, rules
from mggcn.records.lines import Section

_NONE = "–"


def dropped() -> str:
    """The rules that drop a row, in the order in which they are asked."""
    return _table(("rule", "a row is dropped where"), [(_words(name), why) for name, why in rules.DROPPED.items()])


def changed() -> str:
    """The rules that change what a row says."""
    return _table(("rule", "what it means"), [(_words(name), why) for name, why in rules.CHANGED.items()])


def thirteen() -> str:
    """The features with their formulas."""
    rows = [(str(place), f"`{name}`", formula) for place, (name, formula) in enumerate(features.FORMULAS.items(), 1)]
    return _table(("", "feature", "formula"), rows)


def read() -> str:
    """The formats that are read, and the columns that tell them apart."""
    marks: dict[str, list[str]] = {}
    for form in formats.FORMATS:
        if not form.refusal:
            marks.setdefault(form.name, []).append(", ".join(f"`{mark}`" for mark in form.marks))
    return _table(("format", "told by the columns"), [(name, "; or ".join(found)) for name, found in marks.items()])


def roles() -> str:
    """What ``--columns`` takes."""
    return _table(("role", "the column holds"), [(f"`{name}`", what) for name, what in formats.ROLES.items()])


def results() -> str:
    """A table for each data set of the experiments on Ethereum that has records; the others are not run yet."""
    committed = {about(path): path for path in packed()}
    parts = []
    for one in experiments.files():
        if not any("ethereum" in name for name in one.folders):
            continue
        path = committed.get(one.name)
        found = [section for section in sections(path) if section.run] if path else []
        told = f"`{experiments.place(one)}`: {one.title}."
        if path is None or not found:
            parts.append(f"{told} Not run yet.")
        else:
            parts.append(f"{told} [The full report](results/index.md#{path.stem}).")
            parts += [_section(section) for section in found]
    return "\n\n".join(parts)


def _section(section: Section) -> str:
    rows = []
    for line in section.run:
        figures, published = line.figures, line.summary.published
        rows.append(
            (
                line.label,
                _NONE if published is None else f"{published * 100:.1f}",
                _percent(figures.accuracy, figures.accuracy_std),
                _percent(figures.macro_f1, figures.macro_f1_std),
                str(line.summary.done),
            )
        )
    table = _table(("method", "paper, %", "accuracy, %", "macro-F1, %", "seeds"), rows, numbers=4)
    return f"**{section.dataset}.** {section.about}.\n\n{table}"


def _percent(mean: float, deviation: float | None) -> str:
    return f"{mean * 100:.2f}" + ("" if deviation is None else f" ± {deviation * 100:.2f}")


def _words(rule: str) -> str:
    return rule.replace("_", " ")


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]], numbers: int = 0) -> str:
    """A Markdown table whose last columns, so many, are numbers."""
    marks = ["---"] * (len(head) - numbers) + ["---:"] * numbers
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, tuple(marks), *rows])
