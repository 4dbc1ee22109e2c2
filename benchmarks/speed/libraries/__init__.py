"""Training in PyTorch Geometric and DGL, timed: a package that needs numpy, torch and the library, but not mggcn.

It runs with the library's own interpreter, see :mod:`benchmarks.speed.others`.
"""
