"""Comparison of an index with the database, and repair of the differences."""
