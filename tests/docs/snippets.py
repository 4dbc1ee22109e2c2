"""The snippets of a page: what is run, what is only parsed, and what output they must have.

- A ``python`` block is run. Blocks of a page share their names and one folder, in the page's order.
- A block after "Saved as `NAME`" is saved in that folder under this name and not run; a ``toml`` block always is.
- A ``console`` block is a list of commands, ``mggcn``, ``torchrun`` or a benchmark, each run in that folder. Where
  ``<!-- not run: REASON -->`` stands above the block, ``mggcn`` commands are only parsed: the command and its options
  must exist.
- The folder starts with what the reader has: see :mod:`tests.docs.reader`.
- A ``text`` block is what the block before it prints on standard output: its last lines. ``…`` stands for anything
  within a line, or, alone on a line, for any lines; numbers may be off by a twentieth, as machines differ a little.
"""

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("python", "console", "text", "toml")
TOLERANCE = 0.05

_BLOCK = re.compile(
    r"(?:^<!-- not run: (?P<reason>[^\n]+) -->\n)?^```(?P<kind>\w*)[^\n]*\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE
)
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_PARTS = re.compile(rf"(^…\n|…|{_NUMBER.pattern})", re.MULTILINE)


@dataclass(frozen=True)
class Snippet:
    """A fenced block.

    Attributes:
        kind: its language.
        body: its lines.
        line: of the page, where it starts.
        reason: why it is not run; empty where it is.
        output: what it must print; empty where the page does not say.
        saved: the name of the file that holds it; empty where it is not saved.
    """

    kind: str
    body: str
    line: int
    reason: str
    output: str
    saved: str = ""

    @property
    def commands(self) -> list[str]:
        """The commands of a console block, without their comments."""
        bare = [re.sub(r"\s{2,}#.*|^#.*", "", line).strip() for line in self.body.splitlines()]
        return [line for line in bare if line]


def snippets(text: str) -> list[Snippet]:
    """All fenced blocks of a page in their order."""
    found = list(_BLOCK.finditer(text))
    followed = {
        one.start(): two["body"]
        for one, two in pairwise(found)
        if two["kind"] == "text" and one["kind"] in ("python", "console")
    }
    return [
        Snippet(
            one["kind"],
            one["body"],
            text.count("\n", 0, one.start("kind")) + 1,
            one["reason"] or "",
            followed.get(one.start(), ""),
            _saved(text[before.end() if before else 0 : one.start()]),
        )
        for before, one in pairwise([None, *found])
    ]


def _saved(text: str) -> str:
    """The name of a file that the sentences before a block give it."""
    names = re.findall(r"Saved as `([^`]+)`", text)
    return names[-1] if names else ""


def prints(told: str, printed: str) -> bool:
    """Whether a page tells the last lines that were printed."""
    parts = [part for part in _PARTS.split(f"{told.strip()}\n") if part]
    found = re.search(rf"(?:\A|\n){''.join(map(_pattern, parts))}\Z", f"{printed.strip()}\n")
    numbers = [part for part in parts if _NUMBER.fullmatch(part)]
    return found is not None and all(_near(*pair) for pair in zip(numbers, found.groups(), strict=True))


def _pattern(part: str) -> str:
    if part.startswith("…"):
        return ".*" if part == "…" else r"(?:.*\n)*"
    return f"({_NUMBER.pattern})" if _NUMBER.fullmatch(part) else re.escape(part)


def _near(told: str, printed: str) -> bool:
    a, b = (float(text.replace(",", "")) for text in (told, printed))
    return abs(a - b) <= TOLERANCE * max(a, b)
