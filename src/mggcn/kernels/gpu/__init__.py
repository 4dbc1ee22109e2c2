"""The kernels in Triton, imported only where they are used: the package runs without Triton."""
