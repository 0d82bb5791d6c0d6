"""Checks of `openbrain doctor`, one per module, and their report."""
