"""Fixtures of the contracts: a fresh store for each test on each database, and each index."""

from tests.support.indexes.adapters import text_index, vector_index
from tests.support.store.fixtures import (
    clock,
    database,
    database_url,
    mariadb_tables,
    mariadb_tables_url,
    store,
    writing,
)

__all__ = [
    "clock",
    "database",
    "database_url",
    "mariadb_tables",
    "mariadb_tables_url",
    "store",
    "text_index",
    "vector_index",
    "writing",
]
