"""The performance-critical loops: ``reference`` specifies each one, and every back end is tested against it."""
