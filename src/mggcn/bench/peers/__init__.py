"""Training in PyTorch Geometric and DGL, timed: a package that needs numpy, torch and the peer, but not mggcn.

It runs with a peer's own interpreter as ``python -m peers.worker``, see :mod:`mggcn.bench._peers`.
"""
