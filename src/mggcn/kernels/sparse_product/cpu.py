"""The sparse product and its gradient in numba: rows are read in place and never gathered."""

from mggcn.kernels._compiled import AnyInts, Floats, compiled


@compiled
def product(indptr: AnyInts, indices: AnyInts, data: Floats, nodes: AnyInts, weight: Floats, out: Floats) -> None:
    """Fill ``out`` [n, channels]."""
    channels = weight.shape[1]
    for row in range(nodes.size):
        out_row = out[row]
        out_row[:] = 0
        for entry in range(indptr[nodes[row]], indptr[nodes[row] + 1]):
            value, weight_row = data[entry], weight[indices[entry]]
            for c in range(channels):
                out_row[c] += value * weight_row[c]


@compiled
def gradient(indptr: AnyInts, indices: AnyInts, data: Floats, nodes: AnyInts, grad_out: Floats, out: Floats) -> None:
    """Add the gradient to ``out`` [width, channels], row after row in the order of ``nodes``."""
    channels = grad_out.shape[1]
    for row in range(nodes.size):
        grad_row = grad_out[row]
        for entry in range(indptr[nodes[row]], indptr[nodes[row] + 1]):
            value, out_row = data[entry], out[indices[entry]]
            for c in range(channels):
                out_row[c] += value * grad_row[c]
