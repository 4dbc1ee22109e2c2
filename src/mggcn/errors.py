"""The one exception for input a user can mend; the command line prints it as one line and exits with 2."""

from collections.abc import Iterable
from difflib import get_close_matches


class InputError(ValueError):
    """Bad input; the message is one line that names the file, field and value."""


def unknown(kind: str, name: str, valid: Iterable[str]) -> InputError:
    """Return the error for a name that is not among ``valid``, with the nearest valid names."""
    known = sorted(valid)
    near = get_close_matches(name.lower(), known, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"valid: {', '.join(known)}"
    return InputError(f"unknown {kind} {name!r}; {hint}")
