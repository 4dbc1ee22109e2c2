"""``mggcn ethereum labels``: merge published lists of labelled addresses into the paper's six classes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

if TYPE_CHECKING:
    from collections import Counter

    from mggcn.ethereum.labels import Merged

_MOST = 12


def labels(lists: list[str], /, *, out: Path, overwrite: Annotated[bool, Parameter(negative=())] = False) -> None:
    """Merge lists of labelled addresses into ICO, Converter, Exchange, Mining, Gambling and Phish.

    ICO are ico-wallets; Converter are bancor's with Converter in their name; Exchange, Mining and Gambling are the
    labels of that name; Phish are phish-hack's named Fake_Phishing. An address of two classes is left out and written
    to a file of conflicts beside the labels.

    Args:
        lists: Files: JSON of {address: {name, labels}}, CSV with a column address, or, as in Phish=FILE, one address a
            line. A CSV without a column label has the label of its file name, or of its folder for an all.csv.
        out: The CSV file to write, with the columns address and label.
        overwrite: Replace existing files; never one of the lists.
    """
    from mggcn.ethereum import labels as merging

    merged = merging.merge(merging.parse_list(text) for text in lists)
    conflicts = merging.write(merged, out, overwrite=overwrite)
    print("\n".join(_lines(merged, out, conflicts)))  # noqa: T201


def _lines(merged: "Merged", out: Path, conflicts: Path) -> list[str]:
    rows = [("", *merged.counts, "")]
    rows += [
        (path.name, *(f"{counts[name]:,}" for name in merged.counts), "") for path, counts in merged.by_file.items()
    ]
    rows.append((out.name, *(f"{count:,}" for count in merged.counts.values()), f"{len(merged.classes):,} in all"))
    width = max(len(row[0]) for row in rows)
    lines = [f"{name:<{width}} " + " ".join(f"{cell:>9}" for cell in cells) for name, *cells in rows]
    if merged.conflicts:
        lines.append(f"{len(merged.conflicts):,} addresses of two classes are left out, see {conflicts}:")
        lines += [f"  {address} {' and '.join(names)}" for address, names in list(merged.conflicts.items())[:_MOST]]
        lines += ["  …"] * (len(merged.conflicts) > _MOST)
    if merged.unnamed:
        lines.append(f"not named Converter or Fake_Phishing, left out: {_told(merged.unnamed)}")
    if merged.dropped:
        lines.append(f"labels of no class, left out: {_told(merged.dropped)}")
    if merged.foreign:
        lines.append(f"{len(merged.foreign):,} entries of other chains, left out; the first in {merged.foreign[0]}")
    return lines


def _told(counts: "Counter[str]") -> str:
    told = [f"{label} {count:,}" for label, count in counts.most_common(_MOST)]
    rest = counts.total() - sum(count for _, count in counts.most_common(_MOST))
    return ", ".join(told) + (f" and {len(counts) - _MOST:,} more with {rest:,}" if len(counts) > _MOST else "")
