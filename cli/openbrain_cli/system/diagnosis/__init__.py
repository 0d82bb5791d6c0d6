"""Checks of `openbrain doctor`, each in a file of its own, and their report."""
