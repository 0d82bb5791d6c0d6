"""Compares indexes with the database, and repairs the differences."""
