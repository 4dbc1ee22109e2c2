"""Faults: kill, corrupt, race, interrupt and starve every command, and count how often the promises hold."""
