"""Tables of a report: their columns, and the whole document in Markdown or LaTeX."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mggcn.records import summary
from mggcn.records.lines import Line, Section, environments
from mggcn.records.sheet import GROWTH
from mggcn.records.summary import escaped

NOTE_ON_COMMANDS = (
    "Each command trains again the runs behind one line, with every setting written out; the name of a data set that "
    "mggcn does not know stands for its folder."
)
_LOOSE = "; it stands beside methods with their default settings"
_NOTE_ON_DIFFERENCE = "*Difference* is the accuracy less the paper's, in percentage points."
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "–": "--", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}",
}  # fmt: skip


@dataclass(frozen=True)
class Table:
    """A table of text.

    Attributes:
        headings: of its columns.
        rows: a text for each column.
        keys: what each of them is sorted by: the text itself, a number, or None where there is nothing.
    """

    headings: list[str]
    rows: list[list[str]]
    keys: Sequence[Sequence[summary.Key]]


def table(section: Section) -> Table:
    """The summary of a section, and the difference from the paper where some line has its figure."""
    lines = section.summaries
    columns = summary.columns(lines, difference=True)
    return Table(
        [column.heading for column in columns],
        [[column.text(line) for column in columns] for line in lines],
        [[column.key(line) for column in columns] for line in lines],
    )


def provenance(found: Sequence[Section]) -> Table:
    """For each line the commands behind its figures and the numbers of the environments it ran in."""
    known = environments(found)
    rows = [
        [section.short, line.label, _numbers(known, line), command]
        for section in found
        for line in section.lines
        for command in line.commands
    ]
    return Table(["data set", "method", "environment", "command"], rows, [[*row] for row in rows])


def environment(one: dict[str, Any]) -> str:
    """An environment in a line of text."""
    parts = []
    for name, value in one.items():
        if isinstance(value, dict):
            parts += [f"{key} {text}" for key, text in value.items() if text is not None]
        elif value is not None:
            parts.append(f"{name.replace('_', ' ')} {value if isinstance(value, str) else json.dumps(value)}")
    return ", ".join(parts) or "not recorded"


def notes(found: Sequence[Section]) -> str:
    """What the columns mean."""
    lines = [one for section in found for one in section.summaries]
    told = [summary.notes(lines).replace("\n", " ")]
    if any(one.published is not None for one in lines):
        loose = any(one.published is not None for section in found if not section.sheet for one in section.summaries)
        told.append(f"*Paper* is what the MG-GCN paper reports{_LOOSE if loose else ''}.")
    if any(one.difference is not None for one in lines):
        told.append(_NOTE_ON_DIFFERENCE)
    return " ".join(told)


def markdown(found: Sequence[Section]) -> str:
    """The tables in Markdown."""
    parts = ["# Results"]
    for section in found:
        parts += [f"## {escaped(section.title)}", escaped(section.about), _pipes(table(section), text_columns=1)]
        parts.append("\n".join(f"- {escaped(remark)}" for remark in summary.remarks(section.summaries)))
    parts += [notes(found), "## Commands", NOTE_ON_COMMANDS, _pipes(provenance(found), text_columns=4)]
    parts.append("## Environments")
    known = [escaped(environment(one)) for one in environments(found)]
    parts.append("\n".join(f"{number}. {one}" for number, one in enumerate(known, 1)))
    return "\n\n".join(part for part in parts if part) + "\n"


def latex(found: Sequence[Section]) -> str:
    """The summary tables in LaTeX, for a document that loads booktabs."""
    return "% needs \\usepackage{booktabs}\n" + "\n".join(_tabular(section) for section in found)


def _numbers(known: list[dict[str, Any]], line: Line) -> str:
    own = [record.environment for record in line.records]
    return ", ".join(str(number) for number, one in enumerate(known, 1) if one in own)


def _pipes(content: Table, text_columns: int) -> str:
    rules = ["---" if number < text_columns else "---:" for number in range(len(content.headings))]
    rows = [content.headings, rules, *content.rows]
    return "\n".join("| " + " | ".join(map(escaped, row)) + " |" for row in rows)


def _tabular(section: Section) -> str:
    content = table(section)
    rows = [" & ".join(_in_latex(cell) for cell in row) + r" \\" for row in (content.headings, *content.rows)]
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{_in_latex(': '.join(part for part in (section.title, section.about) if part))}}}",
            rf"\begin{{tabular}}{{l{'r' * (len(content.headings) - 1)}}}",
            r"\toprule",
            rows[0],
            r"\midrule",
            *rows[1:],
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _in_latex(text: str) -> str:
    if GROWTH.fullmatch(text):
        return f"${text}$"
    return "".join(_LATEX.get(letter, letter) for letter in " ".join(text.splitlines()))
