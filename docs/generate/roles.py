"""Docstrings name other things in Sphinx's way, ``:class:`mggcn.graph.Graph```; here these become links."""

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:class|func|meth|mod|data|attr):`([\w.]+)`")


class Roles(griffe.Extension):
    """Turns the roles in all docstrings that mkdocstrings reads into references, where the thing has a page."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite an object's docstring."""
        if obj.docstring is not None:
            obj.docstring.value = linked(obj.docstring.value)


def linked(text: str) -> str:
    """Roles as references that stay plain code where nothing on the site answers to them."""
    return _ROLE.sub(r'<autoref identifier="\1" optional>`\1`</autoref>', text)


def plain(text: str) -> str:
    """Roles as code."""
    return _ROLE.sub(r"`\1`", text)
