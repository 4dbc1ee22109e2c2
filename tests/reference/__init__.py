"""A plain implementation of every kernel, which specifies it."""
