"""Numbers the nodes of a block: the receivers first, then each new sender in order."""


def relabel(receivers: list[int], senders: list[int]) -> tuple[list[int], list[int]]:
    """The row of each sender, and the node of each row."""
    row_of = {node: row for row, node in enumerate(receivers)}
    for node in senders:
        row_of.setdefault(node, len(row_of))
    return [row_of[node] for node in senders], list(row_of)
