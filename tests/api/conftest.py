"""Fixtures of the HTTP tests: a whole brain in the test's process."""

from tests.support.api.brain import brain, brain_database_url, caller, module_brain, module_database_url
from tests.support.api.discovery import ada
from tests.support.api.old_clients import module_url, old, workspace
from tests.support.api.pauses import pauses
from tests.support.api.vault import kept, vault
from tests.support.store.fixtures import clock, database, database_url, mariadb_tables, mariadb_tables_url, store
from tests.support.streams.operator import operator

__all__ = [
    "ada",
    "brain",
    "brain_database_url",
    "caller",
    "clock",
    "database",
    "database_url",
    "kept",
    "mariadb_tables",
    "mariadb_tables_url",
    "module_brain",
    "module_database_url",
    "module_url",
    "old",
    "operator",
    "pauses",
    "store",
    "vault",
    "workspace",
]
