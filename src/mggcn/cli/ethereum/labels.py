"""``mggcn ethereum labels``: merge published lists of labelled addresses into the paper's six classes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

if TYPE_CHECKING:
    from collections import Counter

    from mggcn.ethereum import MergedLabels

_MOST_SHOWN = 12


def labels(lists: list[str], /, *, out: Path, overwrite: Annotated[bool, Parameter(negative=())] = False) -> None:
    """Merge lists of labelled addresses into the classes ICO, Converter, Exchange, Mining, Gambling and Phish.

    ICO: addresses labelled ico-wallets. Converter: addresses labelled bancor with Converter in their name. Exchange,
    Mining and Gambling: addresses with the label of that name. Phish: addresses labelled phish-hack with Fake_Phishing
    in their name. An address of two classes is left out and listed in a file of conflicts beside the labels.

    Args:
        lists: Files: JSON of {address: {name, labels}}, CSV with a column address, or text with one address per line,
            given as in Phish=FILE. A CSV without a column label has the label of its file name, or of its folder if
            the file is all.csv.
        out: The CSV file to write, with the columns address and label.
        overwrite: Replace existing files, but never one of the lists.
    """
    from mggcn.ethereum import _merge_labels as merge_labels

    merged = merge_labels.merge(merge_labels.parse_list(text) for text in lists)
    conflicts = merge_labels.write(merged, out, overwrite=overwrite)
    print("\n".join(_lines(merged, out, conflicts)))  # noqa: T201


def _lines(merged: "MergedLabels", out: Path, conflicts: Path) -> list[str]:
    rows = [("", *merged.counts, "")]
    rows += [
        (path.name, *(f"{counts[name]:,}" for name in merged.counts), "") for path, counts in merged.by_file.items()
    ]
    rows.append((out.name, *(f"{count:,}" for count in merged.counts.values()), f"{len(merged.classes):,} in all"))
    width = max(len(row[0]) for row in rows)
    lines = [f"{name:<{width}} " + " ".join(f"{cell:>9}" for cell in cells) for name, *cells in rows]
    if merged.conflicts:
        lines.append(f"{len(merged.conflicts):,} addresses of two classes are left out, see {conflicts}:")
        shown = list(merged.conflicts.items())[:_MOST_SHOWN]
        lines += [f"  {address} {' and '.join(names)}" for address, names in shown]
        lines += ["  …"] * (len(merged.conflicts) > _MOST_SHOWN)
    if merged.unnamed:
        lines.append(f"name without Converter or Fake_Phishing, left out: {_most_common(merged.unnamed)}")
    if merged.dropped:
        lines.append(f"labels of no class, left out: {_most_common(merged.dropped)}")
    if merged.foreign:
        lines.append(f"{len(merged.foreign):,} entries of other chains, left out; the first in {merged.foreign[0]}")
    return lines


def _most_common(counts: "Counter[str]") -> str:
    shown = counts.most_common(_MOST_SHOWN)
    rest = counts.total() - sum(count for _, count in shown)
    more = f" and {len(counts) - _MOST_SHOWN:,} more with {rest:,}" if len(counts) > _MOST_SHOWN else ""
    return ", ".join(f"{label} {count:,}" for label, count in shown) + more
