"""What commands print to a terminal: control characters, which names in data may hold, are made visible."""

import re
import sys
from typing import Any, TextIO

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """Text in which control characters, except for tabs and ends of lines, are written out as in Python's strings."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def install() -> None:
    """Make control characters visible that are printed to a terminal; files and pipes receive text as it is."""
    if sys.stdout.isatty():
        sys.stdout = Visible(sys.stdout)
    if sys.stderr.isatty():
        sys.stderr = Visible(sys.stderr)


class Visible:
    """A text stream that writes control characters out.

    Attributes:
        rich_proxied_file: the stream itself, which Rich writes its colours and bars to.
    """

    def __init__(self, stream: TextIO) -> None:
        self.rich_proxied_file = stream

    def write(self, text: str) -> int:
        """Write text; returns its length."""
        self.rich_proxied_file.write(visible(text))
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        """Write several texts."""
        self.write("".join(lines))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)
