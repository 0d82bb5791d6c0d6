"""Fixtures of the vector index: every adapter of it."""

from tests.support.indexes.vector_engines import engine, index

__all__ = ["engine", "index"]
