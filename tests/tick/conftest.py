"""Fixtures of ticks: a fresh store for each test, and pages of a vault."""

from tests.support.api.brain import brain, brain_database_url
from tests.support.store.fixtures import clock, database, database_url, mariadb_tables, mariadb_tables_url, store
from tests.support.vault.ticking import pages, ports

__all__ = [
    "brain",
    "brain_database_url",
    "clock",
    "database",
    "database_url",
    "mariadb_tables",
    "mariadb_tables_url",
    "pages",
    "ports",
    "store",
]
