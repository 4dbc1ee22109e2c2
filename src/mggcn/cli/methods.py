"""``mggcn methods``: list the methods, or the settings of one method."""

import re
import textwrap

_WIDTH = 100


def methods(name: str | None = None, /) -> None:
    """List the methods, or the settings of one method with types, defaults and descriptions.

    Args:
        name: A method, or package.module:Class for a method of your own; default: list all methods.
    """
    from mggcn.cli.display import aligned
    from mggcn.methods import METHODS, describe, method_class, published
    from mggcn.training import Training

    if name is None:
        print(aligned([[method, _plain(describe.title(kind))] for method, kind in METHODS.items()]))
        print("\nmggcn methods NAME lists the settings of a method; --set changes them.")
        return
    kind = method_class(name)
    print(describe.title(kind))
    recipe = published.recipe(name)
    if recipe:
        print("\nOur recipe, with which training starts; --preset paper starts with the paper's settings:")
    for condition, values in recipe.items():
        pairs = " ".join(f"{key}={describe.written(value)}" for key, value in values.items())
        print(textwrap.indent(textwrap.fill(f"{condition}: {pairs}", _WIDTH), "  "))
    for heading, owner in (("Settings", kind), ("Settings of training, which all methods share", Training)):
        print(f"\n{heading}, with their defaults:")
        for setting in describe.settings_of(owner):
            description = textwrap.indent(textwrap.fill(_plain(setting.description), _WIDTH), "    ")
            print(f"  {setting.name}={setting.default}  ({setting.values})\n{description}")


def _plain(text: str) -> str:
    """Text from a docstring without its markup."""
    return re.sub(r":\w+:`([^`]+)`", r"\1", text).replace("``", "")
