"""Some rows of a sparse matrix times a dense one, and the gradient of the dense one, through scipy."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array


def product(x: csr_array, nodes: NDArray[np.integer], weight: NDArray[np.float32]) -> NDArray[np.float32]:
    """[n, channels]: the rows of ``nodes`` times ``weight`` [width, channels]."""
    return np.asarray(x[nodes] @ weight)


def gradient(x: csr_array, nodes: NDArray[np.integer], coming: NDArray[np.float32]) -> NDArray[np.float32]:
    """[width, channels]: the gradient of ``weight`` from that of the product."""
    return np.asarray(x[nodes].T @ coming)
