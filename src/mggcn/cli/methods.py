"""``mggcn methods``: list the methods, or the settings of one method."""

import re
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mggcn.methods import Method

_WIDTH = 100
_ANY = "any features"  # the condition of settings that do not depend on the data


def methods(name: str | None = None, /) -> None:
    """List the methods, or the settings of one method with the values that training uses, types and descriptions.

    Args:
        name: A method, or package.module:Class for a method of your own; default: list all methods.
    """
    from mggcn.cli.display import aligned
    from mggcn.methods import METHODS, method_class, published
    from mggcn.methods import settings as describe
    from mggcn.training import Training, recipe_words

    if name is None:
        listed = [[method, _of_edges(kind), _plain(describe.title(kind))] for method, kind in METHODS.items()]
        print(aligned([["method", "uses of edges", "what it is"], *listed]))
        print("\nmggcn methods NAME lists the settings of a method; --set changes them.")
        return
    kind, recipe = method_class(name), published.recipe(name)
    print(f"{describe.title(kind)}\nOf edges it uses: {_of_edges(kind)}")
    if recipe:
        print(
            "\nValues are defaults of the class unless they are marked as our recipe, which --preset paper leaves out."
        )
    if recipes := published.portfolio(name):
        words = [recipe_words(table, {}) for table in recipes]
        print("\nThe recipes that it trains (portfolio=none trains the first alone), by what each changes:")
        print("\n".join(f"  {number}. {text}" for number, text in enumerate(words, 1)))
    for heading, owner in (("Settings", kind), ("Settings of training, which all methods share", Training)):
        print(f"\n{heading}:")
        for setting in describe.settings_of(owner):
            by_data = {
                key: describe.written(given[setting.name]) for key, given in recipe.items() if setting.name in given
            }
            used = by_data.pop(_ANY, None)
            source = "" if used is None else f"; our recipe, the class has {setting.value}"
            print(f"  {setting.name}={used or setting.value}  ({setting.values}{source})")
            for data, value in by_data.items():
                print(f"  {setting.name}={value}  for {data} (our recipe)")
            print(textwrap.indent(textwrap.fill(_plain(setting.description), _WIDTH), "    "))


def _of_edges(kind: "type[Method]") -> str:
    """What a method can read of an edge beside its ends."""
    from mggcn.methods import EDGE_PARTS

    return ", ".join(part for part in EDGE_PARTS if part in kind.reads_edges) or "–"


def _plain(text: str) -> str:
    """Text from a docstring without its markup."""
    return re.sub(r":\w+:`([^`]+)`", r"\1", text).replace("``", "")
