"""The recipes of a run's portfolio: a table of them, and what was selected and why."""

from mggcn.experiments._report_tables import Column, Table, duration, percent
from mggcn.training import Member, RunRecord, recipe_words


def recipe_table(record: RunRecord) -> Table[tuple[int, Member]]:
    """A line for each recipe; no lines if there was no portfolio."""
    members = record.portfolio or []
    return Table(
        [
            Column("recipe", lambda line: f"{line[0]}  {recipe_words(line[1].settings, members[0].settings)}"),
            Column("val accuracy, %", lambda line: line[1].val_accuracy, lambda value: percent(float(value))),
            Column("val loss", lambda line: line[1].val_loss, lambda value: f"{value:.4f}"),
            Column("epochs", lambda line: line[1].epochs),
            Column("time", lambda line: line[1].seconds, lambda value: duration(float(value))),
            Column("", lambda line: "selected" if line[1].selected else "stopped" if line[1].stopped else None),
        ],
        [*enumerate(members, 1)],
    )


def selection(record: RunRecord) -> str:
    """What was selected of a portfolio, and why; empty if there was none."""
    members = record.portfolio or []
    numbers = [str(number) for number, member in enumerate(members, 1) if member.selected]
    losses = [member.val_loss for member in members if member.selected]
    if not numbers:
        return ""
    if len(numbers) == 1:
        return f"recipe {numbers[0]}: the lowest validation loss, {losses[0]:.4f}"
    listed = f"{', '.join(numbers[:-1])} and {numbers[-1]}"
    alone = f"the best alone has {min(losses):.4f}"
    return f"the mean of recipes {listed}: the lowest validation loss, {record.val_loss:.4f} ({alone})"
