"""The performance-critical loops: one file a kernel, with its back end for the CPU in numba; gpu/ has those in Triton.

In ``tests/reference`` a plain implementation specifies each kernel, and every back end is compared with it.
"""
