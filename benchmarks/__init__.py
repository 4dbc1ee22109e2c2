"""Programs that measure, and the records of what they measured."""
