"""The command reference, from the command line itself."""

import re

from mggcn.cli import app

_HEAD = """# Commands

What `mggcn --help` and the help of every command say. Bad input gets one line that names the file, the field and the
value, and exit code 2; an interrupted command exits with 130.

"""


def page() -> str:
    """The page: a heading for each command."""
    text = app.generate_docs("markdown", heading_level=2, flatten_commands=True)
    listed = re.sub(
        r"^#+ Table of Contents\n.*?(?=^\*\*Commands\*\*)", "", text, count=1, flags=re.DOTALL | re.MULTILINE
    )
    return _HEAD + re.sub(r"^(\*\*\w+\*\*):$", r"\1", listed, flags=re.MULTILINE)
