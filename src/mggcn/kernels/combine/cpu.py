"""The combination and its gradient in numba: one pass each, where torch needs four."""

import numpy as np

from mggcn.kernels._compiled import AnyInts, Floats, compiled


@compiled
def forward(h: Floats, index: AnyInts, group: int, slope: np.float32, out: Floats) -> None:
    """Fill ``out`` [b, 2 · channels]; row i of the batch is row ``index[i]`` of h."""
    b, channels = out.shape[0], h.shape[1]
    share = np.float32(1.0 / group)
    for t in range(b):
        root, mean, row = out[t, :channels], out[t, channels:], h[index[t]]
        for c in range(channels):
            root[c] = max(row[c], np.float32(0)) + slope * min(row[c], np.float32(0))
        for c in range(channels):
            mean[c] = root[c]
        for i in range(1, group):
            row = h[index[i * b + t]]
            for c in range(channels):
                mean[c] += max(row[c], np.float32(0)) + slope * min(row[c], np.float32(0))
        for c in range(channels):
            mean[c] *= share


@compiled
def backward(h: Floats, index: AnyInts, group: int, slope: np.float32, gradient: Floats, out: Floats) -> None:
    """Add the gradient of h to ``out``, from that of the result; rows that repeat add up in their order."""
    b, channels = gradient.shape[0], h.shape[1]
    share = np.float32(1.0 / group)
    for i in range(group):
        weight = np.float32(1.0 if i == 0 else 0.0)
        for t in range(b):
            root, mean = gradient[t, :channels], gradient[t, channels:]
            row, out_row = h[index[i * b + t]], out[index[i * b + t]]
            for c in range(channels):
                factor = np.float32(1) if row[c] > 0 else slope
                out_row[c] += factor * (mean[c] * share + weight * root[c])
