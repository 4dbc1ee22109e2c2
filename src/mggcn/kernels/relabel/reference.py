"""Numbers for the nodes of a block: receivers first, then each new sender as it comes."""


def relabel(receivers: list[int], senders: list[int]) -> tuple[list[int], list[int]]:
    """The row of each sender, and the node of each row."""
    place = {node: row for row, node in enumerate(receivers)}
    for node in senders:
        place.setdefault(node, len(place))
    return [place[node] for node in senders], list(place)
