"""Converts Sphinx roles in docstrings, such as ``:class:`mggcn.graph.Graph```, to links of the documentation."""

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:class|func|meth|mod|data|attr):`([\w.]+)`")


class Roles(griffe.Extension):
    """Converts the roles in all docstrings that mkdocstrings reads."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite an object's docstring."""
        if obj.docstring is not None:
            obj.docstring.value = linked(obj.docstring.value)


def linked(text: str) -> str:
    """Convert roles to references; a reference without a target on the site stays plain code."""
    return _ROLE.sub(r'<autoref identifier="\1" optional>`\1`</autoref>', text)


def plain(text: str) -> str:
    """Convert roles to code."""
    return _ROLE.sub(r"`\1`", text)
