"""The loops that must be fast; each has a ``reference`` that is its specification and back ends held equal to it."""
