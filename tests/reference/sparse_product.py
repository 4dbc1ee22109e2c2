"""The product of some rows of a sparse matrix and a dense matrix, and the gradient of the latter, in scipy."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array


def product(x: csr_array, nodes: NDArray[np.integer], weight: NDArray[np.float32]) -> NDArray[np.float32]:
    """[n, channels]: the rows of ``nodes`` times ``weight`` [width, channels]."""
    return np.asarray(x[nodes] @ weight)


def gradient(x: csr_array, nodes: NDArray[np.integer], grad_out: NDArray[np.float32]) -> NDArray[np.float32]:
    """[width, channels]: the gradient of ``weight`` from the gradient of the product."""
    return np.asarray(x[nodes].T @ grad_out)
