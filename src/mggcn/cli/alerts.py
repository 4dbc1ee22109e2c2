"""``mggcn ethereum alerts``: list the accounts without a known label that a person should look at first."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter
from cyclopts.types import NonNegativeInt, PositiveInt

from mggcn.cli.options import DataOptions, Switch

if TYPE_CHECKING:
    from mggcn.ethereum import AlertList

_SHOWN = 10
_KS = (50, 100, 500)
_DEFAULTS = DataOptions()


def alerts(
    run: Path,
    /,
    *others: Path,
    out: Path,
    dataset: str | None = None,
    label: Annotated[str | None, Parameter(name="--class")] = None,
    count: PositiveInt = 1000,
    min_transactions: NonNegativeInt = 0,
    min_received: str = "0",
    role: Annotated[list[Literal["payer", "payee", "both", "none"]] | None, Parameter(negative=())] = None,
    reasons: bool = True,
    at_precision: float | None = None,
    base_rate: float | None = None,
    draws: int | None = None,
    allow_import: Switch = False,
    options: DataOptions = _DEFAULTS,
) -> None:
    """List the accounts without a known label by their probability of a class, with facts and reasons for each.

    A fact is exact and from the transactions, such as "received from 14 accounts, 3 of them known Phish victims"; a
    reason says what the model reacts to. Accounts of the class Background have no known label, so they are in the list;
    known accounts are in another file, such as alerts.known.parquet.

    It also prints how well accounts are ranked: among labelled test accounts, and at least, among all accounts of the
    same period, where every one without a label counts as wrong.

    Args:
        run: A run folder, as written by `mggcn train`.
        others: Further run folders, whose probabilities are averaged with those of the first.
        out: The file to write, *.csv, *.jsonl or *.parquet.
        dataset: A dataset folder that `mggcn ethereum build` has written; default: that of the run.
        label: The class to rank by; default: Phish, or the only class beside Background.
        count: The number of accounts to list.
        min_transactions: List only accounts with as many transactions, sent and received ones together.
        min_received: List only accounts that received as much ether.
        role: List only accounts with this role; may be given several times. A payer never received, a payee never sent,
            an account that did neither has the role none.
        reasons: Add reasons of the model; methods without gradients give none.
        at_precision: Mark the accounts that reach the lowest probability with this precision on validation accounts.
        base_rate: The share of all accounts that belong to the class, such as 0.01: thresholds and probabilities are
            then those where the class has this share.
        draws: Average the probabilities over this many draws of the picks; default: as in the run's evaluation.
        allow_import: Allow the run to import the Python code that it names.
        options: Shared options.
    """
    from dataclasses import replace
    from fractions import Fraction

    from mggcn import ethereum
    from mggcn.cli import predicted
    from mggcn.errors import InputError, InputWarning
    from mggcn.ethereum import known_file
    from mggcn.runs import Assessment, Ensemble, check_format, load_data, load_run, unlike
    from mggcn.training import Ranks

    for file in (out, known_file(out)):
        check_format(file)
    try:
        least = Fraction(min_received)
    except (ValueError, ZeroDivisionError):
        raise InputError(f"--min-received: {min_received!r} is not an amount of ether") from None
    loaded = (load_run(folder, allow_import=allow_import, root=options.root) for folder in (run, *others))
    model = Ensemble([replace(one, access=options.access) for one in loaded])
    data = load_data(dataset, options.root, Ranks.current(), options.access) if dataset else model.training_data
    found = ethereum.alerts(
        model,
        data,
        label=label,
        count=count,
        min_transactions=min_transactions,
        min_received=least,
        roles=role or ethereum.ROLES,
        reasons=reasons,
        at_precision=at_precision,
        base_rate=base_rate,
        draws=draws,
        device=options.device or "auto",
        scratch=next(folder for folder in out.absolute().parents if folder.exists()),
    )
    known = found.save(out)
    print("\n".join(_lines(found, out, known)))
    if (warning := unlike(model.runs, data)) is not None:
        warnings.warn(warning, InputWarning, stacklevel=2)
    assessed = Assessment(found.predictions)
    lines = [*predicted.notes(assessed), *predicted.ranking(assessed, found.class_index, _KS)]
    if at_precision is not None:
        lines.append(predicted.alerts(assessed, found.class_index))
    print("\n".join(lines))


def _lines(found: "AlertList", out: Path, known: Path) -> list[str]:
    from collections import Counter

    from mggcn.cli.display import aligned

    rows = [["position", "address", "probability", "role", "in", "out", "received", "facts"]]
    for position, row in enumerate(found.listed[:_SHOWN].tolist()):
        one, p = found.facts[position], found.predictions.probabilities[row, found.class_index]
        said = one.sentences(found.label)
        cells = [str(position + 1), one.address, f"{p:.4f}", one.role, f"{one.in_tx:,}", f"{one.out_tx:,}"]
        rows.append([*cells, f"{one.in_wei / 10**18:,.2f} ether", said[0] if said else "–"])
    counts = Counter(one.role for one in found.facts)
    roles = ", ".join(f"{name} {number:,}" for name, number in counts.most_common())
    eligible = "" if found.num_eligible == found.num_unlabelled else f" ({found.num_eligible:,} of them as asked for)"
    return [
        f"{found.listed.size:,} of {found.num_unlabelled:,} accounts without a known label{eligible} in {out}, "
        f"by their probability of {found.label}",
        f"{found.known.size:,} accounts with a known label in {known}",
        *([f"roles in the list: {roles}"] if roles else []),
        "",
        aligned(rows, right=(0, 2, 4, 5, 6)),
        "",
    ]
