import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mggcn.kernels._compiled import AnyInts
from mggcn.kernels.relabel import block_between, distinct
from tests.properties import assert_block_is_valid
from tests.reference import relabel as reference


def compare_on_cpu(receivers: AnyInts, indptr: AnyInts, senders: AnyInts, num_nodes: int) -> None:
    """Compare the rows of a block's senders and the nodes of its rows, and the distinct senders."""
    block, nodes = block_between(receivers, indptr, senders, num_nodes)
    rows, expected = reference.relabel(receivers.tolist(), senders.tolist())
    np.testing.assert_array_equal(block.indices.numpy(), rows)
    np.testing.assert_array_equal(nodes, expected)
    np.testing.assert_equal(block.num_src, len(expected))
    found, index = distinct(senders, num_nodes)
    rows, expected = reference.relabel([], senders.tolist())
    np.testing.assert_array_equal(index, rows)
    np.testing.assert_array_equal(found, expected)


@given(data=st.data())
def test_cpu_equals_reference(data: st.DataObject) -> None:
    num_nodes = data.draw(st.integers(1, 30))
    node = st.integers(0, num_nodes - 1)
    receivers = data.draw(st.lists(node, unique=True, min_size=1))
    rows = [data.draw(st.lists(node, max_size=6)) for _ in receivers]
    senders = [sender for row in rows for sender in row]
    indptr = np.cumsum([0, *(len(row) for row in rows)])
    arrays = (np.array(receivers), indptr, np.array(senders, np.int32))
    compare_on_cpu(*arrays, num_nodes)
    block, _ = block_between(*arrays, num_nodes)
    assert_block_is_valid(block)


def test_weights_stay_with_their_edges() -> None:
    block, nodes = block_between(
        np.array([7, 2]), np.array([0, 2, 3]), np.array([5, 7, 5]), 9, np.array([0.5, 0.25, 1.0], np.float32)
    )
    assert block.weight is not None
    assert block.weight.tolist() == [0.5, 0.25, 1.0]
    assert nodes[block.indices.numpy()].tolist() == [5, 7, 5]
    assert block.root.tolist() == [0, 1]
