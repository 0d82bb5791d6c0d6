"""Fixtures of the vector index: each of its adapters."""

from tests.support.indexes.vector_engines import engine, index

__all__ = ["engine", "index"]
